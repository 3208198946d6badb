"""Test a fitted classifier: its answers on test rows, gathered as `Evidence`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from conftr.classifier import labels
from conftr.classifier.cross_conformal import CrossStack, answers_of
from conftr.classifier.estimator import ConformalClassifier, probabilities
from conftr.classifier.estimator_rows import checked
from conftr.classifier.estimator_settings import score_name
from conftr.classifier.evidence import (
    Evidence,
    Integers,
    PricePoint,
    ShownCandidate,
    UnseenRows,
)
from conftr.classifier.wish_weights import DialPoint, has_sides, mixed, unwanted
from conftr.conformal.shaping import Shape
from conftr.conformal.shown_names import shown as shown_name


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

    Examples of classes that were not learned are counted, as every set misses them; what is
    answered on them is kept apart.

    Args:
        groups: As in `predict_set`.
        cells: As in `Evidence`.
        pictures: As in `Evidence`.
        provenance: As in `Evidence`.
    """
    check_is_fitted(clf)
    X, y = checked(clf, X_test, y_test, reset=False)
    known = labels.known_rows(y, clf.classes_)
    unseen, tested = len(y) - len(known), len(y)
    calibration, shape, names = clf.calibration_, clf.shape, clf.classes_.tolist()
    group_names, sizes = [str(name) for name in calibration.names], list(calibration.sizes)
    places = calibration.places(groups, len(y))
    if places is not None and (places < 0).any():
        # What calibration did not see is a group of no examples: its sets hold every class.
        group_names, sizes = [*group_names, "not calibrated"], [*sizes, 0]
        places = np.where(places < 0, len(sizes) - 1, places)
    unseen_rows = _unseen_rows(clf, X, places, np.setdiff1d(np.arange(tested), known))
    X, y, places = _safe_indexing(X, known), y[known], None if places is None else places[known]
    unseen_before = getattr(clf, "n_unseen_", 0)

    turned, chosen = getattr(clf, "dial_", ()), clf.candidates_[0].stack
    count, models = len(clf.candidates_), [*clf.candidates_, *turned]
    stacks = [model.stack for model in models]
    answers = answers_of(stacks, X, clf.score_, clf.progress, "test rows")
    standings = [
        model.calibration.standing(answer.scores, places)
        for model, answer in zip(models, answers, strict=True)
    ]
    shown = tuple(
        ShownCandidate(candidate.name, candidate.words, standing, probabilities(answer.logits))
        for candidate, standing, answer in zip(clf.candidates_, standings, answers, strict=False)
    )
    evidence = Evidence(
        classes=tuple(str(name) for name in names),
        alpha=float(clf.alpha_),
        score=score_name(clf.score_),
        labels=labels.places(y, clf.classes_),
        candidates=shown,
        groups=places,
        group_names=tuple(group_names),
        calibration_sizes=tuple(sizes),
        group_by=calibration.by.column,
        wishes=() if shape is None else _wishes(shape, turned),
        unwanted=unwanted(shape, names) if shape is not None and has_sides(shape) else None,
        shrink=None if shape is None else shape.class_weights(names),
        unseen=unseen,
        unseen_rows=unseen_rows,
        unseen_share=(unseen + unseen_before) / (tested + clf.n_calibration_ + unseen_before),
        pictures=None if pictures is None else pictures[known],
        cells=None if cells is None else [cells[row] for row in known],
        provenance=dict(provenance or {}),
        cross_folds=len(chosen.folds) if isinstance(chosen, CrossStack) else 0,
    )
    return replace(evidence, price=_price(evidence, turned, standings[count:]))


def _unseen_rows(
    clf: ConformalClassifier, X: Any, places: Integers | None, rows: Integers
) -> UnseenRows | None:
    """What the chosen candidate answers on rows of classes that were not learned, if there are."""
    if not len(rows):
        return None
    groups = None if places is None else places[rows]
    stacks = [clf.candidates_[0].stack]
    answer = answers_of(stacks, _safe_indexing(X, rows), clf.score_)[0]
    standing = clf.calibration_.standing(answer.scores, groups)
    return UnseenRows(standing, probabilities(answer.logits).max(axis=1), groups)


def _price(
    evidence: Evidence, turned: Sequence[DialPoint], standings: Sequence[Integers]
) -> tuple[PricePoint, ...]:
    """What each weight of the wishes gives on the test examples."""
    if evidence.unwanted is None:
        return ()
    points = []
    for turned_point, standing in zip(turned, standings, strict=True):
        sets = evidence.sets_at(standing, evidence.alpha)
        share, size = mixed(sets, evidence.labels, evidence.unwanted), sets.sum(axis=1).mean()
        points.append(
            PricePoint(turned_point.point.weight, share, float(size), turned_point.chosen)
        )
    return tuple(points)


def _wishes(shape: Shape, turned: Sequence[DialPoint]) -> tuple[str, ...]:
    """Each wish in words, with its weight; one that was found is that of the chosen point."""
    shrink = [
        f"shrink {shown_name(repr(name))} (weight {weight:g})"
        for name, weight in shape.shrink.items()
    ]
    chosen_weight = next((point.point.weight for point in turned if point.chosen), 1.0)
    # `Shape` has written every wish out as `Avoid` or `Separate`.
    others: Any = (*shape.avoid, *shape.separate)
    return (
        *shrink,
        *(
            f"{wish} (weight {chosen_weight if wish.weight is None else wish.weight:g})"
            for wish in others
        ),
    )
