"""Frozen encoders: pretrained files that make numbers of pictures or texts, told by their content.

A model that was fitted on what an encoder gives is worth nothing with another one. So a reader
keeps the encoder's name, version and SHA-256 among its plain data, which `conftr.save` writes; and
reading it back compares them with what is installed:

    mine = Encoder.of("wordllama-256", "wordllama", [weights, tokenizer])
    data = {"encoder": mine.to_json()}                      # in `to_json` of a reader
    Encoder.from_json(data["encoder"]).check(mine)          # in `from_json` of a reader
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from conftr.features.columns import Json

_PIECE = 2**20  # bytes of a file that are read together


class EncoderError(ValueError):
    """An encoder that is not here, or is another than the one a model was fitted with."""


@dataclass(frozen=True)
class Encoder:
    """Which frozen encoder a reader uses.

    Attributes:
        name: Of the encoder.
        version: Of the package it came in.
        sha256: Of its files, one after the other; this alone decides whether two are the same.
    """

    name: str
    version: str
    sha256: str

    @classmethod
    def of(cls, name: str, package: str, files: Iterable[Path]) -> Encoder:
        """Tell an encoder by its files.

        Args:
            name: What it is called.
            package: The installed package that its files came in.
            files: All that decides what it gives, in a fixed order.

        Raises:
            EncoderError: If one of them is not there.
        """
        try:
            return cls(name, version(package), _sha256(files))
        except (PackageNotFoundError, OSError) as fault:
            raise EncoderError(f"the encoder {name} is not here as a whole: {fault}.") from fault

    def check(self, installed: Encoder) -> None:
        """Refuse another encoder than this one.

        Args:
            installed: What is installed.

        Raises:
            EncoderError: If its files differ from those a model was fitted with.
        """
        if installed.sha256 != self.sha256:
            raise EncoderError(
                f"the model was fitted with the encoder {self.name} {self.version} (SHA-256 "
                f"{self.sha256[:16]}…), and here is {installed.name} {installed.version} "
                f"({installed.sha256[:16]}…), whose numbers mean something else: install the "
                f"first, or fit again."
            )

    def to_json(self) -> Json:
        """Give it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> Encoder:
        """What was written as this."""
        return cls(str(data["name"]), str(data["version"]), str(data["sha256"]))


def _sha256(files: Iterable[Path]) -> str:
    sha = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                sha.update(piece)
    return sha.hexdigest()
