"""`conftr.report`: from logits and labels to the page, in one line."""

import numpy as np
import pytest
import torch

import conftr
from conftr.report.of_logits import _evidence

NAMES = ["cat", "dog", "eel"]
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 400)
LOGITS = RNG.normal(size=(400, 3)) + 2 * np.eye(3)[Y]


@pytest.mark.parametrize("labels", [Y, np.array(NAMES)[Y], torch.as_tensor(Y)], ids=type)
def test_one_line(labels, tmp_path):
    logits = torch.as_tensor(LOGITS) if isinstance(labels, torch.Tensor) else LOGITS
    page = conftr.report(logits, labels, NAMES, 0.1, out=tmp_path / "report")
    assert page == tmp_path / "report" / "report.html"
    assert all(name in page.read_text() for name in NAMES)
    assert (tmp_path / "report" / "figures" / "trade_off.svg").exists()


def test_its_sets_are_those_of_calibrate_and_predict_set():
    evidence = _evidence(LOGITS, Y, NAMES, 0.1, conftr.aps, 0.5, 0)
    cal, test = np.split(np.random.default_rng(0).permutation(400), [200])
    tau = conftr.calibrate(LOGITS[cal], Y[cal], 0.1, score=conftr.aps)
    np.testing.assert_array_equal(
        evidence.sets(), conftr.predict_set(LOGITS[test], tau, score=conftr.aps)
    )
    np.testing.assert_array_equal(evidence.labels, Y[test])


def test_whole_numbers_are_names_where_classes_are_whole_numbers():
    evidence = _evidence(LOGITS, Y + 5, [5, 6, 7], 0.1, conftr.thr, 0.5, 0)
    assert set(evidence.labels) == {0, 1, 2}
    with pytest.raises(ValueError, match="got 0, 1, 2 where there are 5, 6, 7"):
        _evidence(LOGITS, np.sort(Y), [5, 6, 7], 0.1, conftr.thr, 0.5, 0)


@pytest.mark.parametrize(
    ("classes", "labels", "share", "message"),
    [
        (NAMES[:2], Y, 0.5, "each of the 3 columns"),
        (["cat", "cat", "eel"], Y, 0.5, "each of the 3 columns"),
        (NAMES, Y + 1, 0.5, r"labels must lie in 0\.\.2"),
        (NAMES, np.array(["fox"] * 400), 0.5, "got fox"),
        (NAMES, Y, 0.0001, "rows to calibrate and rows to test"),
    ],
)
def test_refusals(classes, labels, share, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        conftr.report(LOGITS, labels, classes, 0.1, out=tmp_path / "report", share=share)
