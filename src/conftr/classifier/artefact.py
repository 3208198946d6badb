"""Save and load: a calibrated classifier as a folder that can be copied and audited.

    DIR/manifest.json               format, identity, versions, and the SHA-256 of every file below
    DIR/model-IDENTITY/
        settings.json               classes, settings, choices, seed, metrics
        stack.json                  members, how they read rows, and the head
        member-M-F-*                member M's model of fold F: safetensors and JSON, or text
        head.safetensors            the head's weights, where there is one
        fold-F-*, folds.safetensors the same of each fold, and scores of its rows: cross-conformal
        calibration.safetensors     scores of the calibration examples: thresholds for any alpha
        thresholds.csv              thresholds for many alphas, to read
        known_rows.safetensors      digests of rows it has learned from, at most 128 KB
        evidence.json, .safetensors what it showed on test examples, if given
    DIR/report.html, DIR/figures/   its report, if given
    DIR/.lock                       empty; held by the process that writes

Nothing in it is executed. A save prepares everything in DIR/.conftr-saving and in the new model's
own folder. Then it takes the old report away, puts the new manifest in the place of the old one,
and moves the new report in: whenever it is killed, the model is the old one or the new one, and a
report that is there is the model's own. Only what the old manifest names is removed. Processes
that write at the same time wait for each other; the last one wins.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import filelock
import safetensors

from conftr.classifier import packing
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.evidence import Evidence
from conftr.classifier.packing import ArtefactError, Files, Json
from conftr.features.encoders import EncoderError
from conftr.machine import disk
from conftr.machine.versions import statement

__all__ = [
    "FORMAT",
    "LOCK",
    "ArtefactError",
    "check",
    "evidence",
    "identity",
    "load",
    "redraw",
    "save",
]

FORMAT = 3  # 1 and 2 held one network

_MANIFEST, _REPLACED = "manifest.json", "replaced.json"
LOCK, _STAGED = ".lock", ".conftr-saving"
# What a manifest may name outside its model's folder, and the next save so may remove.
_REPORT = re.compile(r"report\.html|figures/\w+\.(svg|png)")

# What reading raises where a file holds something else than was written; deep JSON recurses.
_NONSENSE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    safetensors.SafetensorError,
)

_Value = TypeVar("_Value")


def save(
    clf: ConformalClassifier,
    path: Path | str,
    *,
    evidence: Evidence | None = None,
    report: Files | None = None,
) -> Path:
    """Write a fitted classifier into the folder `path`, in place of one that is there.

    Args:
        clf: The classifier, fitted or calibrated.
        path: The folder. Files in it that conftr did not write are left alone.
        evidence: What the classifier showed on test examples, for its report.
        report: The page and figures, as `conftr.report.draw` gives them; they come to lie in the
            folder in the same step as the classifier. None takes the old classifier's away.

    Returns:
        The folder.

    Raises:
        ArtefactError: If this is no classifier that can be saved, or something is in the way.
        OSError: If it cannot be written; what was there before is then as it was.
    """
    path = Path(path)
    files = packing.pack(clf, evidence)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    made = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": statement("scikit-learn"),
    }
    manifest = {"format": FORMAT, "identity": _identity(hashes), "made": made, "files": hashes}
    path.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(path / LOCK):  # waits for other processes that write here
        _replace(path, manifest, files, report or {})
    return path


def redraw(path: Path | str, draw: Callable[[Evidence], Files]) -> None:
    """Put a report beside the classifier that is in this folder, in place of one that is there.

    Args:
        path: A folder that `save` filled.
        draw: Gives the page and figures of evidence, such as `conftr.report.draw`.

    Raises:
        ArtefactError: If there is no classifier with evidence, or something is in the way.
    """
    path = Path(path)
    _manifest(path / _MANIFEST)
    with filelock.FileLock(path / LOCK):
        shown = evidence(path)
        if shown is None:
            raise ArtefactError(f"{path} was saved without test examples, so there is no report.")
        _replace(path, _manifest(path / _MANIFEST), {}, draw(shown))


def check(path: Path, report: Iterable[str]) -> None:
    """Raise if something in a folder is in the way of a report's files, which are given by name."""
    for name in report:
        if (path / name).is_dir():
            raise ArtefactError(f"{path / name} is a folder, where a file is to be: move it away.")
        if name.startswith("figures/") and (path / "figures").is_file():
            raise ArtefactError(f"{path / 'figures'} is a file, where a folder is to be: move it.")


def load(path: Path | str, *, build: Callable[[], Any] | None = None) -> ConformalClassifier:
    """The classifier that was saved in this folder: it answers the same to the last bit.

    Args:
        path: The folder.
        build: Makes the network of PyTorch that is among its members, if one is: code is not saved.

    Returns:
        The classifier.

    Raises:
        ArtefactError: If there is none, it is damaged, or `build` is lacking.
    """
    return _understood(Path(path), partial(packing.unpack, build=build))


def evidence(path: Path | str) -> Evidence | None:
    """What the classifier in this folder showed on test examples, if that was saved with it."""
    return _understood(Path(path), packing.unpack_evidence)


def identity(path: Path | str) -> str:
    """16 hexadecimal digits that tell the classifier in this folder from any other."""
    digits: str = _manifest(Path(path) / _MANIFEST)["identity"]
    return digits


def _understood(path: Path, reader: Callable[[Files], _Value]) -> _Value:
    files = _read(path)
    try:
        return reader(files)
    except ArtefactError:
        raise
    except EncoderError as fault:
        raise ArtefactError(f"{path}: {fault}") from fault
    except _NONSENSE as fault:
        raise ArtefactError(
            f"{path} is not a classifier that conftr saved ({type(fault).__name__}: {fault})."
        ) from fault


def _identity(hashes: Mapping[str, str]) -> str:
    """16 hexadecimal digits that stand for the contents of all files."""
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16]


def _replace(path: Path, manifest: Json, files: Files, report: Files) -> None:
    """Put a manifest, the files it names and a report in the place of those that are there."""
    _tidy(path)
    check(path, report)
    try:
        _prepare(path, manifest | {"report": sorted(report)}, files, report)
        with disk.uninterrupted():
            _switch(path, list(report))
    finally:
        _tidy(path)


def _prepare(path: Path, manifest: Json, files: Files, report: Files) -> None:
    """Write everything where nobody looks yet.

    The manifests come first: they tell `_tidy` what to remove if the rest is never done.
    """
    staged = path / _STAGED
    staged.mkdir()
    if _current(path) is not None:
        disk.write(staged / _REPLACED, (path / _MANIFEST).read_bytes())
    disk.write(staged / _MANIFEST, packing.json_bytes(manifest))
    disk.write_all(files, path / _place(manifest))
    disk.write_all(report, staged)


def _switch(path: Path, report: list[str]) -> None:
    """Move in what was prepared: the old report goes first, and the new one comes last."""
    staged, old = path / _STAGED, _reported(_current(path))
    disk.make_folders_for(report, path)
    disk.flush(path)
    # The page first, as it comes last: where there is one, its figures are complete.
    disk.remove_all(sorted({*old, *report}, reverse=True), path)
    disk.move_all([_MANIFEST, *report], staged, path)
    disk.flush(path)
    for name in old:
        disk.remove_empty((path / name).parent)


def _tidy(path: Path) -> None:
    """Remove what a save prepared and did not use, and what it replaced; also one that was killed.

    Both are named by the manifests that it staged.
    """
    staged, current = path / _STAGED, _current(path)
    for name in (_MANIFEST, _REPLACED):
        other = _current(staged, name)
        if other is not None and (current is None or other["identity"] != current["identity"]):
            disk.remove_all(other["files"], path / _place(other))
            disk.remove_empty(path / _place(other))
    if staged.exists():
        shutil.rmtree(staged)


def _place(manifest: Json) -> str:
    """The name of the folder of a model's files."""
    return f"model-{manifest['identity']}"


def _current(path: Path, name: str = _MANIFEST) -> Json | None:
    """The manifest in a folder; None where there is none that can be trusted."""
    try:
        return _manifest(path / name)
    except ArtefactError:
        return None


def _reported(manifest: Json | None) -> list[str]:
    """The files of a report that a manifest names."""
    named = None if manifest is None else manifest.get("report")
    names = named if isinstance(named, list) else []
    return [name for name in names if isinstance(name, str) and _REPORT.fullmatch(name)]


def _read(path: Path) -> Files:
    """Every file that the manifest names, whole and unchanged."""
    manifest = _manifest(path / _MANIFEST)
    place = path / _place(manifest)
    try:
        return {name: _unchanged(place / name, sha) for name, sha in manifest["files"].items()}
    except ArtefactError:
        if _manifest(path / _MANIFEST) == manifest:
            raise
        return _read(path)  # another process has saved in the meantime


def _manifest(path: Path) -> Json:
    if not path.is_file():
        raise ArtefactError(f"There is no classifier in {path.parent}: it has no {path.name}.")
    try:
        manifest = json.loads(path.read_bytes())
        written, files = manifest["format"], manifest["files"]
        sound = manifest["identity"] == _identity(files) and all(map(packing.is_name, files))
    except _NONSENSE:
        raise ArtefactError(_damaged(path)) from None
    if isinstance(written, int) and written > FORMAT:
        raise ArtefactError(
            f"{path} has format {written}, and this version of conftr reads up to {FORMAT}: "
            f"install a newer one."
        )
    if isinstance(written, int) and 0 < written < FORMAT:
        raise ArtefactError(
            f"{path} has format {written}, of a conftr before 0.2, which this version does not "
            f"read: fit the classifier again."
        )
    if not sound:
        raise ArtefactError(_damaged(path))
    return manifest


def _unchanged(path: Path, sha: str) -> bytes:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise ArtefactError(f"{path} is missing: copy the whole folder again.") from None
    if hashlib.sha256(content).hexdigest() != sha:
        raise ArtefactError(_damaged(path))
    return content


def _damaged(path: Path) -> str:
    return f"{path} is damaged or was changed: copy the whole folder again."
