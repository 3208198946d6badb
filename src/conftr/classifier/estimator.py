"""ConformalClassifier: a scikit-learn estimator whose answer is a set of classes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing, get_tags  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from conftr.classifier import estimator_fitting, labels
from conftr.classifier.calibration import Calibration, WeightedCalibration, grouping, warn_of_unseen
from conftr.classifier.choosing import Candidate, Tried
from conftr.classifier.choosing_members import ONE_NETWORK, suitable
from conftr.classifier.cross_conformal import CrossStack
from conftr.classifier.cross_fitting import LeftOut
from conftr.classifier.estimator_rows import (
    checked,
    checked_rows,
    in_order,
    named_texts,
    text_columns,
)
from conftr.classifier.estimator_settings import (
    MEANT,
    MethodAndSetting,
    only_calibrates,
    requested_by,
)
from conftr.classifier.repeats import KnownRows, warn_of_copies
from conftr.classifier.stack import Answers
from conftr.classifier.wish_weights import DialPoint
from conftr.conformal import checks, metrics
from conftr.conformal.arrays import log_softmax
from conftr.conformal.shaping import Shape
from conftr.conformal.weighted import known_weights
from conftr.features import unknown_levels
from conftr.features.texts import warn_of_long
from conftr.machine.cluster import Executor
from conftr.members.member import MemberRows


class ConformalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict sets of classes that hold the truth with probability 1 - alpha.

    Members give log-probabilities, a head combines them, a threshold makes sets. The examples of
    `fit` are divided at random. Some only calibrate, which is what the guarantee rests on; the
    others train. Members are fitted on folds of the training examples, so that each of these has
    answers of models that never saw it: on them members and heads are compared, and the head
    learns. Copies of one example stay in one part and, outside training, count once. The guarantee
    is for classes that training examples have; these are `classes_`.

    Args:
        alpha: The share of sets that may miss the truth. Set after `fit`, it is served at once from
            the calibration scores, without training: `clf.alpha = 0.02`.
        members: What gives log-probabilities. "auto" is what suits the data; names with commas
            between ("networks,boosted,forest,extra-trees,logistic"); a classifier of scikit-learn;
            or a list of such values and of `conftr.members`. A single classifier is fitted once, on
            all training examples. One that is fitted goes in as `sklearn.frozen.FrozenEstimator(
            it)`, outputs of anything else as `conftr.members.Probabilities(classes)` or `Logits`:
            all examples of `fit` then calibrate, unless wishes have to be learned. "one-network"
            trains a single network, as do settings of one: `method`, `model`, `epochs`,
            `batch_size`, `learning_rate`, `tune`, `validation_size`.
        head: "auto" keeps what has the smallest sets, in doubt the simplest; "mean" is the members'
            mean; "cross-entropy" and "conftr" are trained that way alone.
        score: The conformity score that sets are made with, "thr", "aps" or "raps" (at U = 0), or a
            function of logits. `clf.score(X, y)` is scikit-learn's method all the same, accuracy.
        texts: The columns of a data frame that hold texts. None recognises them: many different
            values of several words. A column of pandas' or polars' type "categorical" is not one.
        shape: Wishes about sets in class names, a `conftr.Shape`. The head follows them, on any
            kind of members. Where pairs to avoid or to separate have no weight, it is found: the
            fewest mixed sets, on out-of-fold answers, where sets are at most 3 % larger.
        method: How a single network is trained: "cross-entropy", "conftr", an objective such as
            `conftr.ConfTr(...)`, or "auto": train by cross-entropy, by `conftr.RWCE()` and by
            `conftr.ConfTr`, and keep what has the smallest sets on validation data, cross-entropy
            if in doubt.
        class_weight: In training, a weight for each class by its name, or "balanced"; calibration
            counts every row once.
        model: Of a single network: widths of hidden layers, such as (64, 64), or a function of
            (input shape, number of classes) such as `conftr.training.ConvNet`; None chooses.
        epochs: Of a single network; None chooses.
        batch_size: Of a single network; None chooses.
        learning_rate: Of a single network; None chooses.
        tune: For a single network: so many settings (learning rate, weight decay, temperature,
            weights of the losses) around the best of each method are compared on held-out training
            examples, and the best of them are trained too; None for none.
        calibration_size: A number of examples, or a share of them; None chooses.
        validation_size: The same, of those that choose between single networks.
        cross_conformal: None, or a number of folds: for few rows, every row then trains and
            calibrates (CV+). As many classifiers are fitted, each without a fold. The promise is
            weaker, `conftr.cross_promise`: about 1 - 2 alpha is sure, 1 - alpha is usual.
        time_limit: Seconds after which no further member is fitted; one always is.
        random_state: Seed of the division and of training.
        progress: Called with (what is fitted, steps done, steps in all) as training goes on.
        executor: Where members are fitted: None for this process, or what
            `conftr.machine.cluster.connect(address)` gives, tasks on a Ray cluster. The classifier
            is the same to the last bit.

    Sets are made at `alpha_`. What was chosen is told by `method_`, `why_`, `n_train_`,
    `n_validation_`, `n_calibration_`; `n_unseen_` further examples were drawn to calibrate and are
    of classes that were not learned; `candidates_` holds the chosen stack and those it is compared
    with, `tried_` all that were measured, `left_out_` members that failed or came too late, `dial_`
    the price of wishes. A single network also leaves `model_`, `batch_size_`, `epochs_`,
    `learning_rate_`, `tuning_`.

    >>> clf = conftr.ConformalClassifier(alpha=0.05, random_state=0).fit(X, y)  # doctest: +SKIP
    >>> clf.predict_set(X_new)  # booleans, a column for each of clf.classes_   # doctest: +SKIP
    >>> clf.predict_labels(X_new)                                               # doctest: +SKIP
    [['cat'], ['dog', 'cat'], ...]
    """

    seed_: int
    score_: Callable[[Any], Any]
    known_rows_: KnownRows
    classes_: npt.NDArray[Any]
    candidates_: tuple[Candidate, ...]
    tried_: tuple[Tried, ...]
    dial_: tuple[DialPoint, ...]
    left_out_: tuple[LeftOut, ...]
    method_: str
    why_: str
    fingerprint_: str | None
    model_: Any
    batch_size_: int
    epochs_: int
    learning_rate_: float
    tuning_: dict[str, Any] | None
    alpha_: float
    thresholds_: npt.NDArray[Any]
    n_train_: int
    n_validation_: int
    n_calibration_: int
    n_unseen_: int
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]

    @checks.near_misses(MEANT)
    def __init__(
        self,
        alpha: float = 0.1,
        *,
        members: Any = "auto",
        head: str = "auto",
        score: Any = "thr",
        texts: Any = None,
        shape: Shape | None = None,
        method: Any = "auto",
        class_weight: Any = None,
        model: Any = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        tune: int | None = None,
        calibration_size: float | None = None,
        validation_size: float | None = None,
        cross_conformal: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        progress: Any = None,
        executor: Executor | None = None,
    ) -> None:
        """Keep the settings; `fit` looks at them."""
        self.alpha = alpha
        self.members = members
        self.head = head
        self.score = score
        self.texts = texts
        self.shape = shape
        self.method = method
        self.class_weight = class_weight
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.tune = tune
        self.calibration_size = calibration_size
        self.validation_size = validation_size
        self.cross_conformal = cross_conformal
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress
        self.executor = executor

    @MethodAndSetting
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose likeliest class is theirs: scikit-learn's default, accuracy.

        It says nothing of sets: see `coverage`, `set_size`, `small_sets_scorer`.

        Args:
            X: Rows, with the columns of `fit`.
            y: Their classes, (n,).
            sample_weight: Of the rows, (n,).

        Returns:
            A number in [0, 1].
        """
        return float(super().score(X, y, sample_weight))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name, as scikit-learn wants them.

        Args:
            deep: Whether to add those of nested estimators.

        Returns:
            Values by name.
        """
        settings: dict[str, Any] = super().get_params(deep)
        return settings | {"score": self.__dict__["score"]}

    @property
    def alpha(self) -> float:
        """The share of sets that may miss the truth; after `fit`, a new one is served at once."""
        given: float = self.__dict__["alpha"]
        return given

    @alpha.setter
    def alpha(self, value: float) -> None:
        if hasattr(self, "candidates_"):
            estimator_fitting.serve(self, value)
        self.__dict__["alpha"] = value

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        calibration_weights: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Divide the examples, train, choose, calibrate.

        Args:
            X: an array (n, d), where nan is missing; an array of images (n, height, width, ...);
                a list or an array (n,) of texts; or a data frame of pandas or polars with numbers,
                categories and texts.
            y: the class of each row, (n,).
            groups: "class" for a threshold per class, or the group of each row, (n,), for one per
                group: the guarantee then holds within each.
            calibration_weights: where new rows are known to be drawn otherwise than these, how much
                likelier each row is among the new ones, (n,), up to a common factor. Rows that
                calibrate count by it, and `predict_set` takes the weights of new rows.
            fit_params: for training alone. `sample_weight`, (n,), is the weight of each row;
                calibration counts every row once, and so does the choice between networks. Rows
                of weight 0 do not train, and a class that has no others there is not learned.
                What else the `fit` of a given classifier takes is handed on.

        Returns:
            The classifier itself.
        """
        estimator_fitting.fit(
            self, X, y, groups, self.alpha, fit_params, calibration_weights=calibration_weights
        )
        return self

    def planned_members(self, X: Any, y: Any) -> list[str]:
        """What `fit` would fit on these examples, by name, in its order.

        Args:
            X: As in `fit`.
            y: As in `fit`.

        Returns:
            The names of members; "one network" where settings of one are given.
        """
        requested = requested_by(self)
        checks.one_probability(self.alpha, "alpha")
        if requested == ONE_NETWORK:
            return ["one network"]
        X, y = checked(copy(self), X, y, reset=True)  # a fitted classifier stays as it is
        classes, places = labels.learn(y)
        rows = MemberRows(X, places, len(classes), texts=named_texts(self))
        planned = suitable(rows).members if isinstance(requested, str) else requested
        return [member.name for member in planned]

    def coverage(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        alpha: float | None = None,
        weights: Any = None,
    ) -> float:
        """Share of rows whose set holds their class; one that `fit` never met is always missed.

        Args:
            X: rows, as in `predict_set`.
            y: the class of each row, (n,), by its name.
            groups: the group of each row, where thresholds are by group.
            alpha: another than that of `fit` or `calibrate`.
            weights: as in `predict_set`.

        Returns:
            The share, between 0 and 1. Rows that trained or calibrated flatter it.
        """
        X, y = checked(self, X, y, reset=False)
        columns = labels.places_or_none(y, self.classes_)
        sets = self.predict_set(X, groups, alpha=alpha, weights=weights)
        return float((sets[np.arange(len(y)), columns] & (columns >= 0)).mean())

    def set_size(
        self, X: Any, groups: Any = None, *, alpha: float | None = None, weights: Any = None
    ) -> float:
        """Mean number of classes in a set.

        Args:
            X: rows, as in `predict_set`.
            groups: the group of each row, where thresholds are by group.
            alpha: another than that of `fit` or `calibrate`.
            weights: as in `predict_set`.

        Returns:
            The mean over the rows, between 0 and the number of classes.
        """
        sets = self.predict_set(X, groups, alpha=alpha, weights=weights)
        return float(metrics.inefficiency(sets))

    @estimator_fitting.whole_or_not_at_all
    def calibrate(
        self,
        X: Any,
        y: Any,
        alpha: float | None = None,
        groups: Any = None,
        *,
        weights: Any = None,
    ) -> Self:
        """Calibrate anew, on examples that were not trained on, in place of what was there.

        Args:
            X: rows, as in `predict_set`.
            y: the class of each row, (n,).
            alpha: another than before, which `alpha_` then tells; the setting `alpha`, which
                `repr` shows and `clone` and `fit` follow, stays as it was.
            groups: as in `fit`; None is as before, "all" one threshold for all.
            weights: as `calibration_weights` of `fit`; None is without, whatever was before.

        Returns:
            The classifier itself.
        """
        if not hasattr(self, "candidates_") and only_calibrates(self, requested_by(self)):
            level = self.alpha if alpha is None else alpha
            estimator_fitting.fit(self, X, y, groups, level, {}, calibration_weights=weights)
            return self
        check_is_fitted(self)
        if isinstance(self.candidates_[0].stack, CrossStack):
            raise ValueError(
                "a cross-conformal classifier is calibrated by the rows that it was fitted on: fit "
                "one without cross_conformal to calibrate it on other rows."
            )
        if alpha is not None:
            checks.one_probability(alpha, "alpha")
        X, y = checked(self, X, y, reset=False)
        before = self.calibration_.by
        if groups is None and before.kind == "column":
            raise ValueError(
                f"groups must be given, as each {before.noun} has a threshold of its own: pass the "
                f'group of every row, or groups="all" for one threshold.'
            )
        by, groups = grouping(before.kind if groups is None else groups, len(y))
        drawn = in_order(self, X, y)
        warn_of_copies(drawn)
        getattr(self, "known_rows_", KnownRows()).warn(drawn)
        rows = drawn.one_each(self.seed_)
        if weights is not None:
            weights = known_weights(np.asarray(weights), "weights", len(y))[rows]
        X, y, groups = _safe_indexing(X, rows), y[rows], None if groups is None else groups[rows]
        alpha = self.alpha_ if alpha is None else alpha
        self.n_unseen_ = 0
        estimator_fitting.calibrate(self, X, y, alpha, by, groups, weights)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each row.

        Args:
            X: Rows, with the columns of `fit`.

        Returns:
            Names of classes, (n,).
        """
        logits = self._logits(X)
        likeliest: npt.NDArray[Any] = self.classes_[np.argmax(logits, axis=1)]
        return likeliest

    def predict_proba(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """Probabilities, in the order of `classes_`.

        Args:
            X: Rows, with the columns of `fit`.

        Returns:
            Shares (n, K) that sum to 1.
        """
        return probabilities(self._logits(X))

    def predict_set(
        self, X: Any, groups: Any = None, *, alpha: float | None = None, weights: Any = None
    ) -> npt.NDArray[np.bool_]:
        """The set of each row as booleans (n, K), in the order of `classes_`.

        Args:
            X: rows, with the columns of `fit`.
            groups: the group of each row, where thresholds are by group.
            alpha: another than that of `fit` or `calibrate`.
            weights: of the rows, (n,), where calibration rows have weights: how much likelier each
                is among new rows, by the same function of it.

        Returns:
            Whether each class is in the set.
        """
        return self._sets(self._answers(X).scores, groups, alpha, weights)

    def predict_labels(
        self, X: Any, groups: Any = None, *, alpha: float | None = None, weights: Any = None
    ) -> list[list[Any]]:
        """The set of each row as a list of class names, the likeliest first.

        Args:
            X: Rows, with the columns of `fit`.
            groups: As in `predict_set`.
            alpha: As in `predict_set`.
            weights: As in `predict_set`.

        Returns:
            A list for each row.
        """
        logits, scores = self._answers(X)
        sets, names = self._sets(scores, groups, alpha, weights), self.classes_.tolist()
        order = np.argsort(-logits, axis=1, kind="stable")
        return [
            [names[k] for k in ranked if held[k]] for ranked, held in zip(order, sets, strict=True)
        ]

    def p_values(
        self, X: Any, groups: Any = None, *, u: Any = None, weights: Any = None
    ) -> npt.NDArray[Any]:
        """P-values of the classes of each row, (n, K), in the order of `classes_`.

        A class is in the set at alpha if and only if its p-value exceeds alpha, for every alpha.
        In words: if this were the row's class, a row that conforms so little or less would come
        with at most this probability. They are no probabilities of classes and do not sum to 1: a
        row for which all are low is unlike the calibration rows of any class.

        With `cross_conformal` less is sure: that of the true class is at most alpha with
        probability at most 1 - `conftr.cross_promise`, about 2 alpha.

        Args:
            X: rows, as in `predict_set`.
            groups: the group of each row, where thresholds are by group.
            u: uniform draws (n,) for smoothed p-values: that of the true class is then exactly
                uniform between 0 and 1. None for those that belong to `predict_set`, which are the
                only ones with `cross_conformal` and with weights.
            weights: as in `predict_set`.

        Returns:
            Numbers in (0, 1]; 1 where a group has no calibration examples.
        """
        check_is_fitted(self)
        if u is not None and isinstance(self.candidates_[0].stack, CrossStack):
            raise ValueError(
                "u must be None: cross-conformal p-values compare a row with the answers of "
                "several models, and no draw makes them uniform. Fit without cross_conformal for "
                "smoothed ones."
            )
        scores = self._answers(X).scores
        places = self.calibration_.places(groups, len(scores))
        warn_of_unseen(self.calibration_.by, groups, places)
        return self._calibration_at(weights, len(scores)).p_values(scores, places, u)

    @property
    def calibration_(self) -> Calibration:
        """What calibration left behind: any alpha can be served from it."""
        calibration = self.candidates_[0].calibration
        assert calibration is not None  # `fit` ends with it
        return calibration

    def __sklearn_tags__(self) -> Any:
        """What a classifier of the user's takes; else missing values and images are welcome."""
        tags = super().__sklearn_tags__()
        if hasattr(self.members, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.members).input_tags
        else:
            tags.input_tags.allow_nan = True
            tags.input_tags.three_d_array = True
        return tags

    def _logits(self, X: Any) -> Any:
        check_is_fitted(self)
        logits = self.candidates_[0].stack.logits(self._new_rows(X))
        checks.of_shape(logits, (len(logits), len(self.classes_)), "logits", "one for each class")
        return logits

    def _answers(self, X: Any) -> Answers:
        check_is_fitted(self)
        return self.candidates_[0].stack.answers(self._new_rows(X), self.score_)

    def _new_rows(self, X: Any) -> Any:
        """Rows to answer; texts that are cut and columns without a known category are told."""
        X = checked_rows(self, X, reset=False)
        warn_of_long(X, text_columns(self))
        unknown_levels.warn(self.candidates_[0].stack.reader, X)
        return X

    def _calibration_at(self, weights: Any, n: int) -> Calibration:
        """The calibration, told the weights of n rows where its own rows have some."""
        if isinstance(self.calibration_, WeightedCalibration):
            return self.calibration_.at(weights, n)
        if weights is not None:
            raise ValueError(
                "weights must be None: calibration rows have none. Give theirs to calibrate, or as "
                "calibration_weights to fit."
            )
        return self.calibration_

    def _sets(
        self, scores: Any, groups: Any, alpha: float | None, weights: Any
    ) -> npt.NDArray[np.bool_]:
        level = self.alpha_
        if alpha is not None:
            level = checks.one_probability(alpha, "alpha")
            self.calibration_.warn(level)
        places = self.calibration_.places(groups, len(scores))
        warn_of_unseen(self.calibration_.by, groups, places)
        return self._calibration_at(weights, len(scores)).sets(scores, places, level)


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


def probabilities(logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Probabilities (n, K) of logits."""
    p: npt.NDArray[Any] = np.exp(log_softmax(logits))
    return p
