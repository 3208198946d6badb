"""From the logits and labels of any model to the full report, in one call: `conftr.report`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.classifier.calibration import calibrated
from conftr.classifier.evidence import Evidence, ShownCandidate
from conftr.conformal import checks
from conftr.conformal.arrays import host, log_softmax
from conftr.conformal.scores import thr
from conftr.machine.versions import statement
from conftr.report.writing import write

_SHARE = 0.5  # of the rows calibrates, the others test


def report_of_logits(
    logits: Any,
    labels: Any,
    classes: Sequence[Hashable],
    alpha: float = 0.1,
    *,
    out: Path | str = "report",
    score: Callable[[Any], Any] = thr,
    share: float = _SHARE,
    seed: int = 0,
) -> Path:
    """Write the report on what sets made of these logits promise and how large they are.

        conftr.report(logits, labels, ["cat", "dog", "eel"], alpha=0.05)

    Some rows, drawn at random, calibrate; the others test. Logs of probabilities are logits too
    (`conftr.logits_from_probs`). Rows that the model was trained on flatter it.

    Args:
        logits: Of rows that the model has not learned from, (n, K); NumPy, JAX or PyTorch.
        labels: True classes (n,): names as in `classes`, or, where these are text, the numbers of
            their columns.
        classes: The name of each column.
        alpha: The share of sets that may miss the truth. The page has a slider for others.
        out: The folder for report.html and its figures, in place of a report that is there.
        score: A conformity score such as `conftr.aps`.
        share: Of the rows, to calibrate.
        seed: Of the division.

    Returns:
        The path of the page.

    Raises:
        ValueError: If shapes, labels or alpha are not as said.
    """
    return write(_evidence(logits, labels, classes, alpha, score, share, seed), out)


def _evidence(
    logits: Any,
    labels: Any,
    classes: Sequence[Hashable],
    alpha: float,
    score: Callable[[Any], Any],
    share: float,
    seed: int,
) -> Evidence:
    logits = checks.logits_array(host(logits))
    truth, alpha = _places(labels, logits, list(classes)), checks.one_probability(alpha, "alpha")
    cal, test = _divided(len(truth), share, seed)
    scores = score(logits)
    calibration = calibrated(scores[cal], truth[cal], classes=classes)
    shown = ShownCandidate(
        "the model",
        "Its logits were computed elsewhere; nothing was trained.",
        calibration.standing(scores[test], calibration.places(None, len(test))),
        np.exp(log_softmax(logits[test])),
    )
    return Evidence(
        classes=tuple(map(str, classes)),
        alpha=alpha,
        score=str(getattr(score, "__name__", score)),
        labels=truth[test],
        candidates=(shown,),
        groups=np.zeros(len(test), np.intp),
        group_names=calibration.names,  # type: ignore[arg-type]
        calibration_sizes=calibration.sizes,
        provenance={
            "rows": {"calibrated on": len(cal), "tested on": len(test)},
            "seed": seed,
            "versions": statement(),
        },
    )


def _places(labels: Any, logits: Any, classes: list[Any]) -> npt.NDArray[np.intp]:
    """The column of each label."""
    if len(classes) != logits.shape[1] or len(set(classes)) != len(classes):
        raise ValueError(
            f"classes must name each of the {logits.shape[1]} columns of the logits once; got "
            f"{checks.listed(map(str, classes))}."
        )
    known = host(labels)
    if known.dtype.kind in "iu" and all(isinstance(name, str) for name in classes):
        return np.asarray(checks.labels_array(known, logits), np.intp)
    columns = {name: place for place, name in enumerate(classes)}
    strange = [str(name) for name in known.tolist() if name not in columns]
    if strange:
        raise ValueError(
            f"labels must be names of classes, or numbers of columns where these are text; got "
            f"{checks.listed(dict.fromkeys(strange))} where there are "
            f"{checks.listed(map(str, classes))}."
        )
    places = np.array([columns[name] for name in known.tolist()], np.intp)
    return np.asarray(checks.labels_array(places, logits), np.intp)


def _divided(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Rows that calibrate and rows that test, at random."""
    checks.number(share, "share", above=0, below=1)
    count = round(share * n)
    if not 0 < count < n:
        raise ValueError(
            f"share must leave rows to calibrate and rows to test on; of {n} rows it takes {count} "
            f"to calibrate."
        )
    cal, test = np.split(np.random.default_rng(seed).permutation(n), [count])
    return cal, test
