"""Checkpoints of a long run: arrays and a record in one file that is whole or not there.

A file is written beside its place, flushed to the disk and renamed, so a run killed at any moment
leaves the last complete one. Each carries a checksum; the two newest are kept, so that a damaged
one costs a few epochs and not the run. Files are safetensors with the record as JSON in their
header: nothing that is read can execute code.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import types
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from conftr.machine.disk import write_whole

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Description: TypeAlias = Any

_KEEP = 2
_PATTERN = "checkpoint-*.safetensors"


class CheckpointWarning(UserWarning):
    """A checkpoint could not be read, and an older one is used."""


class CheckpointMismatchError(ValueError):
    """The checkpoints in a folder belong to another run."""


@dataclass(frozen=True)
class Checkpoints:
    """Where a run is kept and how often it is written; one run to a folder.

    Attributes:
        folder: Where.
        seconds: At least this long between two checkpoints.
        epochs: Or this many epochs, whichever comes first; None for no such rule.
    """

    folder: Path | str
    seconds: float = 30.0
    epochs: int | None = None

    def due(self, seconds: float, epochs: int) -> bool:
        """Whether to write.

        Args:
            seconds: Since the last time.
            epochs: Since the last time.

        Returns:
            Whether it is time.
        """
        return seconds >= self.seconds or (self.epochs is not None and epochs >= self.epochs)


class Checkpoint(NamedTuple):
    """Named arrays, and a record of plain values."""

    arrays: Arrays
    record: dict[str, Any]


def save(folder: Path | str, number: int, checkpoint: Checkpoint) -> Path:
    """Write checkpoint `number`, whole or not at all, and drop all but the two newest."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(checkpoint.record)
    arrays = {name: np.ascontiguousarray(array) for name, array in checkpoint.arrays.items()}
    header = {"record": text, "checksum": _checksum(arrays, text)}
    path = folder / f"checkpoint-{number:08d}.safetensors"
    write_whole(path, safetensors.numpy.save(arrays, header))
    for old in sorted(folder.glob(_PATTERN))[:-_KEEP]:
        old.unlink(missing_ok=True)
    return path


def load(folder: Path | str) -> Checkpoint | None:
    """The newest checkpoint that is whole, or None; damaged ones are named in a warning."""
    for path in sorted(Path(folder).glob(_PATTERN), reverse=True):
        try:
            return _read(path)
        except (OSError, KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
            warnings.warn(
                f"the checkpoint {path} is damaged and is left out: {error}. The one before it "
                f"is used if there is one, else the run starts anew.",
                CheckpointWarning,
                stacklevel=3,
            )
    return None


def refuse_other_run(folder: Path | str, saved: Description, now: Description) -> None:
    """Raise, naming what differs, unless two descriptions of a run are equal."""
    difference = _difference(saved, now)
    if difference is not None:
        raise CheckpointMismatchError(
            f"the checkpoints in {folder} belong to another run: {difference}. "
            f"Give this run a folder of its own, or remove that one."
        )


def describe(value: Any, within: tuple[Any, ...] = ()) -> Description:
    """A value as JSON that is the same in every process: what a run was asked to do.

    Dataclasses and named tuples are described by their fields, functions by their names (those
    without a name of their own also by their code and what they enclose), arrays by a digest.
    `within`: the functions whose description this is part of.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, functools.partial):
        arguments = {"args": value.args, "keywords": value.keywords}
        return _named(value.func) | describe(arguments, within)
    if isinstance(value, types.FunctionType | types.MethodType | type):
        return _function(value, within)
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return _named(type(value)) | describe(fields, within)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _named(type(value)) | describe(value._asdict(), within)
    if isinstance(value, Mapping):
        return {str(name): describe(item, within) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [describe(item, within) for item in value]
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return {"shape": list(array.shape), "type": str(array.dtype), "sha256": _digest(array)}
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _named(value: Any) -> dict[str, Any]:
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return {"is": f"{getattr(value, '__module__', '')}.{name}"}


def _function(value: Any, within: tuple[Any, ...]) -> dict[str, Any]:
    described = _named(value)
    if isinstance(value, types.MethodType):
        return described | {"of": describe(value.__self__, within)}
    if "<" in described["is"] and isinstance(value, types.FunctionType):
        within = (*within, value)  # a function may enclose itself, directly or not
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        others = [cell for cell in cells if not any(cell is function for function in within)]
        described["code"] = hashlib.sha256(_code(value.__code__).encode()).hexdigest()
        described["encloses"] = describe(others, within)
        described["defaults"] = describe([value.__defaults__, value.__kwdefaults__], within)
    return described


def _code(code: types.CodeType) -> str:
    """What a function does, without where it was written."""
    return repr((code.co_code, code.co_names, [_constant(value) for value in code.co_consts]))


def _constant(value: Any) -> Any:
    if isinstance(value, frozenset):  # whose order differs between processes
        return sorted(map(repr, value))
    return _code(value) if isinstance(value, types.CodeType) else value


def _digest(array: npt.NDArray[Any], text: str = "") -> str:
    """SHA-256 of a text and the bytes of an array."""
    digest = hashlib.sha256(text.encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _difference(saved: Description, now: Description, place: str = "") -> str | None:
    """Where two descriptions first differ, in words."""
    if isinstance(saved, dict) and isinstance(now, dict) and saved.get("is") == now.get("is"):
        pairs = {name: (saved.get(name), now.get(name)) for name in [*saved, *now]}
        differences = (_difference(*pair, f"{place}.{name}") for name, pair in pairs.items())
        return next((f for f in differences if f is not None), None)
    if saved == now:
        return None
    was, is_now = (
        d["is"] if isinstance(d, dict) and "is" in d else json.dumps(d) for d in (saved, now)
    )
    return f"{place.lstrip('.')} was {was} and is now {is_now}"


def _read(path: Path) -> Checkpoint:
    with safetensors.safe_open(path, framework="numpy") as file:
        header = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if _checksum(arrays, header["record"]) != header["checksum"]:
        raise ValueError("its contents do not match its checksum")
    return Checkpoint(arrays, json.loads(header["record"]))


def _checksum(arrays: Arrays, text: str) -> str:
    """SHA-256 over the record and every array with its name, type and shape."""
    lines = [
        _digest(array, f"{name} {array.dtype} {array.shape}")
        for name, array in sorted(arrays.items())
    ]
    return hashlib.sha256("".join([text, *lines]).encode()).hexdigest()
