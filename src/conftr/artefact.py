"""A calibrated classifier as a folder that can be copied and audited; nothing in it is executed.

    DIR/manifest.json               format, identity, and the SHA-256 of every file below
    DIR/model-IDENTITY/
        settings.json               classes, encoding, model, settings, choices, versions, metrics
        weights.safetensors         the network's parameters
        calibration.safetensors     true-class scores of the calibration examples, sorted by group
        thresholds.csv              thresholds for many alphas, to read
        evidence.json, .safetensors what it showed on test examples, if given

Writing the manifest is the last step and takes effect at once: a save that is killed leaves what
was there before.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from conftr import features
from conftr.calibration import Calibration
from conftr.choosing import Candidate
from conftr.estimator import SCORES, ConformalClassifier, score_name
from conftr.evidence import Candidate as Shown
from conftr.evidence import Evidence
from conftr.outside import Logits, Probabilities, Wrapped
from conftr.shaping import Avoid, Separate, Shape

FORMAT = 1

Json: TypeAlias = Any
Files: TypeAlias = dict[str, bytes]
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

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
)
_ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


class ArtefactError(ValueError):
    """An artefact that cannot be written or read; the message says what to do."""


def save(clf: ConformalClassifier, path: Path | str, *, evidence: Evidence | None = None) -> Path:
    """Write a fitted classifier into the folder `path`; an artefact that is there is replaced."""
    path = Path(path)
    files = _files(clf, evidence)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    identity = _identity(hashes)
    path.mkdir(parents=True, exist_ok=True)
    manifest = {"format": FORMAT, "identity": identity, "files": hashes}
    place = path / f"model-{identity}"
    beside = path / f".{uuid.uuid4().hex}"
    beside.mkdir()
    for name, content in files.items():
        _write(beside / name, content)
    if place.exists():
        shutil.rmtree(place)
    beside.rename(place)
    _write(path / ".manifest.json", _text(manifest))
    (path / ".manifest.json").replace(path / "manifest.json")
    for old in path.glob("model-*"):
        if old != place:
            shutil.rmtree(old)
    return path


def load(path: Path | str) -> ConformalClassifier:
    """The classifier that was saved in this folder; it predicts the same to the last bit."""
    files = _read(Path(path))
    settings = json.loads(files["settings.json"])
    clf = ConformalClassifier(**_parameters(settings["parameters"]))
    for name, value in settings["fitted"].items():
        setattr(clf, name, value)
    clf.classes_ = np.array(settings["classes"]["values"], settings["classes"]["dtype"])
    clf.score_ = SCORES[settings["score"]]
    if settings["feature_names"] is not None:
        clf.feature_names_in_ = np.array(settings["feature_names"], object)
    chosen = settings["chosen"]
    source = _source(settings, files, clf.classes_)
    if isinstance(source, Probabilities | Logits):
        clf.classifier = source
    else:
        clf.model_ = source.model
    calibration = _calibration(settings["calibration"], files)
    clf.candidates_ = (Candidate(**chosen, source=source, calibration=calibration),)
    clf.thresholds_ = calibration.thresholds(clf.alpha_)
    return clf


def evidence(path: Path | str) -> Evidence | None:
    """What the classifier in this folder showed on test examples, if that was saved with it."""
    files = _read(Path(path))
    if "evidence.json" not in files:
        return None
    told = json.loads(files["evidence.json"])
    arrays = safetensors.numpy.load(files["evidence.safetensors"])
    shown = tuple(
        Shown(one["name"], one["words"], arrays[f"standing_{i}"], arrays[f"probabilities_{i}"])
        for i, one in enumerate(told.pop("candidates"))
    )
    names = {field.name for field in fields(Evidence)}
    lists = {name: tuple(value) for name, value in told.items() if isinstance(value, list)}
    cells = {"cells": told["cells"]}
    parts = {name: array for name, array in arrays.items() if name in names}
    missing = {name: None for name in _ARRAYS if name not in parts}
    return Evidence(**{**told, **lists, **cells, **parts, **missing, "candidates": shown})


_ARRAYS = ("labels", "groups", "unwanted", "shrink", "pictures")


def _files(clf: ConformalClassifier, shown: Evidence | None) -> Files:
    calibration = clf.calibration_
    sizes, scores = calibration.sizes, np.concatenate(calibration.scores)
    files = {
        "calibration.safetensors": safetensors.numpy.save(
            {"scores": scores, "sizes": np.array(sizes, np.int64)}
        ),
        "thresholds.csv": _thresholds(clf),
    }
    source = clf.candidates_[0].source
    if isinstance(source, Wrapped):
        raise ArtefactError(
            f"A {clf.method_} of scikit-learn cannot be saved here: that would take pickle, which "
            f"runs whatever a file says. Keep it in your own way, save only its calibration with "
            f"ConformalClassifier(classifier=conftr.outside.Probabilities(classes)), and give "
            f"that its predict_proba."
        )
    if not isinstance(source, Probabilities | Logits):
        files["weights.safetensors"] = safetensors.numpy.save(_weights(source.fitted))
    if shown is not None:
        files |= _evidence_files(shown)
    files["settings.json"] = _text(_settings(clf, shown))
    return files


def _settings(clf: ConformalClassifier, shown: Evidence | None) -> Json:
    chosen, calibration = clf.candidates_[0], clf.calibration_
    names = getattr(clf, "feature_names_in_", None)
    return {
        "classes": {"dtype": clf.classes_.dtype.str, "values": clf.classes_.tolist()},
        "score": _known_score(clf.score_),
        "parameters": _plain_parameters(clf),
        "fitted": {name: _plain(getattr(clf, name)) for name in _FITTED if hasattr(clf, name)},
        "feature_names": None if names is None else names.tolist(),
        "chosen": {
            "name": chosen.name,
            "words": chosen.words,
            "inefficiency": chosen.inefficiency,
        },
        "calibration": {"by": calibration.by, "names": list(calibration.names)},
        "model": _model_json(chosen.source),
        "encoding": None
        if isinstance(chosen.source, Probabilities | Logits)
        else chosen.source.encoding.to_json(),
        "metrics": None if shown is None else _metrics(shown),
        "made": {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {name: version(name) for name in ("conftr", "jax", "numpy", "scikit-learn")}
            | {"python": platform.python_version()},
        },
    }


def _metrics(shown: Evidence) -> Json:
    from conftr import metrics

    sets = shown.sets()
    return {
        "test_examples": len(shown.labels),
        "coverage": metrics.coverage(sets, shown.labels),
        "inefficiency": metrics.inefficiency(sets),
    }


def _known_score(score: Any) -> str:
    name = score_name(score)
    if name not in SCORES:
        raise ArtefactError(
            f"conformity must be one of {', '.join(SCORES)} to be saved; got {score!r}, which is "
            f"code of yours."
        )
    return name


def _plain_parameters(clf: ConformalClassifier) -> Json:
    found = clf.get_params(deep=False)
    found |= {"conformity": _known_score(clf.score_), "classifier": None, "progress": None}
    shape = found["shape"]
    if shape is not None:
        found["shape"] = {
            "shrink": list(shape.shrink.items()),
            "avoid": [asdict(wish) for wish in shape.avoid],
            "separate": [asdict(wish) for wish in shape.separate],
        }
    for name in ("method", "model", "random_state"):
        value = found[name]
        if not (value is None or isinstance(value, str | int)):
            found[name] = list(value) if isinstance(value, tuple) else repr(value)
    return {name: _plain(value) for name, value in found.items()}


def _parameters(told: Json) -> Json:
    shape = told["shape"]
    if shape is not None:
        told["shape"] = Shape(
            shrink=dict(shape["shrink"]),
            avoid=[Avoid(**wish) for wish in shape["avoid"]],
            separate=[Separate(**wish) for wish in shape["separate"]],
        )
    return told


def _plain(value: Any) -> Json:
    return value.item() if isinstance(value, np.generic) else value


def _model_json(source: Any) -> Json:
    from conftr.models import MLP, ConvNet

    if isinstance(source, Probabilities | Logits):
        return {"kind": type(source).__name__}
    if not isinstance(source.model, MLP | ConvNet):
        raise ArtefactError(
            f"model must be a conftr.models.MLP or ConvNet to be saved; got "
            f"{type(source.model).__name__}, which is code of yours."
        )
    return {"kind": type(source.model).__name__} | asdict(source.model)


def _weights(fitted: Any) -> Arrays:
    from conftr.epochs import named_leaves

    named, _ = named_leaves({"params": fitted.params, "state": fitted.state})
    return {name: np.ascontiguousarray(leaf) for name, leaf in named.items()}


def _source(settings: Json, files: Files, classes: Any) -> Any:
    told = dict(settings["model"])
    kind = told.pop("kind")
    if kind in ("Probabilities", "Logits"):
        return {"Probabilities": Probabilities, "Logits": Logits}[kind](classes.tolist())
    import jax

    from conftr.epochs import named_leaves
    from conftr.models import MLP, ConvNet
    from conftr.network import Network
    from conftr.training import Fitted

    sizes = {name: tuple(v) if isinstance(v, list) else v for name, v in told.items()}
    kinds: dict[str, Any] = {"MLP": MLP, "ConvNet": ConvNet}
    model = kinds[kind](**sizes)
    params, state = jax.eval_shape(model.init, jax.random.key(0))
    leaves, structure = named_leaves({"params": params, "state": state})
    arrays = safetensors.numpy.load(files["weights.safetensors"])
    tree = structure.unflatten(arrays[name] for name in leaves)
    fitted = Fitted(tree["params"], tree["state"], np.zeros(0, np.float32), np.array(-1, np.int32))
    return Network(features.from_json(settings["encoding"]), model, fitted)


def _calibration(told: Json, files: Files) -> Calibration:
    arrays = safetensors.numpy.load(files["calibration.safetensors"])
    ends = np.cumsum(arrays["sizes"])[:-1]
    return Calibration(told["by"], tuple(told["names"]), tuple(np.split(arrays["scores"], ends)))


def _thresholds(clf: ConformalClassifier) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    calibration = clf.calibration_
    writer.writerow(["alpha", "group", "calibration_examples", "threshold"])
    for alpha in sorted({*_ALPHAS, float(clf.alpha_)}):
        taus = calibration.thresholds(alpha)
        for name, n, tau in zip(calibration.names, calibration.sizes, taus, strict=True):
            writer.writerow([f"{alpha:g}", name, n, repr(float(tau))])
    return text.getvalue().encode()


def _evidence_files(shown: Evidence) -> Files:
    arrays: Arrays = {
        name: np.ascontiguousarray(getattr(shown, name))
        for name in _ARRAYS
        if getattr(shown, name) is not None
    }
    for i, one in enumerate(shown.candidates):
        arrays[f"standing_{i}"] = np.ascontiguousarray(one.standing)
        arrays[f"probabilities_{i}"] = np.ascontiguousarray(one.probabilities)
    told = {
        field.name: getattr(shown, field.name)
        for field in fields(Evidence)
        if field.name not in (*_ARRAYS, "candidates")
    }
    told["candidates"] = [{"name": one.name, "words": one.words} for one in shown.candidates]
    told["cells"] = None if shown.cells is None else [dict(row) for row in shown.cells]
    told["provenance"] = dict(shown.provenance)
    return {
        "evidence.json": _text(told),
        "evidence.safetensors": safetensors.numpy.save(arrays),
    }


def _identity(hashes: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16]


def _text(data: Json) -> bytes:
    return (json.dumps(data, indent=1, allow_nan=False) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> Files:
    """Every file of an artefact, whole and unchanged."""
    manifest = _manifest(path / "manifest.json")
    place = path / f"model-{manifest['identity']}"
    return {name: _checked(place / name, sha) for name, sha in manifest["files"].items()}


def _manifest(path: Path) -> Json:
    if not path.exists():
        raise ArtefactError(
            f"There is no saved classifier in {path.parent}: {path.name} is missing."
        )
    try:
        manifest = json.loads(path.read_bytes())
        written = manifest["format"]
        if written > FORMAT:
            raise ArtefactError(
                f"{path} has format {written}, newer than this conftr reads ({FORMAT}): install a "
                f"newer conftr."
            )
        sound = manifest["identity"] == _identity(manifest["files"])
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError):
        sound = False
    if not sound:
        raise ArtefactError(f"{path} is damaged or was changed: copy the whole folder again.")
    return manifest


def _checked(path: Path, sha: str) -> bytes:
    if not path.exists():
        raise ArtefactError(f"{path} is missing: copy the whole folder again.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha:
        raise ArtefactError(
            f"{path} is damaged or was changed, its checksum is not that of manifest.json: copy "
            f"the whole folder again."
        )
    return content
