"""A calibrated classifier and its evidence as files of JSON, safetensors and CSV, and back.

Nothing is pickled: what is code of the user's own is refused in words, and so is anything that
does not fit when it is read.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from conftr.classifier.calibration import (
    TABLED_ALPHAS,
    Calibration,
    Grouping,
    WeightedCalibration,
)
from conftr.classifier.choosing import Candidate, Tried
from conftr.classifier.choosing_head import HEADS
from conftr.classifier.cross_conformal import load as load_stack
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.estimator_settings import score_name
from conftr.classifier.evidence import Evidence, PricePoint, ShownCandidate, UnseenRows
from conftr.classifier.repeats import KnownRows
from conftr.classifier.stack import Stack
from conftr.conformal import metrics
from conftr.conformal.scores import SCORES
from conftr.conformal.shaping import Avoid, Separate, Shape
from conftr.conformal.weighted import known_weights
from conftr.data.spreadsheets import cell
from conftr.members.elsewhere import Logits, OutputColumns, Probabilities
from conftr.members.member import MemberError
from conftr.members.pytorch import Build, TorchMember, TorchNetwork, UnknownNetworkError

Json: TypeAlias = Any
Files: TypeAlias = dict[str, bytes]
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

_SETTINGS = "settings.json"
CALIBRATION, THRESHOLDS = "calibration.safetensors", "thresholds.csv"
SHOWN, SHOWN_ARRAYS = "evidence.json", "evidence.safetensors"
_KNOWN = "known_rows.safetensors"

# What `fit` leaves behind that is plain data.
_FITTED = (
    "alpha_",
    "seed_",
    "method_",
    "why_",
    "n_train_",
    "n_validation_",
    "n_calibration_",
    "n_features_in_",
    "batch_size_",
    "epochs_",
    "learning_rate_",
    "tuning_",
    "fingerprint_",
)
_NAMES = re.compile(
    r"(settings|evidence)\.json|(calibration|evidence|known_rows|folds)\.safetensors|"
    r"thresholds\.csv|"
    r"(fold-\d+-)?(stack\.json|head\.safetensors|member-\d+-\d+-\w+\.(json|safetensors|txt))"
)
_EVIDENCE_ARRAYS = ("labels", "groups", "unwanted", "shrink", "pictures")
_UNSEEN = "unseen_"  # in front of the names of `UnseenRows`


class ArtefactError(ValueError):
    """A classifier that cannot be saved, or a folder that cannot be read, and what to do."""


def pack(clf: ConformalClassifier, evidence: Evidence | None) -> Files:
    """A classifier, and what it showed on test examples, as files by name."""
    _refuse_others(clf)
    try:
        files = clf.candidates_[0].stack.files()
    except MemberError as fault:
        raise ArtefactError(str(fault)) from None
    files |= {
        _SETTINGS: json_bytes(_settings(clf, evidence)),
        CALIBRATION: _calibration_bytes(clf.calibration_),
        THRESHOLDS: _thresholds(clf),
    }
    if hasattr(clf, "known_rows_"):
        known = clf.known_rows_
        files[_KNOWN] = _tensors({"digests": known.digests, "whole": np.array([known.whole])})
    return files | ({} if evidence is None else _pack_evidence(evidence))


def _refuse_others(clf: object) -> None:
    """Raise, saying what can be saved, unless this is a classifier of ours that is fitted."""
    if not isinstance(clf, ConformalClassifier):
        raise ArtefactError(
            f"conftr saves a fitted conftr.ConformalClassifier; got {_kind(clf)}. Keep a model of "
            f"your own in its library's way, and save its calibration: fit ConformalClassifier("
            f"members=conftr.members.Probabilities(classes)) on its probabilities, and save "
            f"that."
        )
    if not hasattr(clf, "candidates_"):
        raise ArtefactError("this ConformalClassifier is not fitted yet: call fit before saving.")


def _kind(value: object) -> str:
    """The type of a value, with the package that it comes from."""
    if isinstance(value, type):
        return f"the class {value.__qualname__} itself"
    kind = type(value)
    package = kind.__module__.split(".")[0]
    return (
        kind.__qualname__
        if package in ("builtins", "__main__")
        else f"{package}'s {kind.__qualname__}"
    )


def unpack(files: Files, build: Build | None = None) -> ConformalClassifier:
    """The classifier that was packed into these files.

    Args:
        build: Makes the network of PyTorch that is among its members, if one is.
    """
    settings = json.loads(files[_SETTINGS])
    clf = ConformalClassifier(**_parameters(settings["parameters"]))
    if clf.head not in HEADS:
        raise ArtefactError(
            f"{_SETTINGS} must name as head one of {', '.join(HEADS)}; it has {clf.head!r:.100}."
        )
    for name in _FITTED:
        if name in settings["fitted"]:
            setattr(clf, name, settings["fitted"][name])
    clf.classes_ = np.array(settings["classes"]["values"], np.dtype(settings["classes"]["type"]))
    clf.score_ = SCORES[settings["parameters"]["score"]]
    clf.tried_ = tuple(Tried(*tried) for tried in settings["tried"])
    if settings["feature_names"] is not None:
        clf.feature_names_in_ = np.array(settings["feature_names"], object)
    if _KNOWN in files:
        known = safetensors.numpy.load(files[_KNOWN])
        clf.known_rows_ = KnownRows(known["digests"], bool(known["whole"][0]))
    by = Grouping(settings["calibration"]["kind"], settings["calibration"]["column"])
    names, classes = settings["calibration"]["names"], clf.classes_.tolist()
    calibration = _calibration(by, names, files[CALIBRATION], len(classes))
    try:
        stack = load_stack(files, len(classes), build)
    except UnknownNetworkError as fault:
        raise ArtefactError(str(fault)) from None
    if stack.of_outputs:
        clf.members = _outputs(stack)(classes)
    models = [model for member in stack.members for model in member.models]
    networks = [model for model in models if isinstance(model, TorchNetwork)]
    if len(networks) == len(models):
        clf.members = [TorchMember(network.net, classes, build) for network in networks]
    name, words, inefficiency = settings["chosen"]
    clf.candidates_ = (Candidate(name, words, inefficiency, stack, calibration),)
    clf.thresholds_ = calibration.thresholds(clf.alpha_)
    return clf


def _outputs(stack: Stack) -> type[Probabilities] | type[Logits]:
    (model,) = stack.members[0].models
    assert isinstance(model, OutputColumns)
    return Probabilities if model.are_probabilities else Logits


def is_name(name: str) -> bool:
    """Whether a file of a saved classifier may be called so."""
    return _NAMES.fullmatch(name) is not None


def unpack_evidence(files: Files) -> Evidence | None:
    """The evidence that was packed into these files, if any."""
    if SHOWN not in files:
        return None
    data, arrays = json.loads(files[SHOWN]), safetensors.numpy.load(files[SHOWN_ARRAYS])
    shown = tuple(
        ShownCandidate(name, words, arrays[f"standing_{i}"], arrays[f"probabilities_{i}"])
        for i, (name, words) in enumerate(data.pop("candidates"))
    )
    for name in ("classes", "group_names", "calibration_sizes", "wishes"):
        data[name] = tuple(data[name])
    data["price"] = tuple(PricePoint(*point) for point in data["price"])
    known: dict[str, Any] = {name: arrays.get(name) for name in _EVIDENCE_ARRAYS}
    return Evidence(**data, **known, candidates=shown, unseen_rows=_unseen_rows(arrays))


def _unseen_rows(arrays: Arrays) -> UnseenRows | None:
    """Answers on rows of classes that were not learned; earlier versions did not keep them."""
    if _UNSEEN + "standing" not in arrays:
        return None
    rows: dict[str, Any] = {name: arrays.get(_UNSEEN + name) for name in UnseenRows._fields}
    return UnseenRows(**rows)


def json_bytes(data: Json) -> bytes:
    """JSON to read and to compare, a line for each entry."""
    try:
        return (json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()
    except TypeError as fault:
        raise ArtefactError(
            f"classes, groups and provenance must be text, numbers or true and false to be saved: "
            f"{fault}."
        ) from None


def _settings(clf: ConformalClassifier, evidence: Evidence | None) -> Json:
    chosen, calibration = clf.candidates_[0], clf.calibration_
    names = getattr(clf, "feature_names_in_", None)
    return {
        "classes": {"type": clf.classes_.dtype.str, "values": _plain(clf.classes_.tolist())},
        "parameters": _plain_parameters(clf),
        "fitted": {name: _plain(getattr(clf, name)) for name in _FITTED if hasattr(clf, name)},
        "chosen": [chosen.name, chosen.words, chosen.inefficiency],
        "tried": [list(tried) for tried in clf.tried_],
        "metrics": None if evidence is None else _metrics(evidence),
        "calibration": {**asdict(calibration.by), "names": _plain(list(calibration.names))},
        "feature_names": None if names is None else names.tolist(),
    }


def _metrics(evidence: Evidence) -> Json:
    sets = evidence.sets()
    return {
        "test_examples": len(evidence.labels),
        "alpha": evidence.alpha,
        "coverage": metrics.coverage(sets, evidence.labels),
        "inefficiency": metrics.inefficiency(sets),
    }


def _plain_parameters(clf: ConformalClassifier) -> Json:
    """The settings that were given; code among them as text, for the reader."""
    name = score_name(clf.score_)
    if SCORES.get(name) is not clf.score_:
        raise ArtefactError(
            f"score must be one of {', '.join(SCORES)} to be saved; {name} is code of yours."
        )
    given = clf.get_params(deep=False)
    given |= {
        "score": name,
        "members": "auto",
        "class_weight": None,
        "progress": None,
        "executor": None,
    }
    given["method"] = str(given["method"])
    given["model"] = None  # what came of it is in the stack
    if not isinstance(given["random_state"], int | np.integer):
        given["random_state"] = None
    shape = given["shape"]
    if shape is not None:
        given["shape"] = {
            "shrink": list(shape.shrink.items()),
            "avoid": [asdict(wish) for wish in shape.avoid],
            "separate": [asdict(wish) for wish in shape.separate],
        }
    plain: Json = _plain(given)
    return plain


def _parameters(parameters: Json) -> Json:
    shape = parameters["shape"]
    if shape is None:
        return parameters
    wishes = Shape(
        shrink=dict(shape["shrink"]),
        avoid=[Avoid(**wish) for wish in shape["avoid"]],
        separate=[Separate(**wish) for wish in shape["separate"]],
    )
    return parameters | {"shape": wishes}


def _plain(value: Any) -> Json:
    """Replace NumPy's numbers and texts by Python's, at any depth."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.floating):
        return float(str(value))  # float32(0.01) is one hundredth, here as in `checks`
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, str) else value


def _calibration_bytes(calibration: Calibration) -> bytes:
    arrays = {
        "scores": np.concatenate(calibration.scores),
        "sizes": np.array(calibration.sizes, np.int64),
    }
    if isinstance(calibration, WeightedCalibration):
        arrays["weights"] = np.concatenate(calibration.weights)
    return _tensors(arrays)


def _calibration(by: Grouping, group_names: Json, content: bytes, classes: int) -> Calibration:
    """The scores by group, refused in words where thresholds of them would mean nothing."""
    arrays = safetensors.numpy.load(content)
    scores, sizes, names = arrays["scores"], arrays["sizes"], tuple(group_names)
    if scores.ndim != 1 or scores.dtype.kind != "f" or np.isnan(scores).any():
        raise ArtefactError(f"{CALIBRATION} must hold a list of numbers as scores; some are none.")
    groups = {"all": 1, "class": classes}.get(by.kind, len(names))
    if not len(set(names)) == len(names) == groups:
        raise ArtefactError(f"{_SETTINGS} must name each group of {CALIBRATION} once: {names}.")
    if sizes.shape != (len(names),) or (sizes < 0).any() or sizes.sum() != len(scores):
        raise ArtefactError(
            f"{CALIBRATION} must hold the scores of {len(names)} groups; it has {len(scores)} "
            f"scores and says that groups have {sizes.tolist()}."
        )
    by_name = np.split(scores, np.cumsum(sizes)[:-1])
    if any((scores_of[1:] < scores_of[:-1]).any() for scores_of in by_name):
        raise ArtefactError(f"{CALIBRATION} must hold the scores of each group in rising order.")
    if "weights" not in arrays:
        return Calibration(by, names, tuple(by_name))
    weights = known_weights(arrays["weights"], f"weights of {CALIBRATION}", len(scores))
    by_group = np.split(weights, np.cumsum(sizes)[:-1])
    return WeightedCalibration(by, names, tuple(by_name), tuple(by_group))


def _thresholds(clf: ConformalClassifier) -> bytes:
    """A line for each alpha and group, for people to read."""
    calibration, text = clf.calibration_, io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    by = calibration.by
    heading = cell(by.column or by.kind)
    writer.writerow(["alpha", heading, "calibration_examples", "threshold"])
    for alpha in sorted({*TABLED_ALPHAS, float(clf.alpha_)}):
        taus = calibration.thresholds(alpha).tolist()
        names = [cell(str(name)) for name in calibration.names]
        for row in zip(names, calibration.sizes, taus, strict=True):
            writer.writerow([f"{alpha:g}", *row])
    return text.getvalue().encode()


def _pack_evidence(evidence: Evidence) -> Files:
    arrays = {name: getattr(evidence, name) for name in _EVIDENCE_ARRAYS}
    if evidence.unseen_rows is not None:
        arrays |= {_UNSEEN + name: a for name, a in evidence.unseen_rows._asdict().items()}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    for i, candidate in enumerate(evidence.candidates):
        arrays |= {
            f"standing_{i}": candidate.standing,
            f"probabilities_{i}": candidate.probabilities,
        }
    data = {
        field.name: getattr(evidence, field.name)
        for field in fields(Evidence)
        if field.name not in (*_EVIDENCE_ARRAYS, "unseen_rows")
    }
    data["candidates"] = [[candidate.name, candidate.words] for candidate in evidence.candidates]
    data["cells"] = None if evidence.cells is None else [dict(row) for row in evidence.cells]
    data["provenance"] = dict(evidence.provenance)
    return {SHOWN: json_bytes(_plain(data)), SHOWN_ARRAYS: _tensors(arrays)}


def _tensors(arrays: Arrays) -> bytes:
    return safetensors.numpy.save({name: np.ascontiguousarray(a) for name, a in arrays.items()})
