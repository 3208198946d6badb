"""Classifiers from elsewhere: any of scikit-learn's, or nothing but their outputs.

Logits and logs of probabilities are the same thing to a conformity score, up to a constant a row.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.scores import logits_from_probs
from conftr.features import Frame


@dataclass(frozen=True)
class Probabilities:
    """Probabilities computed anywhere: X is then (n, K), one column for each of these classes.

    clf = ConformalClassifier(alpha=0.05, classifier=Probabilities(["cat", "dog"]))
    clf.fit(P_calibration, y); clf.predict_set(P)
    """

    classes: Sequence[Hashable]

    def logits(self, x: Any) -> npt.NDArray[np.floating[Any]]:
        """log p, (n, K); see `conftr.logits_from_probs` for a probability of 0."""
        found: npt.NDArray[np.floating[Any]] = logits_from_probs(
            _matrix(x, self.classes, "probabilities")
        )
        return found


@dataclass(frozen=True)
class Logits:
    """Logits computed anywhere: X is then (n, K), one column for each of these classes."""

    classes: Sequence[Hashable]

    def logits(self, x: Any) -> npt.NDArray[np.floating[Any]]:
        """As they are, (n, K)."""
        return _matrix(x, self.classes, "logits")


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A fitted scikit-learn classifier; a class that it was not trained on has probability 0.

    encoding: what it was given in place of a data frame with categories, if it takes none.
    """

    classifier: Any
    classes: npt.NDArray[Any]
    encoding: Frame | None = None

    def logits(self, x: Any) -> npt.NDArray[np.floating[Any]]:
        """log p, (n, K)."""
        if not hasattr(self.classifier, "predict_proba"):
            raise TypeError(
                f"classifier must have predict_proba; {self.classifier!r} has not. "
                f"sklearn.calibration.CalibratedClassifierCV gives it one."
            )
        found = np.asarray(
            self.classifier.predict_proba(x if self.encoding is None else self.encoding.encode(x))
        )
        known = {name: place for place, name in enumerate(self.classes.tolist())}
        p = np.zeros((len(found), len(self.classes)), np.result_type(found, np.float32))
        p[:, [known[name] for name in self.classifier.classes_.tolist()]] = found
        logits: npt.NDArray[np.floating[Any]] = logits_from_probs(p)
        return logits


def _matrix(x: Any, classes: Sequence[Hashable], name: str) -> npt.NDArray[Any]:
    x = np.asarray(x)
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    found: npt.NDArray[Any] = checks.logits_array(x, name)
    if found.shape[1] != len(classes):
        raise ValueError(
            f"{name} must have one column for each of the {len(classes)} classes; got shape "
            f"{found.shape}."
        )
    return found
