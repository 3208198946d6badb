"""ConformalClassifier: a scikit-learn estimator whose answer is a set of classes."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone  # type: ignore[import-untyped]
from sklearn.frozen import FrozenEstimator  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing, get_tags, indexable  # type: ignore[import-untyped]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    _check_method_params,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from conftr import features
from conftr.classifier import choosing, labels, weights
from conftr.classifier.calibration import (
    Calibration,
    Grouping,
    calibrated,
    grouping,
    warn_of_unseen,
)
from conftr.classifier.division import (
    Division,
    Order,
    Rows,
    by_number,
    divide,
    order,
    seed_of,
)
from conftr.classifier.evidence import Evidence, ShownCandidate
from conftr.classifier.repeats import KnownRows, warn_of_copies, warn_of_unseen_classes
from conftr.conformal import checks, metrics, scores
from conftr.conformal.arrays import log_softmax
from conftr.conformal.shaping import Shape
from conftr.conformal.shown_names import shown
from conftr.features import frames
from conftr.members.outside import Logits, Probabilities, Wrapped

SCORES: Mapping[str, Callable[[Any], Any]] = {
    "thr": scores.thr,
    "aps": scores.aps,
    "raps": scores.raps,
    "thr_logits": scores.thr_logits,
    "thr_probs": scores.thr_probs,
}


# What settings are called elsewhere.
_MEANT = {
    "base_estimator": "classifier",
    "class_weights": "class_weight",
    "confidence": "alpha, one minus it",
    "confidence_level": "alpha, one minus it",
    "conformity": "score",
    "conformity_score": "score",
    "estimator": "classifier",
    "groups": "groups of fit",
    "hidden_layer_sizes": "model",
    "loss": "method",
    "lr": "learning_rate",
    "max_iter": "epochs",
    "network": "model",
    "objective": "method",
    "sample_weight": "sample_weight of fit",
    "scoring": "score",
    "seed": "random_state",
    "wishes": "shape",
}


class _MethodAndSetting:
    """A method whose name is also that of a setting: reading gives the method, writing the setting.

    The setting is kept among the attributes of the instance, where `get_params` finds it.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type) -> Any:
        return self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.method.__name__] = value


class ConformalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict sets of classes that hold the truth with probability 1 - alpha.

    The examples of `fit` are divided at random. Most train. Some choose between models. The rest
    only calibrate, which is what the guarantee rests on; no part is used twice. Copies of one
    example stay in one part and, outside training, count once. The guarantee is for classes that
    training examples have; these are `classes_`.

    alpha: the share of sets that may miss the truth. Set after `fit`, it is served at once from the
        calibration scores, without training: `clf.alpha = 0.02`.
    method: "cross-entropy", "conformal", an objective such as `conftr.ConfTr(...)`, or "auto":
        train both and keep what has the smaller sets on validation data, cross-entropy if in doubt.
    score: the conformity score that sets are made with, "thr", "aps" or "raps" (at U = 0), or a
        function of logits. `clf.score(X, y)` is scikit-learn's method all the same, accuracy.
    shape: wishes about sets in class names, a `conftr.Shape`. Conformal training follows them, and
        "auto" chooses by what they ask for.
    classifier: a scikit-learn classifier to fit and calibrate in place of a network. One that is
        fitted goes in as `sklearn.frozen.FrozenEstimator(it)`, outputs of anything else as
        `conftr.members.Probabilities(classes)` or `Logits`: all examples of `fit` then calibrate.
    class_weight: in training, a weight for each class by its name, or "balanced"; calibration
        counts every row once.
    model: widths of hidden layers, such as (64, 64), or a function of (input shape, number of
        classes) such as `conftr.training.ConvNet`; None chooses.
    epochs, batch_size, learning_rate: of training; None chooses.
    tune: so many settings (learning rate, weight decay, temperature, weights of the losses) around
        the best of each method are compared on held-out training examples, and the best of them
        are trained too; None for none.
    calibration_size, validation_size: a number of examples, or a share of them; None chooses.
    time_limit: seconds after which no further model is trained; one always is.
    random_state: seed of the division and of training.
    progress: called with (what is trained, epochs done, epochs in all) as training goes on.

    What was chosen is told by `method_`, `why_`, `model_`, `batch_size_`, `epochs_`,
    `learning_rate_`, `n_train_`, `n_validation_`, `n_calibration_`; `n_unseen_` further examples
    were drawn to calibrate and are of classes that were not learned; `candidates_` holds the chosen
    model and the best of each other kind, `tried_` all that were trained, `tuning_` what `tune`
    found.

    >>> clf = conftr.ConformalClassifier(alpha=0.05, random_state=0).fit(X, y)  # doctest: +SKIP
    >>> clf.predict_set(X_new)  # booleans, a column for each of clf.classes_   # doctest: +SKIP
    >>> clf.predict_labels(X_new)                                               # doctest: +SKIP
    [['cat'], ['dog', 'cat'], ...]
    """

    @checks.near_misses(_MEANT)
    def __init__(
        self,
        alpha: float = 0.1,
        *,
        method: Any = "auto",
        score: Any = "thr",
        shape: Shape | None = None,
        classifier: Any = None,
        class_weight: Any = None,
        model: Any = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        tune: int | None = None,
        calibration_size: float | None = None,
        validation_size: float | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        """Keep the settings; `fit` looks at them."""
        self.alpha = alpha
        self.method = method
        self.score = score
        self.shape = shape
        self.classifier = classifier
        self.class_weight = class_weight
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.tune = tune
        self.calibration_size = calibration_size
        self.validation_size = validation_size
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    @_MethodAndSetting
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose likeliest class is theirs: scikit-learn's default, accuracy.

        It says nothing of sets: see `coverage`, `set_size`, `small_sets_scorer`.
        """
        return float(super().score(X, y, sample_weight))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name, as scikit-learn wants them."""
        found: dict[str, Any] = super().get_params(deep)
        return found | {"score": self.__dict__["score"]}

    @property
    def alpha(self) -> float:
        """The share of sets that may miss the truth; after `fit`, a new one is served at once."""
        given: float = self.__dict__["alpha"]
        return given

    @alpha.setter
    def alpha(self, value: float) -> None:
        if hasattr(self, "candidates_"):
            self._serve(value)
        self.__dict__["alpha"] = value

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> Self:
        """Divide the examples, train, choose, calibrate.

        Args:
            X: an array (n, d), where nan is missing; an array of images (n, height, width, ...);
                or a data frame of pandas or polars with numbers and categories.
            y: the class of each row, (n,).
            groups: "class" for a threshold per class, or the group of each row, (n,), for one per
                group: the guarantee then holds within each.
            fit_params: for training alone. `sample_weight`, (n,), is the weight of each row;
                calibration counts every row once, and so does the choice between networks. What
                else the `fit` of a given classifier takes is handed on.

        Returns:
            The classifier itself.
        """
        return self._fit(X, y, groups, self.alpha, fit_params)

    def _fit(
        self,
        X: Any,
        y: Any,
        groups: Any,
        alpha: float,
        fit_params: Mapping[str, Any],
        drawn: Order | None = None,
    ) -> Self:
        begun = time.monotonic()
        checks.one_probability(alpha, "alpha")
        if self.time_limit is not None:
            checks.number(self.time_limit, "time_limit", at_least=0)
        self._check_tune()
        self.score_ = _score(self.get_params(deep=False)["score"])
        X, y = self._checked(X, y, reset=True)
        by, groups = grouping(groups, len(y))
        self.seed_ = seed_of(self.random_state)
        if drawn is None:
            drawn = self._in_order(X)
            warn_of_copies(drawn)
        if _is_fitted(self.classifier):
            self._refuse_weights(fit_params)
            rows = drawn.one_each(self.seed_)
            division = Division(rows[:0], rows[:0], rows)
            self._take_over()
        else:
            division = self._divide(labels.learn(y)[1], drawn)
            learned = np.concatenate([division.train, division.validation])
            self.classes_, found = labels.met(y, learned)
            choosing.shape_weights(self.shape, self.classes_.tolist())  # refused before all else
            self.known_rows_ = KnownRows.of(drawn, learned)
            if self.classifier is None:
                heavier = self._weighted(y, division, fit_params)
                self._learn(X, found, heavier, by, groups, begun)
            else:
                self._fit_classifier(X, y, division, fit_params)
        self.n_train_, self.n_validation_ = len(division.train), len(division.validation)
        held = division.calibration
        if not _is_fitted(self.classifier):
            warn_of_unseen_classes(y[held], self.classes_)
            held = held[found[held] >= 0]
        self.n_unseen_ = len(division.calibration) - len(held)
        groups = None if groups is None else groups[held]
        return self._calibrate(_safe_indexing(X, held), y[held], alpha, by, groups)

    def coverage(self, X: Any, y: Any, groups: Any = None, *, alpha: float | None = None) -> float:
        """Share of rows whose set holds their class; one that `fit` never met is always missed.

        Args:
            X: rows, as in `predict_set`.
            y: the class of each row, (n,), by its name.
            groups: the group of each row, where thresholds are by group.
            alpha: another than that of `fit` or `calibrate`.

        Returns:
            The share, between 0 and 1. Rows that trained or calibrated flatter it.
        """
        X, y = self._checked(X, y, reset=False)
        places = {name: place for place, name in enumerate(self.classes_.tolist())}
        found = np.array([places.get(name, -1) for name in y.tolist()], np.intp)
        sets = self.predict_set(X, groups, alpha=alpha)
        return float((sets[np.arange(len(y)), found] & (found >= 0)).mean())

    def set_size(self, X: Any, groups: Any = None, *, alpha: float | None = None) -> float:
        """Mean number of classes in a set.

        Args:
            X: rows, as in `predict_set`.
            groups: the group of each row, where thresholds are by group.
            alpha: another than that of `fit` or `calibrate`.

        Returns:
            The mean over the rows, between 0 and the number of classes.
        """
        return float(metrics.inefficiency(self.predict_set(X, groups, alpha=alpha)))

    def calibrate(self, X: Any, y: Any, alpha: float | None = None, groups: Any = None) -> Self:
        """Calibrate anew, on examples that were not trained on, in place of what was there.

        groups: as in `fit`; None is as before, "all" one threshold for all.
        """
        if _is_fitted(self.classifier) and not hasattr(self, "candidates_"):
            return self._fit(X, y, groups, self.alpha if alpha is None else alpha, {})
        check_is_fitted(self)
        if alpha is not None:
            checks.one_probability(alpha, "alpha")
        X, y = self._checked(X, y, reset=False)
        before = self.calibration_.by
        if groups is None and before.kind == "column":
            raise ValueError(
                f"groups must be given, as each {before.noun} has a threshold of its own: pass the "
                f'group of every row, or groups="all" for one threshold.'
            )
        by, groups = grouping(before.kind if groups is None else groups, len(y))
        drawn = self._in_order(X)
        warn_of_copies(drawn)
        getattr(self, "known_rows_", KnownRows()).warn(drawn)
        rows = drawn.one_each(self.seed_)
        X, y, self.n_unseen_ = _safe_indexing(X, rows), y[rows], 0
        groups = None if groups is None else groups[rows]
        return self._calibrate(X, y, self.alpha_ if alpha is None else alpha, by, groups)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each row, (n,)."""
        logits = self._logits(X)
        found: npt.NDArray[Any] = self.classes_[np.argmax(logits, axis=1)]
        return found

    def predict_proba(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """Probabilities (n, K), in the order of `classes_`."""
        return _probabilities(self._logits(X))

    def predict_set(
        self, X: Any, groups: Any = None, *, alpha: float | None = None
    ) -> npt.NDArray[np.bool_]:
        """The set of each row as booleans (n, K), in the order of `classes_`.

        groups: the group of each row, where thresholds are by group.
        alpha: another than that of `fit` or `calibrate`.
        """
        return self._sets(self._logits(X), groups, alpha)

    def predict_labels(
        self, X: Any, groups: Any = None, *, alpha: float | None = None
    ) -> list[list[Any]]:
        """The set of each row as a list of class names, the likeliest first. See `predict_set`."""
        logits = self._logits(X)
        sets, names = self._sets(logits, groups, alpha), self.classes_.tolist()
        order = np.argsort(-logits, axis=1, kind="stable")
        return [
            [names[k] for k in ranked if held[k]] for ranked, held in zip(order, sets, strict=True)
        ]

    @property
    def calibration_(self) -> Calibration:
        """What calibration left behind: any alpha can be served from it."""
        found = self.candidates_[0].calibration
        assert found is not None  # `fit` ends with it
        return found

    def __sklearn_tags__(self) -> Any:
        """What a classifier of the user's takes; else missing values and images are welcome."""
        tags = super().__sklearn_tags__()
        if hasattr(self.classifier, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.classifier).input_tags
        else:
            tags.input_tags.allow_nan = True
            tags.input_tags.three_d_array = True
        return tags

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, npt.NDArray[Any]]:
        """X as it can be encoded and y as an array of labels, both refused in words."""
        X = self._checked_rows(X, reset=reset)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        labels.check(y)
        check_classification_targets(y)
        return X, y

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        if isinstance(self.classifier, Probabilities | Logits):
            return np.asarray(X)
        if self.classifier is not None:  # which knows best what it takes
            return indexable(_with_columns(X))[0]
        if features.is_frame(X):
            if reset:
                self._name_features(frames.names(X))
            return _with_columns(X)
        if reset and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if not reset and hasattr(self, "feature_names_in_"):
            raise ValueError("X must be a data frame with named columns, as it was in fit.")
        allowed = {"ensure_all_finite": "allow-nan", "allow_nd": True, "ensure_min_features": 0}
        return _with_columns(validate_data(self, X, reset=reset, **allowed))

    def _check_tune(self) -> None:
        if self.tune is None:
            return
        checks.number(self.tune, "tune", at_least=2)  # the first is the one that others are around
        if not isinstance(self.tune, int | np.integer) or self.classifier is not None:
            raise ValueError(
                f"tune must be a whole number, of settings of a network, and None where a "
                f"classifier is given; got {self.tune!r} and {self.classifier!r}."
            )

    def _in_order(self, X: Any) -> Order:
        """The order in which rows are drawn; equal outputs need not be those of equal rows."""
        if isinstance(self.classifier, Probabilities | Logits):
            return by_number(len(X), self.seed_)
        return order(X, self.seed_)

    def _divide(self, found: labels.Labels, drawn: Order) -> Division:
        chooses = self.classifier is None and isinstance(self.method, str)
        return divide(
            found,
            drawn,
            alpha=self.alpha,
            seed=self.seed_,
            calibration=self.calibration_size,
            validation=self.validation_size if chooses else 0,
        )

    def _learn(
        self,
        X: Any,
        found: labels.Labels,
        division: Division,
        by: Grouping,
        groups: Any,
        begun: float,
    ) -> None:
        """Train networks and keep the best of each kind."""
        try:
            from conftr.classifier.learn import LearningTask, learn  # which bring JAX
        except ModuleNotFoundError as missing:
            raise ImportError(
                f"Training takes {missing.name}, which is not here: pip install 'conftr[train]'. "
                f"Around a fitted classifier, or on outputs of another, nothing has to be trained."
            ) from missing

        task = LearningTask(
            alpha=self.alpha,
            method=self.method,
            classes=self.classes_.tolist(),
            score=self.score_,
            shape=self.shape,
            model=self.model,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            tune=self.tune,
            seed=self.seed_,
            time_limit=self.time_limit,
            until=math.inf if self.time_limit is None else begun + self.time_limit,
            progress=self.progress,
        )
        learned = learn(task, X, found, division, by=by, groups=groups)
        self.candidates_, self.tried_, self.why_ = learned.candidates, learned.tried, learned.why
        self.method_, self.model_ = learned.recipe.family, learned.model
        self.batch_size_, self.epochs_ = learned.batch_size, learned.recipe.epochs
        self.learning_rate_ = learned.recipe.learning_rate
        self.fingerprint_, self.tuning_ = learned.fingerprint, learned.tuning

    def _refuse_weights(self, fit_params: Mapping[str, Any]) -> None:
        given = [*fit_params, *(["class_weight"] if self.class_weight is not None else [])]
        if given:
            raise ValueError(
                f"{given[0]} is for training, and nothing is trained here: all rows calibrate, and "
                f"each counts once."
            )

    def _weighted(
        self, y: npt.NDArray[Any], division: Division, fit_params: Mapping[str, Any]
    ) -> Division:
        """The rows that train a network, drawn in proportion to their weights if there are any."""
        for name in fit_params:
            if name != "sample_weight":
                raise TypeError(f"fit takes X, y, groups and sample_weight; got {name!r}.")
        found = self._weights(y, division.train, fit_params)
        if found is None:
            return division
        if self.tune is not None:
            raise ValueError(
                "tune must be None where rows or classes have weights: settings are compared on "
                "training rows that are held out, and a row that is drawn twice would be on both "
                "sides."
            )
        return division._replace(train=weights.drawn(division.train, found, self.seed_))

    def _weights(
        self, y: npt.NDArray[Any], rows: Rows, fit_params: Mapping[str, Any]
    ) -> weights.Weights | None:
        """The weights of the rows that train, by row and by class."""
        own = weights.of_rows(fit_params.get("sample_weight"), len(y))
        by_class = weights.of_classes(self.class_weight, y[rows], self.classes_)
        return weights.product(None if own is None else own[rows], by_class)

    def _fit_classifier(
        self, X: Any, y: Any, division: Division, fit_params: Mapping[str, Any]
    ) -> None:
        rows, found = division.train, self._weights(y, division.train, fit_params)
        given = _check_method_params(X, dict(fit_params), indices=rows)
        if found is not None:
            _check_takes_weights(self.classifier)
            given["sample_weight"] = found
        source = _fitted(self.classifier, _safe_indexing(X, rows), y[rows], self.classes_, given)
        self._keep(source, f"Fitted on {len(rows)} examples.")

    def _take_over(self) -> None:
        """Use what needs no training."""
        given = self.classifier
        if isinstance(given, FrozenEstimator):
            self.classes_ = given.classes_
            self._keep(Wrapped(given, self.classes_), "Fitted elsewhere.")
        else:
            self.classes_ = labels.named(given.classes)
            self._keep(given, "Computed elsewhere.")

    def _keep(self, source: Any, words: str) -> None:
        given = self.classifier
        inner = given.estimator if isinstance(given, FrozenEstimator) else given
        self.method_ = type(inner).__name__
        self.why_ = f"{self.method_}: it was given."
        self.candidates_ = (choosing.Candidate(self.method_, words, None, source),)
        self.tried_ = ()
        encoding = getattr(source, "encoding", None)
        if encoding is not None:
            self._name_features(encoding.names)
            return
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(getattr(source, "classifier", None), name):
                setattr(self, name, getattr(source.classifier, name))

    def _name_features(self, names: Sequence[str]) -> None:
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)

    def _calibrate(
        self, X: Any, y: npt.NDArray[Any], alpha: float, by: Grouping, groups: Any
    ) -> Self:
        found, names = labels.places(y, self.classes_), self.classes_.tolist()

        def with_calibration(one: choosing.Candidate) -> choosing.Candidate:
            own = self.score_(one.source.logits(X))
            return replace(
                one, calibration=calibrated(own, found, classes=names, by=by, groups=groups)
            )

        self.candidates_ = tuple(with_calibration(one) for one in self.candidates_)
        self.n_calibration_ = len(found)
        self._serve(alpha)
        return self

    def _serve(self, alpha: float) -> None:
        """Make sets at this alpha from now on: calibration scores serve any."""
        self.alpha_ = checks.one_probability(alpha, "alpha")
        self.thresholds_ = self.calibration_.thresholds(self.alpha_)
        self.calibration_.warn(self.alpha_)

    def _logits(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.candidates_[0].source.logits(self._checked_rows(X, reset=False))

    def _sets(self, logits: Any, groups: Any, alpha: float | None) -> npt.NDArray[np.bool_]:
        wanted = self.alpha_
        if alpha is not None:
            wanted = checks.one_probability(alpha, "alpha")
            self.calibration_.warn(wanted)
        places = self.calibration_.places(groups, len(logits))
        warn_of_unseen(self.calibration_.by, groups, places)
        return self.calibration_.sets(self.score_(logits), places, wanted)


def small_sets_scorer(estimator: Any, X: Any, y: Any = None) -> float:  # noqa: ARG001
    """Minus the mean set size, for scikit-learn's searches: small sets are better.

    GridSearchCV(clf, grid, scoring=conftr.small_sets_scorer)

    Sets of all settings promise the same coverage, so that their size is what tells them apart.
    Without `scoring`, scikit-learn compares accuracy, which sets are not about.

    Args:
        estimator: a fitted `ConformalClassifier`, or a pipeline that ends in one.
        X: rows that it has not seen.
        y: scikit-learn gives it; sizes do not depend on it.

    Returns:
        -`ConformalClassifier.set_size`.
    """
    while isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = X if step in (None, "passthrough") else step.transform(X)
        estimator = estimator.steps[-1][1]
    return -float(estimator.set_size(X))


def fit_in_order(
    clf: ConformalClassifier, X: Any, y: Any, groups: Any, drawn: Order
) -> ConformalClassifier:
    """`clf.fit(X, y, groups)`, with rows drawn in an order that goes on behind other rows."""
    return clf._fit(X, y, groups, clf.alpha, {}, drawn)


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
    """What a fitted classifier, and those it was compared with, show on examples it never saw.

    groups: as in `predict_set`. cells, pictures, provenance: as in `Evidence`, for showing.
    Examples of classes that were not learned are counted, as every set misses them.
    """
    check_is_fitted(clf)
    X, y = clf._checked(X_test, y_test, reset=False)
    known = labels.known_rows(y, clf.classes_)
    unseen, tested = len(y) - len(known), len(y)
    calibration, shape, names = clf.calibration_, clf.shape, clf.classes_.tolist()
    group_names, sizes = [str(name) for name in calibration.names], list(calibration.sizes)
    places = calibration.places(groups, len(y))
    if places is not None and (places < 0).any():
        # What calibration did not see is a group of no examples: its sets hold every class.
        group_names, sizes = [*group_names, "not calibrated"], [*sizes, 0]
        places = np.where(places < 0, len(sizes) - 1, places)
    X, y, places = _safe_indexing(X, known), y[known], None if places is None else places[known]
    unseen_before = getattr(clf, "n_unseen_", 0)

    def answers(one: choosing.Candidate) -> ShownCandidate:
        logits = one.source.logits(X)
        standing = one.calibration.standing(clf.score_(logits), places)  # type: ignore[union-attr]
        return ShownCandidate(one.name, one.words, standing, _probabilities(logits))

    return Evidence(
        classes=tuple(str(name) for name in names),
        alpha=float(clf.alpha_),
        score=score_name(clf.score_),
        labels=labels.places(y, clf.classes_),
        candidates=tuple(answers(one) for one in clf.candidates_),
        groups=places,
        group_names=tuple(group_names),
        calibration_sizes=tuple(sizes),
        group_by=calibration.by.column,
        wishes=() if shape is None else _wishes(shape),
        unwanted=None if shape is None else _unwanted(shape, names),
        shrink=None if shape is None else shape.class_weights(names),
        unseen=unseen,
        unseen_share=(unseen + unseen_before) / (tested + clf.n_calibration_ + unseen_before),
        pictures=None if pictures is None else pictures[known],
        cells=None if cells is None else [cells[row] for row in known],
        provenance=dict(provenance or {}),
    )


def score_name(score: Callable[[Any], Any]) -> str:
    """The name of a conformity score."""
    known = {function: name for name, function in SCORES.items()}
    return known.get(score) or str(getattr(score, "__name__", score))


def _wishes(shape: Shape) -> tuple[str, ...]:
    shrink = [
        f"shrink {shown(repr(name))} (weight {weight:g})" for name, weight in shape.shrink.items()
    ]
    # `Shape` has written every wish out as `Avoid` or `Separate`.
    others: Any = (*shape.avoid, *shape.separate)
    return (*shrink, *(f"{wish} (weight {wish.weight:g})" for wish in others))


def _unwanted(shape: Shape, names: Sequence[Any]) -> npt.NDArray[np.bool_] | None:
    if not (shape.avoid or shape.separate):
        return None
    matrix = shape.loss_matrix(names)
    np.fill_diagonal(matrix, 0)
    return matrix > 0


def _score(score: Any) -> Callable[[Any], Any]:
    if callable(score):
        found: Callable[[Any], Any] = score
        return found
    if score not in SCORES:
        raise ValueError(
            f"score must be one of {', '.join(SCORES)} or a function of logits; got {score!r}."
        )
    return SCORES[score]


def _with_columns(X: Any) -> Any:
    """Rows that have columns; what has none is refused in words that scikit-learn looks for too."""
    shape = getattr(X, "shape", ())
    if 0 in shape[1:]:
        raise ValueError(
            f"X has no columns to tell classes by: 0 feature(s) (shape={tuple(shape)}) while a "
            f"minimum of 1 is required."
        )
    return X


def _fitted(
    classifier: Any, X: Any, y: npt.NDArray[Any], classes: labels.Classes, given: Mapping[str, Any]
) -> Wrapped:
    """A classifier fitted on rows as they are, or on our encoding if it takes no categories."""
    try:
        return Wrapped(clone(classifier).fit(X, y, **given), classes)
    except (TypeError, ValueError):
        if not (features.is_frame(X) and frames.has_categories(X)):
            raise
    encoding = frames.learn(X)
    return Wrapped(clone(classifier).fit(encoding.encode(X), y, **given), classes, encoding)


def _check_takes_weights(classifier: Any) -> None:
    parameters = inspect.signature(classifier.fit).parameters.values()
    if not any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise ValueError(
            f"sample_weight and class_weight cannot be followed: fit of "
            f"{type(classifier).__name__} takes no weights."
        )


def _is_fitted(classifier: Any) -> bool:
    return isinstance(classifier, FrozenEstimator | Probabilities | Logits)


def _probabilities(logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = np.exp(log_softmax(logits))
    return found
