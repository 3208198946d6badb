"""ConformalClassifier: a scikit-learn estimator whose answer is a set of classes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
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
    ALL,
    Calibration,
    Grouping,
    WeightedCalibration,
    calibrated,
    grouping,
    warn_of_unseen,
)
from conftr.classifier.choosing import Candidate, Tried
from conftr.classifier.choosing_head import StackTask
from conftr.classifier.choosing_members import (
    ONE_NETWORK,
    RequestedMembers,
    fitted_elsewhere,
    suitable,
)
from conftr.classifier.cross_conformal import CrossStack, equal_folds, joined
from conftr.classifier.division import (
    Division,
    Order,
    Rows,
    by_number,
    divide,
    order,
    seed_of,
)
from conftr.classifier.estimator_settings import (
    MEANT,
    MethodAndSetting,
    check_cross_conformal,
    knows_best,
    of_outputs,
    only_calibrates,
    requested_by,
    score_of,
)
from conftr.classifier.repeats import KnownRows, warn_of_copies, warn_of_unseen_classes
from conftr.classifier.stack import Answers, logits_of
from conftr.classifier.stacking import FittedStack, described, fingerprint, fit_stack
from conftr.classifier.wish_weights import DialPoint
from conftr.conformal import checks, metrics
from conftr.conformal.arrays import log_softmax, refuse_masked
from conftr.conformal.shaping import Shape
from conftr.conformal.weighted import known_weights
from conftr.data.pictures import PictureFiles
from conftr.features import frames
from conftr.features.frame_columns import FrameColumns
from conftr.features.texts import as_frame, warn_of_long
from conftr.machine.cluster import HERE, Executor
from conftr.machine.rows_on_disk import RowsOnDisk
from conftr.members import drawing
from conftr.members.member import Member, MemberRows
from conftr.members.scikit import AsGiven, Encoded, Scikit

Method = TypeVar("Method", bound=Callable[..., Any])


def _whole_or_not_at_all(method: Method) -> Method:
    """Let a method leave its classifier as it was where it ends early.

    What Ctrl-C or an error interrupts would else answer with the classes of one fit and the members
    of another, or pass for fitted.
    """

    @wraps(method)
    def guarded(clf: ConformalClassifier, *args: Any, **named: Any) -> Any:
        before = clf.__dict__.copy()
        try:
            return method(clf, *args, **named)
        except BaseException:
            clf.__dict__ = before
            raise

    return cast(Method, guarded)


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
            `conftr.ConfTr(...)`, or "auto": train both, and by `conftr.RWCE()`, and keep what has
            the smallest sets on validation data, cross-entropy if in doubt.
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

    What was chosen is told by `method_`, `why_`, `n_train_`, `n_validation_`, `n_calibration_`;
    `n_unseen_` further examples were drawn to calibrate and are of classes that were not learned;
    `candidates_` holds the chosen stack and those it is compared with, `tried_` all that were
    measured, `left_out_` members that failed or came too late, `dial_` the price of wishes. A
    single network also leaves `model_`, `batch_size_`, `epochs_`, `learning_rate_`, `tuning_`.

    >>> clf = conftr.ConformalClassifier(alpha=0.05, random_state=0).fit(X, y)  # doctest: +SKIP
    >>> clf.predict_set(X_new)  # booleans, a column for each of clf.classes_   # doctest: +SKIP
    >>> clf.predict_labels(X_new)                                               # doctest: +SKIP
    [['cat'], ['dog', 'cat'], ...]
    """

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
            self._serve(value)
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
        return self._fit(X, y, groups, self.alpha, fit_params, shift=calibration_weights)

    @_whole_or_not_at_all
    def _fit(
        self,
        X: Any,
        y: Any,
        groups: Any,
        alpha: float,
        fit_params: Mapping[str, Any],
        drawn: Order | None = None,
        shift: Any = None,
    ) -> Self:
        begun = time.monotonic()
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # nothing of an earlier fit stays beside this one
        checks.one_probability(alpha, "alpha")
        if self.time_limit is not None:
            checks.number(self.time_limit, "time_limit", at_least=0)
        requested = requested_by(self)
        self.score_ = score_of(self.get_params(deep=False)["score"])
        X, y = self._checked(X, y, reset=True)
        by, groups = grouping(groups, len(y))
        self.seed_ = seed_of(self.random_state)
        if drawn is None:
            drawn = self._in_order(X)
            warn_of_copies(drawn)
        if shift is not None:
            shift = known_weights(np.asarray(shift), "calibration_weights", len(y))
        if self.cross_conformal is not None:
            check_cross_conformal(self, requested, by, shift)
            return self._fit_crosswise(X, y, alpha, requested, drawn, fit_params)
        if only_calibrates(self, requested):
            weights.refuse(self.class_weight, fit_params)
            rows = drawn.one_each(self.seed_)
            division = Division(rows[:0], rows[:0], rows)
        else:
            division = self._divide(labels.learn(y)[1], drawn, requested)
            division = weights.without_zeros(y, division, self.class_weight, fit_params)
        places = self._learn(X, y, division, requested, (by, groups), drawn, fit_params, begun)
        warn_of_long(X, self._text_columns())
        self.n_train_, self.n_validation_ = len(division.train), len(division.validation)
        held = division.calibration
        if not only_calibrates(self, requested):
            warn_of_unseen_classes(y[held], self.classes_)
            held = held[places[held] >= 0]
        self.n_unseen_ = len(division.calibration) - len(held)
        groups, shift = (None if values is None else values[held] for values in (groups, shift))
        return self._calibrate(_safe_indexing(X, held), y[held], alpha, by, groups, shift)

    def _fit_crosswise(
        self,
        X: Any,
        y: npt.NDArray[Any],
        alpha: float,
        requested: RequestedMembers,
        drawn: Order,
        fit_params: Mapping[str, Any],
    ) -> Self:
        """Fit a stack without each fold of the rows, and calibrate on all of them."""
        assert self.cross_conformal is not None
        rows = drawn.one_each(self.seed_)
        self.classes_, places = labels.learn_from(y, rows)
        self.known_rows_ = KnownRows.of(drawn, rows)
        members = None if isinstance(requested, str) else requested
        fitted, true_scores = [], []
        for fold in equal_folds(rows, self.cross_conformal):
            fold_only = Division(fold.train, rows[:0], rows[:0])
            train = weights.without_zeros(y, fold_only, self.class_weight, fit_params).train
            given = self._member_rows(X, y, places, train, members, fit_params)
            task = self._task(ALL, None, train, time.monotonic())
            fitted.append(_stacked(given, task, members, None, self.executor or HERE))
            answers = fitted[-1].stack.answers(_safe_indexing(X, fold.held), self.score_)
            true_scores.append(answers.scores[np.arange(len(fold.held)), places[fold.held]])
        self._keep(fitted[0], given)
        crossed = joined([each.stack for each in fitted], true_scores)
        self.method_ = "cross-conformal"
        self.tried_: tuple[Tried, ...] = ()
        self.dial_: tuple[DialPoint, ...] = ()
        self.why_ = "It was asked for: every row trains, and every row calibrates."
        kept = Candidate(self.method_, f"{crossed.words}.", None, crossed, crossed.calibration)
        self.candidates_: tuple[Candidate, ...] = (kept,)
        self.fingerprint_: str | None = None
        self.n_train_, self.n_validation_, self.n_unseen_ = len(rows), 0, 0
        self.n_calibration_ = sum(map(len, true_scores))
        self._serve(alpha)
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
        X, y = copy(self)._checked(X, y, reset=True)  # a fitted classifier stays as it is
        classes, places = labels.learn(y)
        rows = MemberRows(X, places, len(classes), texts=self._named_texts())
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
        X, y = self._checked(X, y, reset=False)
        places = {name: place for place, name in enumerate(self.classes_.tolist())}
        columns = np.array([places.get(name, -1) for name in y.tolist()], np.intp)
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

    @_whole_or_not_at_all
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
            alpha: another than before.
            groups: as in `fit`; None is as before, "all" one threshold for all.
            weights: as `calibration_weights` of `fit`; None is without, whatever was before.

        Returns:
            The classifier itself.
        """
        if not hasattr(self, "candidates_") and only_calibrates(self, requested_by(self)):
            level = self.alpha if alpha is None else alpha
            return self._fit(X, y, groups, level, {}, shift=weights)
        check_is_fitted(self)
        if isinstance(self.candidates_[0].stack, CrossStack):
            raise ValueError(
                "a cross-conformal classifier is calibrated by the rows that it was fitted on: fit "
                "one without cross_conformal to calibrate it on other rows."
            )
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
        if weights is not None:
            weights = known_weights(np.asarray(weights), "weights", len(y))[rows]
        X, y, groups = _safe_indexing(X, rows), y[rows], None if groups is None else groups[rows]
        alpha = self.alpha_ if alpha is None else alpha
        self.n_unseen_ = 0
        return self._calibrate(X, y, alpha, by, groups, weights)

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

        Args:
            X: rows, as in `predict_set`.
            groups: the group of each row, where thresholds are by group.
            u: uniform draws (n,) for smoothed p-values: that of the true class is then exactly
                uniform between 0 and 1. None for those that belong to `predict_set`.
            weights: as in `predict_set`.

        Returns:
            Numbers in (0, 1]; 1 where a group has no calibration examples.
        """
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

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, npt.NDArray[Any]]:
        """X as it can be encoded and y as an array of labels, both refused in words."""
        X = self._checked_rows(X, reset=reset)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        refuse_masked(y, "y")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        labels.check(y)
        check_classification_targets(y)
        return X, y

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        refuse_masked(X, "X")
        requested = requested_by(self)
        if of_outputs(requested):
            return np.asarray(X)
        if isinstance(X, RowsOnDisk):
            return self._checked_rows_on_disk(X, requested, reset=reset)
        if knows_best(requested):
            return indexable(_with_columns(X))[0]
        if isinstance(X, PictureFiles):
            return X
        X = as_frame(X)
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

    def _checked_rows_on_disk(
        self, X: RowsOnDisk, requested: RequestedMembers, *, reset: bool
    ) -> Any:
        """Pictures on disk as they are for members that take blocks, and read for all others."""
        if requested == ONE_NETWORK or knows_best(requested):
            return self._checked_rows(np.asarray(X), reset=reset)
        if reset:
            self.n_features_in_ = X.shape[1]  # as scikit-learn counts those of an array
        return X

    def _in_order(self, X: Any) -> Order:
        """The order in which rows are drawn; equal outputs need not be those of equal rows."""
        if of_outputs(requested_by(self)):
            return by_number(len(X), self.seed_)
        return order(X, self.seed_)

    def _divide(self, places: labels.Labels, drawn: Order, requested: RequestedMembers) -> Division:
        chooses = requested == ONE_NETWORK and isinstance(self.method, str)
        return divide(
            places,
            drawn,
            alpha=self.alpha,
            seed=self.seed_,
            calibration=self.calibration_size,
            validation=self.validation_size if chooses else 0,
        )

    def _learn(
        self,
        X: Any,
        y: npt.NDArray[Any],
        division: Division,
        requested: RequestedMembers,
        grouped: tuple[Grouping, Any],
        drawn: Order,
        fit_params: Mapping[str, Any],
        begun: float,
    ) -> labels.Labels:
        """Learn from training rows; the place of each label among the classes, -1 if unknown."""
        learned = np.concatenate([division.train, division.validation])
        given = (
            []
            if isinstance(requested, str)
            else [member for member in requested if fitted_elsewhere(member)]
        )
        if given and len(given) == len(requested):
            weights.refuse(self.class_weight, fit_params)
        if given:
            self.classes_ = labels.named(given[0].classes)  # type: ignore[attr-defined]
            places = labels.places_or_none(y, self.classes_)
        else:
            self.classes_, places = labels.learn_from(y, learned)
        choosing.shape_weights(self.shape, self.classes_.tolist())  # refused before all else
        if not given:
            self.known_rows_ = KnownRows.of(drawn, learned)
        if requested == ONE_NETWORK:
            heavier = self._drawn_by_weight(y, division, fit_params)
            self._learn_network(X, places, heavier, *grouped, begun)
        else:
            rows = division.train[places[division.train] >= 0]
            members = None if isinstance(requested, str) else requested
            task = self._task(*grouped, rows, begun)
            weighted = self._member_rows(X, y, places, rows, members, fit_params)
            in_order, executor = drawn.places[rows], self.executor or HERE
            self._keep(_stacked(weighted, task, members, in_order, executor), weighted)
        return places

    def _task(self, by: Grouping, groups: Any, rows: Rows, begun: float) -> StackTask:
        return StackTask(
            self.classes_.tolist(),
            self.alpha,
            self.score_,
            self.shape,
            self.head,
            by,
            None if groups is None else groups[rows],
            self.seed_,
            math.inf if self.time_limit is None else begun + self.time_limit,
            self.progress,
        )

    def _member_rows(
        self,
        X: Any,
        y: npt.NDArray[Any],
        places: labels.Labels,
        rows: Rows,
        members: Sequence[Member] | None,
        fit_params: Mapping[str, Any],
    ) -> MemberRows:
        """What members are fitted on, with weights and what else their `fit` is to be given."""
        params = dict(_check_method_params(X, dict(fit_params), indices=rows))
        params.pop("sample_weight", None)
        if params and not (members and any(isinstance(member, Scikit) for member in members)):
            raise TypeError(
                f"fit takes X, y, groups and sample_weight; got {next(iter(params))!r}."
            )
        return MemberRows(
            _safe_indexing(X, rows),
            places[rows],
            len(self.classes_),
            self.classes_,
            weights.of_training(y, rows, self.class_weight, fit_params),
            params,
            self._named_texts(),
        )

    def _named_texts(self) -> list[str] | None:
        """The columns that are named as texts; None recognises them."""
        return [self.texts] if isinstance(self.texts, str) else self.texts

    def _text_columns(self) -> list[str]:
        """The columns of texts that the classifier has learned from."""
        return list(getattr(self.candidates_[0].stack.reader, "texts", ()))

    def _keep(self, fitted: FittedStack, rows: MemberRows) -> None:
        """Keep a stack, those it is compared with, and how it came about."""
        description = described(fitted, len(rows.labels))
        self.method_, self.why_ = description.candidates[0].name, description.why
        self.candidates_, self.tried_ = description.candidates, description.tried
        self.dial_, self.left_out_ = description.dial, tuple(fitted.left_out)
        reader = fitted.stack.reader
        self.fingerprint_ = fingerprint(rows, fitted.stack)
        columns = reader.columns if isinstance(reader, Encoded) else reader
        if isinstance(columns, FrameColumns):
            self._name_features(columns.frame.names)
        classifier = getattr(fitted.stack.members[0].models[0], "classifier", None)
        for name in ("n_features_in_", "feature_names_in_"):
            if isinstance(reader, AsGiven) and hasattr(classifier, name):
                setattr(self, name, getattr(classifier, name))

    def _learn_network(
        self,
        X: Any,
        places: labels.Labels,
        division: Division,
        by: Grouping,
        groups: Any,
        begun: float,
    ) -> None:
        """Train single networks and keep the best of each kind."""
        try:
            from conftr.classifier.learn import learn  # which brings JAX
        except ModuleNotFoundError as missing:
            raise _needs_jax(missing) from missing

        until = math.inf if self.time_limit is None else begun + self.time_limit
        learned = learn(self, X, places, division, by=by, groups=groups, until=until)
        self.candidates_, self.tried_, self.why_ = learned.candidates, learned.tried, learned.why
        self.method_, self.model_ = learned.recipe.family, learned.model
        self.batch_size_, self.epochs_ = learned.batch_size, learned.recipe.epochs
        self.learning_rate_ = learned.recipe.learning_rate
        self.fingerprint_, self.tuning_ = learned.fingerprint, learned.tuning
        self.dial_, self.left_out_ = (), ()

    def _drawn_by_weight(
        self, y: npt.NDArray[Any], division: Division, fit_params: Mapping[str, Any]
    ) -> Division:
        """The rows that train a network, drawn in proportion to their weights if there are any."""
        for name in fit_params:
            if name != "sample_weight":
                raise TypeError(f"fit takes X, y, groups and sample_weight; got {name!r}.")
        known = weights.of_training(y, division.train, self.class_weight, fit_params)
        if known is None:
            return division
        if self.tune is not None:
            raise ValueError(
                "tune must be None where rows or classes have weights: settings are compared on "
                "training rows that are held out, and a row that is drawn twice would be on both "
                "sides."
            )
        return division._replace(train=drawing.drawn(division.train, known, self.seed_))

    def _name_features(self, names: Sequence[str]) -> None:
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)

    def _calibrate(
        self, X: Any, y: npt.NDArray[Any], alpha: float, by: Grouping, groups: Any, shift: Any
    ) -> Self:
        places, names = labels.places(y, self.classes_), self.classes_.tolist()
        turned = getattr(self, "dial_", ())
        models = [*self.candidates_, *turned]
        stacks = [model.stack for model in models]
        logits = logits_of(stacks, X, self.progress, "calibration rows")
        known = [
            calibrated(
                self.score_(of_model), places, classes=names, by=by, groups=groups, weights=shift
            )
            for of_model in logits
        ]
        renewed = [
            replace(model, calibration=calibration)
            for model, calibration in zip(models, known, strict=True)
        ]
        count = len(self.candidates_)
        self.candidates_, self.dial_ = tuple(renewed[:count]), tuple(renewed[count:])
        self.n_calibration_ = len(places)
        self._serve(alpha)
        return self

    def _serve(self, alpha: float) -> None:
        """Make sets at this alpha from now on: calibration scores serve any."""
        self.alpha_ = checks.one_probability(alpha, "alpha")
        self.thresholds_ = self.calibration_.thresholds(self.alpha_)
        self.calibration_.warn(self.alpha_)

    def _logits(self, X: Any) -> Any:
        check_is_fitted(self)
        logits = self.candidates_[0].stack.logits(self._new_rows(X))
        checks.of_shape(logits, (len(logits), len(self.classes_)), "logits", "one for each class")
        return logits

    def _answers(self, X: Any) -> Answers:
        check_is_fitted(self)
        return self.candidates_[0].stack.answers(self._new_rows(X), self.score_)

    def _new_rows(self, X: Any) -> Any:
        """Rows to answer; texts that are not read to their end are told."""
        X = self._checked_rows(X, reset=False)
        warn_of_long(X, self._text_columns())
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


def fit_in_order(
    clf: ConformalClassifier, X: Any, y: Any, groups: Any, drawn: Order
) -> ConformalClassifier:
    """`clf.fit(X, y, groups)`, with rows drawn in an order that goes on behind other rows."""
    return clf._fit(X, y, groups, clf.alpha, {}, drawn)


def _with_columns(X: Any) -> Any:
    """Rows that have columns; what has none is refused in words that scikit-learn looks for too."""
    shape = getattr(X, "shape", ())
    if 0 in shape[1:]:
        raise ValueError(
            f"X has no columns to tell classes by: 0 feature(s) (shape={tuple(shape)}) while a "
            f"minimum of 1 is required."
        )
    return X


def _stacked(
    rows: MemberRows,
    task: StackTask,
    members: Sequence[Member] | None,
    examples: Any,
    executor: Executor,
) -> FittedStack:
    try:
        return fit_stack(rows, task, members, examples, executor)
    except ModuleNotFoundError as missing:
        raise _needs_jax(missing) from missing


def _needs_jax(missing: ModuleNotFoundError) -> ImportError:
    return ImportError(
        f"Training takes {missing.name}, which is not here: pip install 'conftr[train]'. "
        f"Around a fitted classifier, or on outputs of another, nothing has to be trained."
    )


def probabilities(logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Probabilities (n, K) of logits."""
    p: npt.NDArray[Any] = np.exp(log_softmax(logits))
    return p
