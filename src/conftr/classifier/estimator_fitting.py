"""What `ConformalClassifier.fit` does: divide the rows, learn from some, calibrate on others.

Functions here leave what they find on the classifier, in its attributes that end in _.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]
from sklearn.utils.validation import _check_method_params  # type: ignore[import-untyped]

from conftr.classifier import choosing, labels, weights
from conftr.classifier.calibration import ALL, Grouping, calibrated, grouping
from conftr.classifier.choosing import Candidate
from conftr.classifier.choosing_head import StackTask
from conftr.classifier.choosing_members import ONE_NETWORK, RequestedMembers, fitted_elsewhere
from conftr.classifier.cross_conformal import equal_folds, joined
from conftr.classifier.division import Division, Order, Rows, divide, seed_of
from conftr.classifier.estimator_rows import (
    checked,
    in_order,
    name_features,
    named_texts,
    text_columns,
)
from conftr.classifier.estimator_settings import (
    check_cross_conformal,
    only_calibrates,
    requested_by,
    score_of,
)
from conftr.classifier.repeats import KnownRows, warn_of_copies, warn_of_unseen_classes
from conftr.classifier.stack import logits_of
from conftr.classifier.stacking import FittedStack, described, fingerprint, fit_stack
from conftr.conformal import checks
from conftr.conformal.weighted import known_weights
from conftr.features.frame_columns import FrameColumns
from conftr.features.texts import warn_of_long
from conftr.machine.cluster import HERE, Executor
from conftr.members import drawing
from conftr.members.member import Member, MemberRows
from conftr.members.scikit import AsGiven, Encoded, Scikit

if TYPE_CHECKING:
    from conftr.classifier.estimator import ConformalClassifier


_Method = TypeVar("_Method", bound=Callable[..., Any])


def whole_or_not_at_all(method: _Method) -> _Method:
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

    return cast(_Method, guarded)


@whole_or_not_at_all
def fit(
    clf: ConformalClassifier,
    X: Any,
    y: Any,
    groups: Any,
    alpha: float,
    fit_params: Mapping[str, Any],
    drawn: Order | None = None,
    calibration_weights: Any = None,
) -> None:
    """Divide the examples, train, choose, calibrate; see `ConformalClassifier.fit`.

    Args:
        clf: whose settings are followed; what an earlier fit left is forgotten.
        X: rows.
        y: their classes.
        groups: "class", or the group of each row, or None.
        alpha: what sets are made for.
        fit_params: for training alone.
        drawn: the order in which rows are drawn; None for one by their content and the seed.
        calibration_weights: weights of rows in calibration; None for none.
    """
    begun = time.monotonic()
    for name in [name for name in vars(clf) if name.endswith("_")]:
        delattr(clf, name)  # nothing of an earlier fit stays beside this one
    checks.one_probability(alpha, "alpha")
    if clf.time_limit is not None:
        checks.number(clf.time_limit, "time_limit", at_least=0)
    until = math.inf if clf.time_limit is None else begun + clf.time_limit
    requested = requested_by(clf)
    clf.score_ = score_of(clf.get_params(deep=False)["score"])
    X, y = checked(clf, X, y, reset=True)
    by, groups = grouping(groups, len(y))
    clf.seed_ = seed_of(clf.random_state)
    if drawn is None:
        drawn = in_order(clf, X, y)
        warn_of_copies(drawn)
    if calibration_weights is not None:
        calibration_weights = known_weights(
            np.asarray(calibration_weights), "calibration_weights", len(y)
        )
    if clf.cross_conformal is not None:
        check_cross_conformal(clf, requested, by, calibration_weights)
        _fit_crosswise(clf, X, y, alpha, requested, drawn, fit_params)
        return
    if only_calibrates(clf, requested):
        weights.refuse(clf.class_weight, fit_params)
        rows = drawn.one_each(clf.seed_)
        division = Division(rows[:0], rows[:0], rows)
    else:
        division = _divide(clf, labels.learn(y)[1], drawn, requested)
        division = weights.without_zeros(y, division, clf.class_weight, fit_params)
    places = _learn(clf, X, y, division, requested, (by, groups), drawn, fit_params, until)
    warn_of_long(X, text_columns(clf))
    clf.n_train_, clf.n_validation_ = len(division.train), len(division.validation)
    held = division.calibration
    if not only_calibrates(clf, requested):
        warn_of_unseen_classes(y[held], clf.classes_)
        held = held[places[held] >= 0]
    clf.n_unseen_ = len(division.calibration) - len(held)
    groups, calibration_weights = (
        None if values is None else values[held] for values in (groups, calibration_weights)
    )
    calibrate(clf, _safe_indexing(X, held), y[held], alpha, by, groups, calibration_weights)


def _fit_crosswise(
    clf: ConformalClassifier,
    X: Any,
    y: npt.NDArray[Any],
    alpha: float,
    requested: RequestedMembers,
    drawn: Order,
    fit_params: Mapping[str, Any],
) -> None:
    """Fit a stack without each fold of the rows, and calibrate on all of them."""
    assert clf.cross_conformal is not None
    rows = drawn.one_each(clf.seed_)
    clf.classes_, places = labels.learn_from(y, rows)
    clf.known_rows_ = KnownRows.of(drawn, rows)
    members = None if isinstance(requested, str) else requested
    fitted, true_scores = [], []
    for fold in equal_folds(rows, clf.cross_conformal):
        fold_only = Division(fold.train, rows[:0], rows[:0])
        train = weights.without_zeros(y, fold_only, clf.class_weight, fit_params).train
        training_rows = _member_rows(clf, X, y, places, train, members, fit_params)
        task = _task(clf, ALL, None, train, math.inf)
        fitted.append(_stacked(training_rows, task, members, None, clf.executor or HERE))
        answers = fitted[-1].stack.answers(_safe_indexing(X, fold.held), clf.score_)
        true_scores.append(answers.scores[np.arange(len(fold.held)), places[fold.held]])
    _keep(clf, fitted[0], training_rows)
    crossed = joined([each.stack for each in fitted], true_scores)
    clf.method_ = "cross-conformal"
    clf.tried_ = ()
    clf.dial_ = ()
    clf.why_ = "It was asked for: every row trains, and every row calibrates."
    kept = Candidate(clf.method_, f"{crossed.words}.", None, crossed, crossed.calibration)
    clf.candidates_ = (kept,)
    clf.fingerprint_ = None
    clf.n_train_, clf.n_validation_, clf.n_unseen_ = len(rows), 0, 0
    clf.n_calibration_ = sum(map(len, true_scores))
    serve(clf, alpha)


def _divide(
    clf: ConformalClassifier, places: labels.Labels, drawn: Order, requested: RequestedMembers
) -> Division:
    chooses = requested == ONE_NETWORK and isinstance(clf.method, str)
    return divide(
        places,
        drawn,
        alpha=clf.alpha,
        seed=clf.seed_,
        calibration=clf.calibration_size,
        validation=clf.validation_size if chooses else 0,
    )


def _learn(
    clf: ConformalClassifier,
    X: Any,
    y: npt.NDArray[Any],
    division: Division,
    requested: RequestedMembers,
    grouped: tuple[Grouping, Any],
    drawn: Order,
    fit_params: Mapping[str, Any],
    until: float,
) -> labels.Labels:
    """Learn from training rows; the place of each label among the classes, -1 if unknown."""
    learned = np.concatenate([division.train, division.validation])
    fitted_before = (
        []
        if isinstance(requested, str)
        else [member for member in requested if fitted_elsewhere(member)]
    )
    if fitted_before and len(fitted_before) == len(requested):
        weights.refuse(clf.class_weight, fit_params)
    if fitted_before:
        clf.classes_ = labels.named(fitted_before[0].classes)  # type: ignore[attr-defined]
        places = labels.places_or_none(y, clf.classes_)
    else:
        clf.classes_, places = labels.learn_from(y, learned)
    choosing.shape_weights(clf.shape, clf.classes_.tolist())  # refused before all else
    if not fitted_before:
        clf.known_rows_ = KnownRows.of(drawn, learned)
    if requested == ONE_NETWORK:
        heavier = _drawn_by_weight(clf, y, division, fit_params)
        _learn_network(clf, X, places, heavier, *grouped, until)
    else:
        rows = division.train[places[division.train] >= 0]
        members = None if isinstance(requested, str) else requested
        task = _task(clf, *grouped, rows, until)
        weighted = _member_rows(clf, X, y, places, rows, members, fit_params)
        in_order, executor = drawn.places[rows], clf.executor or HERE
        _keep(clf, _stacked(weighted, task, members, in_order, executor), weighted)
    return places


def _task(
    clf: ConformalClassifier, by: Grouping, groups: Any, rows: Rows, until: float
) -> StackTask:
    return StackTask(
        clf.classes_.tolist(),
        clf.alpha,
        clf.score_,
        clf.shape,
        clf.head,
        by,
        None if groups is None else groups[rows],
        clf.seed_,
        until,
        clf.progress,
    )


def _member_rows(
    clf: ConformalClassifier,
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
        raise TypeError(f"fit takes X, y, groups and sample_weight; got {next(iter(params))!r}.")
    return MemberRows(
        _safe_indexing(X, rows),
        places[rows],
        len(clf.classes_),
        clf.classes_,
        weights.of_training(y, rows, clf.class_weight, fit_params),
        params,
        named_texts(clf),
    )


def _keep(clf: ConformalClassifier, fitted: FittedStack, rows: MemberRows) -> None:
    """Keep a stack, those it is compared with, and how it came about."""
    description = described(fitted, len(rows.labels))
    clf.method_, clf.why_ = description.candidates[0].name, description.why
    clf.candidates_, clf.tried_ = description.candidates, description.tried
    clf.dial_, clf.left_out_ = description.dial, tuple(fitted.left_out)
    reader = fitted.stack.reader
    clf.fingerprint_ = fingerprint(rows, fitted.stack)
    columns = reader.columns if isinstance(reader, Encoded) else reader
    if isinstance(columns, FrameColumns):
        name_features(clf, columns.frame.names)
    classifier = getattr(fitted.stack.members[0].models[0], "classifier", None)
    for name in ("n_features_in_", "feature_names_in_"):
        if isinstance(reader, AsGiven) and hasattr(classifier, name):
            setattr(clf, name, getattr(classifier, name))


def _learn_network(
    clf: ConformalClassifier,
    X: Any,
    places: labels.Labels,
    division: Division,
    by: Grouping,
    groups: Any,
    until: float,
) -> None:
    """Train single networks and keep the best of each kind."""
    try:
        from conftr.classifier.learn import learn  # which brings JAX
    except ModuleNotFoundError as missing:
        raise _needs_jax(missing) from missing

    learned = learn(clf, X, places, division, by=by, groups=groups, until=until)
    clf.candidates_, clf.tried_, clf.why_ = learned.candidates, learned.tried, learned.why
    clf.method_, clf.model_ = learned.recipe.family, learned.model
    clf.batch_size_, clf.epochs_ = learned.batch_size, learned.recipe.epochs
    clf.learning_rate_ = learned.recipe.learning_rate
    clf.fingerprint_, clf.tuning_ = learned.fingerprint, learned.tuning
    clf.dial_, clf.left_out_ = (), ()


def _drawn_by_weight(
    clf: ConformalClassifier, y: npt.NDArray[Any], division: Division, fit_params: Mapping[str, Any]
) -> Division:
    """The rows that train a network, drawn in proportion to their weights if there are any."""
    for name in fit_params:
        if name != "sample_weight":
            raise TypeError(f"fit takes X, y, groups and sample_weight; got {name!r}.")
    known = weights.of_training(y, division.train, clf.class_weight, fit_params)
    if known is None:
        return division
    if clf.tune is not None:
        raise ValueError(
            "tune must be None where rows or classes have weights: settings are compared on "
            "training rows that are held out, and a row that is drawn twice would be on both "
            "sides."
        )
    return division._replace(train=drawing.drawn(division.train, known, clf.seed_))


def calibrate(
    clf: ConformalClassifier,
    X: Any,
    y: npt.NDArray[Any],
    alpha: float,
    by: Grouping,
    groups: Any,
    calibration_weights: Any,
) -> None:
    """Score rows that no member or head has seen, by every model kept, and make sets at alpha.

    Args:
        clf: whose models are calibrated; thresholds of an earlier calibration are replaced.
        X: rows.
        y: their classes.
        alpha: what sets are made for.
        by: what has a threshold of its own: all rows, each class or each group.
        groups: the group of each row, or None.
        calibration_weights: weights of rows in calibration; None for none.
    """
    places, names = labels.places(y, clf.classes_), clf.classes_.tolist()
    turned = getattr(clf, "dial_", ())
    models = [*clf.candidates_, *turned]
    stacks = [model.stack for model in models]
    logits = logits_of(stacks, X, clf.progress, "calibration rows")
    known = [
        calibrated(
            clf.score_(of_model),
            places,
            classes=names,
            by=by,
            groups=groups,
            weights=calibration_weights,
        )
        for of_model in logits
    ]
    renewed = [
        replace(model, calibration=calibration)
        for model, calibration in zip(models, known, strict=True)
    ]
    count = len(clf.candidates_)
    clf.candidates_, clf.dial_ = tuple(renewed[:count]), tuple(renewed[count:])
    clf.n_calibration_ = len(places)
    serve(clf, alpha)


def serve(clf: ConformalClassifier, alpha: float) -> None:
    """Make sets at this alpha from now on: calibration scores serve any."""
    clf.alpha_ = checks.one_probability(alpha, "alpha")
    clf.thresholds_ = clf.calibration_.thresholds(clf.alpha_)
    clf.calibration_.warn(clf.alpha_)


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
