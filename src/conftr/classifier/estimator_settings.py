"""What the settings of a classifier ask for, refused in words where they contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from conftr.classifier.calibration import ALL, Grouping
from conftr.classifier.choosing_head import HEADS
from conftr.classifier.choosing_members import (
    ONE_NETWORK,
    RequestedMembers,
    fitted_elsewhere,
    requested_members,
)
from conftr.conformal import checks
from conftr.conformal.arrays import host, namespace
from conftr.conformal.scores import SCORES
from conftr.members.elsewhere import Logits, Probabilities
from conftr.members.scikit import Scikit

if TYPE_CHECKING:
    from conftr.classifier.estimator import ConformalClassifier

# What settings are called elsewhere.
MEANT = {
    "base_estimator": "members",
    "classifier": "members",
    "class_weights": "class_weight",
    "confidence": "alpha, one minus it",
    "confidence_level": "alpha, one minus it",
    "conformity": "score",
    "conformity_score": "score",
    "estimator": "members",
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

# Settings of a single network, and what they are where nothing is asked for.
_OF_A_NETWORK = {
    "method": "auto",
    "model": None,
    "epochs": None,
    "batch_size": None,
    "learning_rate": None,
    "tune": None,
    "validation_size": None,
}


class MethodAndSetting:
    """A method whose name is also that of a setting: reading gives the method, writing the setting.

    The setting is kept among the attributes of the instance, where `get_params` finds it.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        """Take the name of a method."""
        self.method = method

    def __get__(self, instance: Any, owner: type) -> Any:
        """The method."""
        return self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        """Keep the setting."""
        instance.__dict__[self.method.__name__] = value


def requested_by(clf: ConformalClassifier) -> RequestedMembers:
    """The members that are asked for; settings of a single network ask for one."""
    if clf.head not in HEADS:
        raise ValueError(f"head must be one of {', '.join(HEADS)}; got {clf.head!r}.")
    members = requested_members(clf.members)
    changed = [name for name, usual in _OF_A_NETWORK.items() if not _is(getattr(clf, name), usual)]
    if changed and not isinstance(members, str):
        raise ValueError(
            f"{changed[0]} is a setting of a single network, and members are given: leave one "
            f"of them out. got {changed[0]}={getattr(clf, changed[0])!r}."
        )
    if clf.tune is not None:
        checks.number(clf.tune, "tune", at_least=2)  # the first is what others are around
        if not isinstance(clf.tune, int | np.integer):
            raise ValueError(f"tune must be a whole number of settings; got {clf.tune!r}.")
    return ONE_NETWORK if changed else members


def only_calibrates(clf: ConformalClassifier, members: RequestedMembers) -> bool:
    """Whether nothing has to be trained: one model from elsewhere, and no wish."""
    if isinstance(members, str):
        return False
    return len(members) == 1 and fitted_elsewhere(members[0]) and clf.shape is None


def of_outputs(members: RequestedMembers) -> bool:
    """Whether rows are outputs of another system."""
    return not isinstance(members, str) and isinstance(members[0], Probabilities | Logits)


def knows_best(members: RequestedMembers) -> bool:
    """Whether rows go to the user's own classifiers alone, which know what they take."""
    return not isinstance(members, str) and all(
        isinstance(member, Scikit) or fitted_elsewhere(member) for member in members
    )


def check_cross_conformal(
    clf: ConformalClassifier, members: RequestedMembers, by: Grouping, calibration_weights: Any
) -> None:
    """Refuse, in words, what cross-conformal prediction has no promise for."""
    checks.number(clf.cross_conformal, "cross_conformal", at_least=2)
    if not isinstance(clf.cross_conformal, int | np.integer):
        raise ValueError(
            f"cross_conformal must be a whole number of folds; got {clf.cross_conformal!r}."
        )
    given = {
        "groups": by != ALL,
        "calibration_weights": calibration_weights is not None,
        "calibration_size": clf.calibration_size is not None,
        "shape": clf.shape is not None,
        "time_limit": clf.time_limit is not None,
        "settings of a single network": members == ONE_NETWORK,
    }
    refused = [name for name, is_given in given.items() if is_given]
    if refused:
        raise ValueError(
            f"{refused[0]} cannot be given with cross_conformal, where every row trains and "
            f"calibrates classifiers of one kind: leave one of them out."
        )
    if not isinstance(members, str) and any(fitted_elsewhere(member) for member in members):
        raise ValueError(
            "cross_conformal fits members without each fold, and these are fitted already: "
            "leave it out, and all rows calibrate."
        )


@dataclass(frozen=True, eq=False)
class UserScore:
    """A conformity score of the user's, whose answers are checked each time it is asked.

    A nan would sort above all calibration scores and be in no set: sets would miss the truth more
    often than alpha, in silence. Thresholds lie a little below whole numbers, and are numbers with
    a fraction.

    Attributes:
        function: Logits (n, K) in, scores (n, K) out.
    """

    function: Callable[[Any], Any]

    def __call__(self, logits: Any) -> npt.NDArray[np.floating[Any]]:
        """Scores (n, K) as floating point numbers without nan."""
        given, name = self.function(logits), f"scores of {score_name(self)}"
        namespace(**{name: given})  # refuses what is no array
        scores = host(given)
        if scores.dtype.kind in "iub":
            scores = scores.astype(np.float64)
        checks.of_shape(scores, logits.shape, name, "one for each logit")
        known: npt.NDArray[np.floating[Any]] = checks.scores_array(scores, name)
        return known


def score_of(score: Any) -> Callable[[Any], Any]:
    """The conformity score that is meant: one of conftr's own, or a function of the user's."""
    if callable(score):
        known: Callable[[Any], Any] = score
        return known if any(known is own for own in SCORES.values()) else UserScore(known)
    if score not in SCORES:
        raise ValueError(
            f"score must be one of {', '.join(SCORES)} or a function of logits; got {score!r}."
        )
    return SCORES[score]


def score_name(score: Callable[[Any], Any]) -> str:
    """The name of a conformity score."""
    for name, own in SCORES.items():
        if score is own:
            return name
    function = score.function if isinstance(score, UserScore) else score
    return str(getattr(function, "__name__", function))


def _is(value: Any, usual: Any) -> bool:
    """Whether a setting is as usual; a value of any kind may be compared."""
    return value is usual or (isinstance(value, str) and value == usual)
