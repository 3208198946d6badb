"""A page holds what it can show: as many examples as keep it small, and sets that stay exact."""

from dataclasses import replace

import numpy as np
import pytest
import showcase

from conftr.report import sampling
from conftr.report.slider import stops


@pytest.mark.parametrize("by", [None, "class", "group"])
def test_clipping_changes_no_set_at_any_stop(by):
    evidence = showcase.digits(by)
    parts = zip(evidence.candidates, sampling.clipped(evidence), strict=True)
    clipped = replace(
        evidence, candidates=tuple(replace(item, standing=places) for item, places in parts)
    )
    for alpha in stops(evidence.alpha):
        for c in range(2):
            np.testing.assert_array_equal(clipped.sets(c, alpha), evidence.sets(c, alpha))


def test_small_evidence_is_kept_whole():
    evidence = showcase.wine()
    assert sampling.sample(evidence) is evidence


def test_without_examples_there_is_no_report():
    nothing = sampling.rows_of(showcase.wine(), np.array([], int))
    with pytest.raises(ValueError, match="at least one test example"):
        sampling.sample(nothing)


def test_a_sample_keeps_what_belongs_together(monkeypatch):
    monkeypatch.setattr(sampling, "_TELLING", 2_000)
    evidence = showcase.digits("group")
    m = len(evidence.labels)
    marked = replace(
        evidence,
        labels=np.arange(m) % 10,
        groups=np.arange(m) % 3,
        pictures=np.arange(m, dtype=np.uint16)[:, None, None],
        cells=[{"row": str(i)} for i in range(m)],
    )
    held = sampling.sample(replace(marked, unseen=m))
    rows = held.pictures[:, 0, 0]
    assert 50 < len(rows) < m
    assert held.unseen == len(rows)
    assert (np.diff(rows.astype(int)) > 0).all()
    np.testing.assert_array_equal(held.labels, rows % 10)
    np.testing.assert_array_equal(held.groups, rows % 3)
    assert [int(cell["row"]) for cell in held.cells] == rows.tolist()
    for sampled, all_of_them in zip(held.candidates, marked.candidates, strict=True):
        np.testing.assert_array_equal(sampled.standing, all_of_them.standing[rows])
        np.testing.assert_array_equal(sampled.probabilities, all_of_them.probabilities[rows])


def test_a_sample_is_drawn_blindly_and_the_same_each_time(monkeypatch):
    monkeypatch.setattr(sampling, "_TELLING", 2_000)
    evidence = showcase.digits()
    first, again = sampling.sample(evidence), sampling.sample(evidence)
    np.testing.assert_array_equal(first.labels, again.labels)
    shuffled = replace(evidence, labels=evidence.labels[::-1])
    np.testing.assert_array_equal(
        sampling.sample(shuffled).candidates[0].standing, first.candidates[0].standing
    )
