"""Which examples train, choose and calibrate: sizes, chances, and what calibration never sees."""

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

from conftr import ConformalClassifier
from conftr.classifier.division import by_number, calibration_size, order, seed_of
from conftr.classifier.division import divide as divide_in_order
from conftr.conformal.quantile import examples_needed

LABELS = np.repeat(np.arange(5), [400, 300, 200, 97, 3])


def divide(labels, *, seed, drawn=None, **sizes):
    """With rows that are all different."""
    return divide_in_order(labels, drawn or by_number(len(labels), seed), seed=seed, **sizes)


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_every_row_is_in_one_part(alpha):
    parts = divide(LABELS, alpha=alpha, seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(LABELS)))


@pytest.mark.parametrize(
    ("n", "alpha", "expected"),
    [
        (1000, 0.1, (600, 200, 200)),
        (1000, 0.01, (467, 200, 333)),  # a third, as alpha asks for many
        (200, 0.1, (160, 0, 40)),  # 40 could not tell models apart
        (150, 0.01, (100, 0, 50)),  # too few for alpha in any case
        (200, 0.01, (101, 0, 99)),  # half, so that there is a threshold
        (10, 0.1, (7, 0, 3)),
        (1_000_000, 0.1, (990_000, 5000, 5000)),
        (1_000_000, 0.001, (895_000, 5000, 100_000)),
    ],
)
def test_sizes(n, alpha, expected):
    parts = divide(np.zeros(n, int), alpha=alpha, seed=0)
    assert tuple(map(len, parts)) == expected


def test_an_alpha_that_no_data_suffice_for_is_divided_for_like_others():
    parts = divide(LABELS, alpha=5e-324, seed=0)
    assert tuple(map(len, parts)) == (667, 0, 333)


def test_asked_sizes():
    parts = divide(LABELS, alpha=0.1, seed=0, calibration=100, validation=0.3)
    assert tuple(map(len, parts)) == (600, 300, 100)


def test_calibration_rows_do_not_depend_on_labels():
    """They are drawn before anything is known of them."""
    turned = np.random.default_rng(0).permutation(LABELS)
    first, other = (divide(labels, alpha=0.1, seed=3) for labels in (LABELS, turned))
    np.testing.assert_array_equal(first.calibration, other.calibration)


def test_every_row_has_the_same_chance_to_calibrate():
    """Rare classes too: were they kept for training, sets would miss them more often than told."""
    counts = np.zeros(len(LABELS))
    for seed in range(400):
        counts[divide(LABELS, alpha=0.1, seed=seed).calibration] += 1
    rare = counts[LABELS == 4].mean() / 400
    assert abs(rare - 0.2) < 4 * np.sqrt(0.2 * 0.8 / (3 * 400))


def test_validation_is_even_over_the_classes():
    parts = divide(LABELS, alpha=0.1, seed=0)
    rest = np.concatenate([parts.train, parts.validation])
    expected = np.bincount(LABELS[rest], minlength=5) * len(parts.validation) / len(rest)
    assert np.abs(np.bincount(LABELS[parts.validation], minlength=5) - expected).max() <= 1.5


def test_classes_are_met_in_training():
    labels = np.repeat(np.arange(300), 3)
    parts = divide(labels, alpha=0.1, seed=0)
    left = set(range(300)) - set(labels[parts.train])
    assert left <= set(range(300)) - set(labels[parts.validation])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"calibration": 0}, "leave examples to train on, and at least one to calibrate"),
        ({"calibration": 900, "validation": 100}, "they take 900 and 100"),
        ({"calibration": 1.5}, "whole number or a share below 1; got 1.5"),
        ({"validation": -1}, "validation_size must be finite and at least 0"),
    ],
)
def test_sizes_that_cannot_be(sizes, message):
    with pytest.raises(ValueError, match=message):
        divide(LABELS, alpha=0.1, seed=0, **sizes)


def test_there_is_a_threshold_where_half_of_the_examples_suffice():
    for n in range(20, 400, 7):
        for alpha in (0.05, 0.1, 0.2):
            calibration = len(divide(np.zeros(n, int), alpha=alpha, seed=0).calibration)
            needed = examples_needed(alpha)
            assert calibration >= min(needed, n // 3)
            assert calibration >= needed or needed > n // 2


ROWS = np.random.default_rng(0).normal(size=(300, 4))


def parts_of(X, labels, **settings):
    drawn = order(X, seed=0)
    return divide(labels, seed=0, drawn=drawn, alpha=0.1, **settings), drawn


@pytest.mark.parametrize("copies", [2, 4])
def test_copies_are_in_one_part_and_count_once_outside_training(copies):
    X, labels = np.tile(ROWS, (copies, 1)), np.tile(np.arange(300) % 3, copies)
    parts, drawn = parts_of(X, labels, validation=40)
    assert drawn.copies == 300 * (copies - 1)
    example = np.arange(len(X)) % 300
    seen = [set(example[part]) for part in parts]
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]
    assert [len(values) for values in seen] == [200, 40, 60]
    assert [len(part) for part in parts] == [200 * copies, 40, 60]


def test_the_class_of_a_copy_that_counts_is_drawn_at_random():
    """Several people may have looked at one example; a file may be sorted by what they said."""
    X, labels = np.tile(ROWS, (2, 1)), np.repeat([0, 1], 300)
    parts, _ = parts_of(X, labels)
    assert 10 < labels[parts.calibration].sum() < 50


def test_rows_that_are_equal_by_chance_are_drawn_one_by_one():
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"sex": rng.choice(["f", "m"], 600), "site": rng.integers(0, 4, 600)})
    parts, drawn = parts_of(X, rng.integers(0, 2, 600))
    assert (drawn.copies, drawn.twins) == (0, 592)
    assert sum(map(len, parts)) == 600


def survey(rng, n):
    """15 answers from 1 to 5, of which a quarter of the people give the same to all of them."""
    y = rng.integers(0, 5, n)
    X = np.clip(np.round(rng.normal(3 + 1.6 * np.eye(5)[y].repeat(3, 1), 1.2)), 1, 5)
    X[rng.random(n) < 0.25] = 3
    return X, y


def test_what_many_answer_under_several_classes_is_no_copy():
    X, y = survey(np.random.default_rng(0), 2000)
    drawn = order(X, 0, y)
    often = int((X == 3).all(1).sum())
    assert often > 400
    assert (drawn.copies, drawn.twins) == (0, often - 1)
    assert order(X, 0).copies == often - 1  # nobody can tell without classes
    of_one_class = order(X, 0, np.where((X == 3).all(1), 0, y))
    assert of_one_class.copies == often - 1


def test_common_rows_do_not_make_copies_of_others_coincidences_nor_the_other_way_round():
    X, y = survey(np.random.default_rng(0), 2000)
    doubled = order(np.tile(X, (2, 1)), 0, np.tile(y, 2))
    often = int((X == 3).all(1).sum())
    assert doubled.copies == 2000 - often
    assert doubled.twins == 2 * often - 1
    again = np.tile(ROWS, (30, 1))  # thirty people have looked at each
    assert order(again, 0, np.random.default_rng(1).integers(0, 2, len(again))).copies == 29 * 300


def test_the_promise_holds_where_a_quarter_of_the_rows_say_the_same():
    """It was for the different rows, each once: .71 of new rows were covered, of .9 promised."""
    covered = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = survey(rng, 1500)
        clf = ConformalClassifier(0.1, members=GaussianNB(), random_state=seed).fit(X, y)
        covered.append(clf.coverage(*survey(rng, 5000)))
    assert np.mean(covered) > 0.885


def test_the_order_is_that_of_what_rows_hold():
    """So that rows stay in their part in another file, among others, or in another library."""
    drawn = order(ROWS, seed=5).places
    turned = np.random.default_rng(1).permutation(300)
    np.testing.assert_array_equal(order(ROWS[turned], seed=5).places, drawn[turned])
    frame = pl.DataFrame(ROWS, schema=["a", "b", "c", "d"])
    np.testing.assert_array_equal(order(frame, seed=5).places, drawn)
    more = order(np.concatenate([ROWS, ROWS[:50] + 1]), seed=5).places[:300]
    np.testing.assert_array_equal(np.argsort(more), np.argsort(drawn))
    assert (order(ROWS, seed=6).places != drawn).mean() > 0.9


@pytest.mark.parametrize("alpha", [0.3, 0.1, 0.02, 0.01])
def test_some_rows_are_never_held_out(alpha):
    """Whatever the test share, as long as the parts fit into three fifths."""
    drawn = order(ROWS, seed=0)
    free = set(drawn.never_held_out)
    assert len(free) == 119
    for tested in (30, 60, 100, 150):
        rest, behind = drawn.after(tested)
        calibration = divide(LABELS[: len(rest)], seed=0, drawn=behind, alpha=alpha).calibration
        assert len(calibration) == calibration_size(len(rest), alpha)
        if tested + len(calibration) <= drawn.most_held_out:
            assert not free & set(rest[calibration])
            assert not free & set(drawn.one_each(0)[:tested])


def test_a_seed_is_that_of_scikit_learn():
    assert seed_of(3) == seed_of(np.random.RandomState(3)) == seed_of(3)
    assert seed_of(3) != seed_of(4)
