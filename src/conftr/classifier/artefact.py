"""Save and load: a calibrated classifier as a folder that can be copied and audited.

    DIR/manifest.json               format, identity, versions, and the SHA-256 of every file below
    DIR/model-IDENTITY/
        settings.json               classes, encoding, network, settings, choices, seed, metrics
        weights.safetensors         the network's parameters
        calibration.safetensors     scores of the calibration examples: thresholds for any alpha
        thresholds.csv              thresholds for many alphas, to read
        evidence.json, .safetensors what it showed on test examples, if given

Nothing in it is executed. The manifest is written last and at once: a save that is killed leaves
what was there before. Other files in DIR are left alone. One process may write at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

import safetensors

from conftr.classifier import packing
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.evidence import Evidence
from conftr.classifier.packing import ArtefactError, Files, Json

__all__ = ["FORMAT", "ArtefactError", "evidence", "load", "save"]

FORMAT = 1

_Value = TypeVar("_Value")


def save(clf: ConformalClassifier, path: Path | str, *, evidence: Evidence | None = None) -> Path:
    """Write a fitted classifier into the folder `path`, in place of one that is there.

    evidence: what it showed on test examples, for its report.
    """
    path = Path(path)
    files = packing.pack(clf, evidence)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    place = path / f"model-{_identity(hashes)}"
    _write_folder(place, files)
    manifest = {
        "format": FORMAT,
        "identity": _identity(hashes),
        "made": {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": _versions(),
        },
        "files": hashes,
    }
    beside = path / f".manifest-{uuid.uuid4().hex}"
    _write(beside, packing.json_bytes(manifest))
    beside.replace(path / "manifest.json")
    _tidy(path, place)
    return path


def load(path: Path | str) -> ConformalClassifier:
    """The classifier that was saved in this folder: it answers the same to the last bit."""
    return _understood(Path(path), packing.unpack)


def evidence(path: Path | str) -> Evidence | None:
    """What the classifier in this folder showed on test examples, if that was saved with it."""
    return _understood(Path(path), packing.unpack_evidence)


def _understood(path: Path, reader: Callable[[Files], _Value]) -> _Value:
    files = _read(path)
    try:
        return reader(files)
    except ArtefactError:
        raise
    except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as fault:
        raise ArtefactError(
            f"{path} is not a classifier that conftr saved: {type(fault).__name__}: {fault}."
        ) from fault


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("conftr", "jax", "numpy", "scikit-learn"):
        with contextlib.suppress(PackageNotFoundError):  # calibrating takes no JAX
            found[name] = version(name)
    return found


def _identity(hashes: Mapping[str, str]) -> str:
    """16 hexadecimal digits that stand for the contents of all files."""
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16]


def _write_folder(place: Path, files: Files) -> None:
    """All files in a folder, or no such folder; one that has them is left as it is."""
    paths = {place / name: content for name, content in files.items()}
    if all(path.exists() and path.read_bytes() == content for path, content in paths.items()):
        return
    beside = place.with_name(f".{place.name}-{uuid.uuid4().hex}")
    beside.mkdir(parents=True)
    for name, content in files.items():
        _write(beside / name, content)
    if place.exists():  # but not whole
        shutil.rmtree(place)
    beside.rename(place)


def _tidy(path: Path, place: Path) -> None:
    """Remove what the manifest no longer names, and what a save that was killed left."""
    for old in (*path.glob("model-*"), *path.glob(".model-*")):
        if old != place:
            shutil.rmtree(old)
    for old in path.glob(".manifest-*"):
        old.unlink()


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> Files:
    """Every file that the manifest names, whole and unchanged."""
    manifest = _manifest(path / "manifest.json")
    place = path / f"model-{manifest['identity']}"
    return {name: _unchanged(place / name, sha) for name, sha in manifest["files"].items()}


def _manifest(path: Path) -> Json:
    if not path.exists():
        raise ArtefactError(f"There is no classifier in {path.parent}: it has no {path.name}.")
    try:
        manifest = json.loads(path.read_bytes())
        written, files = manifest["format"], manifest["files"]
        sound = manifest["identity"] == _identity(files) and set(files) <= set(packing.NAMES)
    except (KeyError, TypeError, ValueError):
        raise ArtefactError(_damaged(path)) from None
    if isinstance(written, int) and written > FORMAT:
        raise ArtefactError(
            f"{path} has format {written}, and this version of conftr reads up to {FORMAT}: "
            f"install a newer one."
        )
    if not sound:
        raise ArtefactError(_damaged(path))
    return manifest


def _unchanged(path: Path, sha: str) -> bytes:
    if not path.exists():
        raise ArtefactError(f"{path} is missing: copy the whole folder again.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha:
        raise ArtefactError(_damaged(path))
    return content


def _damaged(path: Path) -> str:
    return f"{path} is damaged or was changed: copy the whole folder again."
