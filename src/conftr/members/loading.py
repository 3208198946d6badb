"""Fitted members as files, and back: every kind says how it is saved, none is executed."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from conftr import members
from conftr.features import codes
from conftr.features.columns import Json
from conftr.features.text_columns import NgramColumns, WordColumns
from conftr.members.member import Files, FittedMember, FittedModel, MemberError, Reader
from conftr.members.pytorch import Build
from conftr.members.scikit import AsGiven

# A kind is loaded by `load` of the module of its name, which is imported when one is met: each has
# packages of its own. These have another name.
_MODULES = {"outputs": "elsewhere", "torch": "pytorch"}


def pack(members: Sequence[FittedMember]) -> tuple[Json, Files]:
    """Members as plain data and files.

    Returns:
        What `unpack` needs to know beside the files, and the files by name.

    Raises:
        MemberError: If one of them cannot be saved.
    """
    readers = list({id(member.reader): member.reader for member in members}.values())
    described, files = [], Files()
    for i, member in enumerate(members):
        kinds = {model.kind for model in member.models}
        described.append(
            {
                "name": member.name,
                "kind": kinds.pop(),
                "models": len(member.models),
                "reader": next(j for j, reader in enumerate(readers) if reader is member.reader),
            }
        )
        for j, model in enumerate(member.models):
            files |= {f"member-{i}-{j}-{name}": data for name, data in model.files().items()}
    return {"members": described, "readers": [reader.to_json() for reader in readers]}, files


def unpack(data: Json, files: Files, build: Build | None = None) -> tuple[FittedMember, ...]:
    """The members that were packed.

    Args:
        build: Makes the network of PyTorch that is among them, if one is.
    """
    readers = [_reader(reader) for reader in data["readers"]]
    fitted = []
    for i, member in enumerate(data["members"]):
        models = [
            _model(member["kind"], under(files, f"member-{i}-{j}-"), build)
            for j in range(member["models"])
        ]
        fitted.append(FittedMember(member["name"], readers[member["reader"]], tuple(models)))
    return tuple(fitted)


def _reader(data: Json) -> Reader:
    if data["kind"] == "n-gram columns":
        return NgramColumns.from_json(data)
    if data["kind"] == "word columns":
        return WordColumns.from_json(data)
    return AsGiven() if data["kind"] == "as given" else codes.from_json(data)


def _model(kind: str, files: Files, build: Build | None) -> FittedModel:
    name = _MODULES.get(kind, kind)
    modules = {module.name for module in pkgutil.iter_modules(members.__path__)}
    module: Any = import_module(f"conftr.members.{name}") if name in modules else None
    if not hasattr(module, "load"):
        raise MemberError(f"there is no member of kind {kind!r} in this version of conftr.")
    model: FittedModel = module.load(files, build) if kind == "torch" else module.load(files)
    return model


def under(files: Files, prefix: str) -> Files:
    """The files whose names begin with the prefix, by the rest of their names."""
    return {
        name.removeprefix(prefix): data for name, data in files.items() if name.startswith(prefix)
    }
