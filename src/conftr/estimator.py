"""ConformalClassifier: a scikit-learn estimator whose answer is a set of classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from conftr import checks, features, scores
from conftr.calibration import ALL, CLASS, Calibration, calibrated, group_values
from conftr.division import Division, divide
from conftr.evidence import Candidate as Shown
from conftr.evidence import Evidence
from conftr.outside import Logits, Probabilities, Wrapped
from conftr.quantile import CalibrationWarning

SCORES: Mapping[str, Callable[[Any], Any]] = {
    "thr": scores.thr,
    "aps": scores.aps,
    "raps": scores.raps,
    "thr_logits": scores.thr_logits,
    "thr_probs": scores.thr_probs,
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A trained model and its calibration.

    name: "cross-entropy", "conformal training" …; words: how it was trained and how it did.
    inefficiency: mean set size on validation data (what the wishes make of it); None where there
        are none.
    source: gives logits (n, K) of X.
    """

    name: str
    words: str
    inefficiency: float | None
    source: Any
    calibration: Calibration | None = None


class ConformalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict sets of classes that hold the truth with probability 1 - alpha.

    alpha: the share of sets that may miss the truth.
    method: "cross-entropy", "conformal", an objective such as `conftr.ConfTr(...)`, or "auto":
        train both and keep what has the smaller sets on validation data, cross-entropy if in doubt.
    conformity: the score that sets are made with, "thr", "aps" or "raps", or a function of logits.
    shape: wishes about sets in class names, a `conftr.Shape`.
    classifier: a scikit-learn classifier to fit and calibrate in place of a network. One that is
        fitted already goes in as `sklearn.frozen.FrozenEstimator(it)`, outputs of anything else as
        `conftr.outside.Probabilities(classes)`; all examples then calibrate.
    model: widths of hidden layers, as (64, 64), or a function of (input shape, number of classes)
        such as `conftr.models.ConvNet`; None chooses.
    epochs, batch_size, learning_rate: of training; None chooses.
    calibration_size, validation_size: a number of examples or a share; None chooses.
    time_limit: seconds after which no further training is begun.
    random_state: seed of the division and of training.
    progress: called with (what is trained, epochs done, epochs) as training goes on.

    clf = conftr.ConformalClassifier(alpha=0.05, random_state=0).fit(X, y)
    clf.predict_set(X_new)      # booleans, a column for each of clf.classes_
    clf.predict_labels(X_new)   # [["cat"], ["cat", "dog"], …]
    """

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        method: Any = "auto",
        conformity: Any = "thr",
        shape: Any = None,
        classifier: Any = None,
        model: Any = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        calibration_size: float | None = None,
        validation_size: float | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        """Keep the settings; `fit` looks at them."""
        self.alpha = alpha
        self.method = method
        self.conformity = conformity
        self.shape = shape
        self.classifier = classifier
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.calibration_size = calibration_size
        self.validation_size = validation_size
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Divide the examples, train, choose, calibrate.

        groups: "class" for a threshold per class, or the group of each example, (n,), for one per
            group: the guarantee then holds within each.
        """
        checks.one_probability(self.alpha, "alpha")
        score = _score(self.conformity)
        X, y = self._checked(X, y, reset=True)
        self.alpha_, self.score_ = self.alpha, score
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        by = _by(groups)
        if _is_fitted_already(self.classifier):
            self._take_over(y)
            rows = np.arange(len(y))
            division = Division(rows[:0], rows[:0], rows)
        else:
            self.classes_, labels = _classes(y)
            division = self._divide(labels)
            self._train(X, labels, division, by, groups)
        self.n_train_, self.n_validation_, _ = map(len, division)
        held = division.calibration
        self._calibrate(
            features.take(X, held),
            y[held],
            by,
            None if by in (ALL, CLASS) else np.asarray(groups)[held],
        )
        return self

    def calibrate(self, X: Any, y: Any, alpha: float | None = None, groups: Any = None) -> Self:
        """Calibrate anew, on examples that were not trained on; what was there is replaced.

        groups: as in `fit`; None is as before, "all" one threshold for all.
        """
        if alpha is not None:
            checks.one_probability(alpha, "alpha")
        if not hasattr(self, "classes_") and _is_fitted_already(self.classifier):
            clone_of = self.set_params(alpha=alpha if alpha is not None else self.alpha)
            return clone_of.fit(X, y, groups)
        check_is_fitted(self)
        X, y = self._checked(X, y, reset=False)
        by = self.calibration_.by if groups is None else _by(groups)
        if by not in (ALL, CLASS) and groups is None:
            raise ValueError(
                f"groups must be given: there is a threshold for each {by}. "
                f'Pass the {by} of every row, or groups="all" for one threshold.'
            )
        self.alpha_ = self.alpha_ if alpha is None else alpha
        self._calibrate(X, y, by, None if by in (ALL, CLASS) else groups)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each row, (n,)."""
        found: npt.NDArray[Any] = self.classes_[np.argmax(self._logits(X), axis=1)]
        return found

    def predict_proba(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """Probabilities (n, K), in the order of `classes_`."""
        return _softmax(self._logits(X))

    def predict_set(
        self, X: Any, groups: Any = None, *, alpha: float | None = None
    ) -> npt.NDArray[np.bool_]:
        """The set of each row as booleans (n, K), in the order of `classes_`.

        groups: the group of each row where `fit` was given groups.
        alpha: another than the one of `fit` or `calibrate`.
        """
        logits = self._logits(X)
        places = self._places(groups, len(logits))
        wanted = self.alpha_ if alpha is None else alpha
        checks.one_probability(wanted, "alpha")
        return self.calibration_.sets(self.score_(logits), places, wanted)

    def predict_labels(
        self, X: Any, groups: Any = None, *, alpha: float | None = None
    ) -> list[list[Any]]:
        """The set of each row as a list of class names, likeliest first."""
        logits = self._logits(X)
        sets = self.predict_set(X, groups, alpha=alpha)
        names = self.classes_.tolist()
        order = np.argsort(-logits, axis=1, kind="stable")
        return [
            [names[k] for k in ranked if inside[k]]
            for ranked, inside in zip(order, sets, strict=True)
        ]

    @property
    def calibration_(self) -> Calibration:
        """What calibration left behind."""
        found: Calibration = self.candidates_[0].calibration
        return found

    def __sklearn_tags__(self) -> Any:
        """Missing values and images are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """X as it can be encoded, y as an array of labels, both refused in words."""
        X = self._checked_rows(X, reset=reset)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        _refuse_missing(y)
        check_classification_targets(y)
        return X, y

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        if isinstance(self.classifier, Probabilities | Logits):
            return np.asarray(X)
        if features.is_frame(X):
            names = np.array([str(name) for name in X.columns], dtype=object)
            if reset:
                self.n_features_in_, self.feature_names_in_ = len(names), names
            return X
        if not reset and isinstance(self._encoding(), features.Frame):
            raise ValueError("X must be a data frame with named columns, as it was in fit.")
        return validate_data(self, X, reset=reset, ensure_all_finite="allow-nan", allow_nd=True)

    def _encoding(self) -> Any:
        return getattr(self.candidates_[0].source, "encoding", None)

    def _divide(self, labels: npt.NDArray[Any]) -> Division:
        chooses = self.classifier is None and isinstance(self.method, str)
        return divide(
            labels,
            alpha=self.alpha,
            seed=self.seed_,
            calibration=self.calibration_size,
            validation=self.validation_size if chooses else 0,
        )

    def _take_over(self, y: Any) -> None:
        """Use a classifier that needs no training."""
        if isinstance(self.classifier, Probabilities | Logits):
            self.classes_, source = np.asarray(self.classifier.classes), self.classifier
        else:
            self.classes_, source = self.classifier.classes_, Wrapped(self.classifier)
        self.candidates_ = (Candidate(_name(self.classifier), "Fitted elsewhere.", None, source),)
        self.method_, self.why_ = _name(self.classifier), "It was given, fitted already."

    def _train(self, X: Any, labels: Any, division: Division, by: str, groups: Any) -> None:
        if self.classifier is not None:
            fitted = clone(self.classifier).fit(
                features.take(X, division.train), self.classes_[labels[division.train]]
            )
            name = _name(self.classifier)
            words = f"Fitted on {len(division.train)} examples."
            self.candidates_ = (Candidate(name, words, None, Wrapped(fitted)),)
            self.method_, self.why_ = name, "It was given."
            return
        from conftr import choosing

        choosing.train_and_choose(self, X, labels, division, by, groups)

    def _calibrate(self, X: Any, y: Any, by: str, groups: Any) -> None:
        labels = _indices(y, self.classes_)
        self.candidates_ = tuple(
            replace(
                one,
                calibration=calibrated(
                    self.score_(one.source.logits(X)),
                    labels,
                    classes=self.classes_.tolist(),
                    by=by,
                    groups=groups,
                ),
            )
            for one in self.candidates_
        )
        self.n_calibration_ = len(labels)
        self.thresholds_ = self.calibration_.thresholds(self.alpha_)
        self.calibration_.warn(self.alpha_)

    def _logits(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.candidates_[0].source.logits(self._checked_rows(X, reset=False))

    def _places(self, groups: Any, n: int) -> Any:
        """Which threshold each row has; says so where a group is not known."""
        by = self.calibration_.by
        if by in (ALL, CLASS) and groups is not None:
            raise ValueError("groups must be None: there is no threshold for each group.")
        if by not in (ALL, CLASS) and groups is None:
            raise ValueError(f"groups must hold the {by} of every row: each has its threshold.")
        places = self.calibration_.places(groups, n)
        if places is not None and (places < 0).any():
            values = group_values(groups, n)
            unseen = sorted({str(values[i]) for i in np.flatnonzero(places < 0)})
            warnings.warn(
                f"no calibration example has {by} {', '.join(unseen[:10])}"
                f"{' …' if unseen[10:] else ''}: sets of such rows hold every class.",
                CalibrationWarning,
                stacklevel=3,
            )
        return places


def evidence_of(
    clf: ConformalClassifier,
    X_test: Any,
    y_test: Any,
    *,
    groups: Any = None,
    cells: Sequence[Mapping[str, str]] | None = None,
    pictures: Any = None,
    provenance: Mapping[str, Any] | None = None,
) -> Evidence:
    """What a fitted classifier and those it was compared with show on examples it never saw."""
    check_is_fitted(clf)
    X, y = clf._checked(X_test, y_test, reset=False)
    labels, shape = _indices(y, clf.classes_), clf.shape
    calibration, names = clf.calibration_, clf.classes_.tolist()
    group_names, sizes = [str(name) for name in calibration.names], list(calibration.sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        places = clf._places(groups, len(labels))
    if places is not None and (places < 0).any():
        # What calibration did not see is a group of no examples: its sets hold every class.
        group_names, sizes = [*group_names, "not calibrated"], [*sizes, 0]
        places = np.where(places < 0, len(sizes) - 1, places)
    shown = tuple(_shown(one, clf.score_, X, places) for one in clf.candidates_)
    return Evidence(
        classes=tuple(str(name) for name in names),
        alpha=float(clf.alpha_),
        score=score_name(clf.score_),
        labels=labels,
        candidates=shown,
        groups=places,
        group_names=tuple(group_names),
        calibration_sizes=tuple(sizes),
        group_by=None if calibration.by == ALL else calibration.by,
        wishes=_wishes(shape),
        unwanted=None if shape is None else shape.loss_matrix(names) * (1 - np.eye(len(names))) > 0,
        shrink=None if shape is None else shape.class_weights(names),
        pictures=pictures,
        cells=cells,
        provenance=dict(provenance or {}),
    )


def _shown(one: Candidate, score: Callable[[Any], Any], X: Any, places: Any) -> Shown:
    assert one.calibration is not None
    logits = one.source.logits(X)
    return Shown(
        one.name, one.words, one.calibration.standing(score(logits), places), _softmax(logits)
    )


def _wishes(shape: Any) -> tuple[str, ...]:
    if shape is None:
        return ()
    shrink = [f"shrink {name!r} (weight {weight:g})" for name, weight in shape.shrink.items()]
    return (
        *shrink,
        *(f"{wish} (weight {wish.weight:g})" for wish in (*shape.avoid, *shape.separate)),
    )


def score_name(score: Callable[[Any], Any]) -> str:
    """The name of a conformity score."""
    known = {function: name for name, function in SCORES.items()}
    return known.get(score) or getattr(score, "__name__", repr(score))


def _score(conformity: Any) -> Callable[[Any], Any]:
    if callable(conformity):
        return conformity
    if conformity not in SCORES:
        raise ValueError(
            f"conformity must be one of {', '.join(SCORES)} or a function of logits; got "
            f"{conformity!r}."
        )
    return SCORES[conformity]


def _by(groups: Any) -> str:
    """What thresholds there are: one for all, one per class, or one per group."""
    if groups is None:
        return ALL
    if isinstance(groups, str):
        if groups not in (ALL, CLASS):
            raise ValueError(f'groups must be "class", "all" or one group a row; got {groups!r}.')
        return groups
    name = getattr(groups, "name", None)
    return name if isinstance(name, str) and name not in ("", ALL, CLASS) else "group"


def _is_fitted_already(classifier: Any) -> bool:
    return isinstance(classifier, FrozenEstimator | Probabilities | Logits)


def _name(classifier: Any) -> str:
    inner = classifier.estimator if isinstance(classifier, FrozenEstimator) else classifier
    return type(inner).__name__


def _refuse_missing(y: npt.NDArray[Any]) -> None:
    missing = (
        np.isnan(y)
        if y.dtype.kind == "f"
        else np.array([v is None or v != v for v in y], bool)
        if y.dtype.kind == "O"
        else np.zeros(len(y), bool)
    )
    if missing.any():
        raise ValueError(
            f"y must hold a class for every row: {missing.sum()} are missing, the first in row "
            f"{np.flatnonzero(missing)[0]}. Leave those rows out."
        )


def _classes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    try:
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError(
            "y must hold classes of one type, such as all text or all numbers."
        ) from None
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}: there must be at least two to "
            f"choose from."
        )
    return classes, labels.astype(np.int32)


def _indices(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    places = {name: i for i, name in enumerate(classes.tolist())}
    values: list[Hashable] = y.tolist()
    unknown = sorted({str(value) for value in values if value not in places})
    if unknown:
        raise ValueError(
            f"y holds {', '.join(unknown[:10])}, which {'are not' if unknown[1:] else 'is not'} "
            f"among the classes of fit."
        )
    return np.array([places[value] for value in values], np.int32)


def _softmax(logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: npt.NDArray[Any] = powers / powers.sum(axis=1, keepdims=True)
    return found
