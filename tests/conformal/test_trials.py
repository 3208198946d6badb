"""Random splits: records, reproducibility, every row used, U drawn anew."""

import json
from functools import partial

import numpy as np
import polars
import pytest

import conftr
from conftr.conformal.trials import measure
from conftr.members.elsewhere import Logits


def pool(n=600, k=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    return (rng.normal(size=(n, k)) + 2 * np.eye(k)[labels]).astype(np.float32), labels


def test_records_make_a_data_frame_and_json():
    rows = conftr.evaluate(*pool(), score=conftr.thr, alpha=[0.1, 0.2], n_cal=200, splits=3)
    frame = polars.DataFrame(rows)
    assert frame.height == 6
    assert frame["split"].to_list() == [0, 0, 1, 1, 2, 2]
    assert frame["alpha"].to_list() == [0.1, 0.2] * 3
    assert json.loads(json.dumps(rows)) == rows


def test_every_row_is_used():
    for row in conftr.evaluate(*pool(), score=conftr.thr, alpha=0.1, n_cal=199, splits=2):
        assert row["n_cal"] + row["n_test"] == 600
        assert sum(row["size_histogram"]) == row["n_test"] == 401
        assert len(row["size_histogram"]) == 6
        assert row["empty"] == row["size_histogram"][0] / 401


def test_a_split_is_calibrate_and_predict():
    logits, labels = pool()
    seen = []

    def score(x):
        seen.append(x.shape)
        return conftr.thr(x)

    rows = conftr.evaluate(logits, labels, score=score, alpha=0.1, n_cal=200, splits=4)
    assert seen == [(600, 5)]  # scores without U are computed once for all splits
    true_scores = np.sort(conftr.thr(logits)[np.arange(600), labels])
    assert all(row["tau"] in true_scores for row in rows)
    assert len({row["tau"] for row in rows}) > 1


def test_every_library_gives_the_same_records(eager):
    logits, labels = pool()
    options = {"alpha": [0.05, 0.1], "n_cal": 300, "splits": 2, "groups": {"low": [0, 1]}}
    for score in (conftr.thr, conftr.aps):
        options |= {"score": score, "random_u": score is conftr.aps}
        expected = conftr.evaluate(logits, labels, **options)
        result = conftr.evaluate(eager.asarray(logits), eager.asarray(labels), **options)
        for row, other in zip(result, expected, strict=True):
            assert row.keys() == other.keys()
            assert row["size_histogram"] == other["size_histogram"]
            assert row["coverage"] == other["coverage"]
            assert row["tau"] == pytest.approx(other["tau"], rel=1e-5)


def test_seeds_reproduce_and_more_splits_leave_the_first_alone():
    options = {"score": conftr.aps, "alpha": 0.1, "n_cal": 200, "random_u": True}
    few = conftr.evaluate(*pool(), **options, splits=2, seed=7)
    many = conftr.evaluate(*pool(), **options, splits=4, seed=7)
    assert many[:2] == few
    assert conftr.evaluate(*pool(), **options, splits=2, seed=8) != few


def test_u_is_drawn_anew_for_every_split_and_row_where_that_is_asked_for():
    draws = []

    def score(logits, u):
        draws.append(u)
        return conftr.aps(logits, u)

    conftr.evaluate(*pool(), score=score, alpha=0.1, n_cal=200, splits=2, random_u=True)
    assert [u.shape for u in draws] == [(600,), (600,)]
    assert len(np.unique(np.concatenate(draws))) > 1100
    for other in (conftr.thr, partial(conftr.aps, u=None)):
        with pytest.raises(ValueError, match="random_u is for a score whose second parameter is u"):
            conftr.evaluate(*pool(), score=other, alpha=0.1, n_cal=200, random_u=True)


@pytest.mark.parametrize("score", [conftr.aps, conftr.raps])
def test_without_u_all_functions_make_the_same_sets(score):
    logits, labels = pool()
    (row,) = conftr.evaluate(logits, labels, score=score, alpha=0.1, n_cal=300, splits=1)
    (child,) = np.random.SeedSequence(0).spawn(1)
    order = np.random.default_rng(child).permutation(600)
    cal, test = order[:300], order[300:]
    tau = conftr.calibrate(logits[cal], labels[cal], 0.1, score=score)
    clf = conftr.ConformalClassifier(members=Logits(range(5)), score=score.__name__)
    clf.fit(logits[cal], labels[cal])
    for sets in (
        conftr.predict_set(logits[test], tau, score=score),
        conftr.predict_set(score(logits[test]), tau),
        clf.predict_set(logits[test]),
    ):
        assert row["size_histogram"] == conftr.size_histogram(sets).tolist()


def test_absent_classes_are_none():
    logits, labels = pool()
    keep = labels != 3
    rows = conftr.evaluate(
        logits[keep], labels[keep], score=conftr.thr, alpha=0.1, n_cal=200, groups={"none": [3]}
    )
    assert all(row["class_coverage"][3] is None for row in rows)
    assert all(row["inefficiency[none]"] is None for row in rows)
    assert all(row["miscoverage[none->]"] is None for row in rows)
    assert all(0 <= row["miscoverage[->none]"] <= 1 for row in rows)


def test_shapes_of_sets_are_measured_as_by_the_metrics():
    """`measure` of sets {0}, {0, 1}, {2} of true classes 0, 0, 1: worked out on paper."""
    sets = np.array([[True, False, False], [True, True, False], [False, False, True]])
    result = measure(sets, np.array([0, 0, 1]), {"low": [0]})
    third = pytest.approx(1 / 3)
    assert result["coverage_confusion"] == [
        [pytest.approx(2 / 3), third, 0],
        [0, 0, third],
        [0] * 3,
    ]
    assert result["miscoverage[low->]"] == 0.5  # one of two sets of class 0 holds another class
    assert result["miscoverage[->low]"] == 0.0


def test_consistency_with_the_guarantee():
    logits, labels = pool(3000)
    rows = conftr.evaluate(logits, labels, score=conftr.thr, alpha=0.1, n_cal=1000, splits=200)
    assert np.mean([row["consistent"] for row in rows]) > 0.98
    tails = np.array([row["tail"] for row in rows])
    assert 0.35 < tails.mean() < 0.65
    assert all((row["tail"] >= 0.005) == row["consistent"] for row in rows)


def test_a_coverage_too_low_for_the_guarantee_is_called_inconsistent():
    # Around 1 - alpha = .9 the standard deviation is about .0115: .89 is chance, .86 is not.
    law = conftr.coverage_law(1000, 2000, 0.1)
    assert law[round(0.86 * 2000)] < 0.005 < law[round(0.89 * 2000)]


@pytest.mark.parametrize("n_cal", [0, 600, -3])
def test_bad_sizes_are_refused(n_cal):
    with pytest.raises(ValueError, match=r"n_cal must lie in 1..599"):
        conftr.evaluate(*pool(), score=conftr.thr, alpha=0.1, n_cal=n_cal)
