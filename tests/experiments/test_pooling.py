"""Which examples train and which are measured on."""

import dataclasses

import numpy as np

from conftr import data
from conftr.experiments.pooling import calibration_and_test, held_out, kept_for_a_head


def numbered(n_train=20, n_cal=6, n_test=4):
    """A dataset whose inputs are the numbers of its rows, the training rows first."""
    x = np.arange(n_train + n_cal + n_test, dtype=np.float32)[:, None]
    y = np.zeros(len(x), np.int32)
    train, cal = slice(0, n_train), slice(n_train, n_train + n_cal)
    test = slice(n_train + n_cal, None)
    parts = [array[rows] for rows in (train, cal, test) for array in (x, y)]
    return data.Dataset("numbers", *parts, ("a", "b"), {}, data.centre(2))


def test_the_papers_pool_is_calibration_and_test():
    division = calibration_and_test(numbered())
    assert division.train.x.ravel().tolist() == list(range(20))
    assert division.pool.x.ravel().tolist() == list(range(20, 30))
    assert division.n_cal == 6


def test_a_held_out_pool_is_training_rows_alone_and_apart_from_those_that_train():
    division = held_out(numbered(), share=0.3, at_most=100, seed=0)
    rows = [*division.train.x.ravel(), *division.pool.x.ravel()]
    assert sorted(rows) == list(range(20))
    assert len(division.pool.y) == 6
    assert division.n_cal == 3


def test_held_out_is_capped_and_follows_its_seed():
    first, again, other = (
        held_out(numbered(), share=0.5, at_most=4, seed=seed).pool.x.ravel().tolist()
        for seed in (0, 0, 1)
    )
    assert len(first) == 4
    assert first == again != other


def test_examples_that_networks_behind_a_dataset_have_not_seen_are_what_is_held_out():
    dataset = dataclasses.replace(numbered(), held=5)
    drawn = {"share": 0.3, "at_most": 100, "seed": 0}
    for division in (held_out(dataset, **drawn), kept_for_a_head(dataset, **drawn)):
        assert sorted(division.train.x.ravel()) == list(range(15))
        assert sorted(division.pool.x.ravel()[-5:]) == list(range(15, 20))
    assert calibration_and_test(dataset).train.x.ravel().tolist() == list(range(15))


def test_the_fingerprint_changes_with_any_value():
    division = calibration_and_test(numbered())
    division.pool.x[0, 0] += 1
    assert division.fingerprint() != calibration_and_test(numbered()).fingerprint()
