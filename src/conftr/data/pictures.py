"""Picture files (PNG, JPEG, WebP): decoded one at a time by one rule, refused in words.

A picture is turned as its camera says, laid over white where it is transparent, brought to eight
bits a channel, and of an animated one the first frame is taken. To get a size, it is scaled until
it just covers that size, and its middle is cut out.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.data.errors import DataError

Pixels: TypeAlias = npt.NDArray[np.uint8]  # (..., height, width, channels)
PictureShape: TypeAlias = tuple[int, ...]

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
SMALL = 64  # pixels of the longer side up to which networks of our own learn from pixels
_FORMATS = ("PNG", "JPEG", "WEBP")
_MOST_PIXELS = 89_478_485  # what Pillow takes for a decompression bomb: a quarter of a gigabyte
_GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")
_ORIENTATION, _LYING = 0x0112, (5, 6, 7, 8)  # of EXIF: turned by a quarter


class PictureError(ValueError):
    """What is wrong with a picture file, as the end of a sentence that begins with its name."""


class Look(NamedTuple):
    """What a picture file says of itself: height, width, and whether it is without colours."""

    height: int
    width: int
    is_grey: bool


@dataclass(frozen=True, eq=False)
class PictureFiles:
    """Pictures on disk as rows: decoded a few at a time, whenever they are asked for.

    Attributes:
        paths: Of the files, (n,).
        digests: Of what they hold, (n,).
    """

    paths: npt.NDArray[np.object_]
    digests: npt.NDArray[np.uint64]

    @property
    def shape(self) -> PictureShape:
        """(n,): a row is a file."""
        return self.paths.shape

    def __len__(self) -> int:
        """How many there are."""
        return len(self.paths)

    def __getitem__(self, rows: Any) -> PictureFiles:
        """Some of them; a further index, as scikit-learn gives, must be everything."""
        rows = rows[0] if isinstance(rows, tuple) else rows
        return PictureFiles(self.paths[rows], self.digests[rows])

    def blocks(self, shape: PictureShape, rows: int) -> Iterator[Pixels]:
        """Their pixels (m, *shape), at most so many rows at a time.

        Raises:
            DataError: If a file that could be read before cannot be any more.
        """
        for first in range(0, len(self), rows):
            yield np.stack([_again(path, shape) for path in self.paths[first : first + rows]])


def _again(path: Path, shape: PictureShape) -> Pixels:
    try:
        return decoded(path, shape)
    except PictureError as fault:
        raise DataError(f"{path} could be read before, and now it {fault}.") from fault


def is_picture(name: str) -> bool:
    """Whether a file is a picture, by its name."""
    return name.lower().endswith(SUFFIXES)


def looked_at(path: Path) -> Look:
    """Size and colour of a picture, from the beginning of its file.

    Raises:
        PictureError: If it cannot be one.
    """
    with _opened(path) as image:
        width, height = image.size
        if image.format != "PNG" and image.getexif().get(_ORIENTATION) in _LYING:
            width, height = height, width
        return Look(height, width, image.mode in _GREY)


def decoded(path: Path, shape: PictureShape) -> Pixels:
    """The pixels of a picture.

    Args:
        path: Its file.
        shape: (height, width, channels) that it is brought to; one channel is grey, three are
            colours.

    Returns:
        Bytes of that shape.

    Raises:
        PictureError: If the file is broken, or no picture.
    """
    from PIL import Image, ImageOps

    height, width, channels = shape
    with _opened(path) as image:
        if image.format == "JPEG":  # it can be decoded at a half, a quarter or an eighth
            image.draft(None, (2 * max(height, width),) * 2)
        plain = _plain(ImageOps.exif_transpose(image), "L" if channels == 1 else "RGB")
        fitted = ImageOps.fit(plain, (width, height), Image.Resampling.BICUBIC)
        return np.asarray(fitted, np.uint8).reshape(shape)


def digest(path: Path) -> np.uint64:
    """64 bits of the BLAKE2 hash of a file."""
    with path.open("rb") as file:
        hashed = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8))
    return np.uint64(int.from_bytes(hashed.digest(), "little"))


def _plain(image: Any, mode: str) -> Any:
    """Eight bits a channel, without transparency."""
    from PIL import Image

    if image.mode.startswith("I"):  # sixteen bits, of which the upper eight are seen
        numbers = np.clip(np.asarray(image).astype(np.int64), 0, 2**16 - 1)
        image = Image.fromarray((numbers >> 8).astype(np.uint8))
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return image.convert(mode)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A picture of Pillow's, of which the beginning was read; whatever fails, fails in words."""
    pillow = _need_pillow()
    try:
        _check_file(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata, which is not used
            with pillow.open(path, formats=_FORMATS) as image:
                _check_size(*image.size)
                yield image
    except PictureError:
        raise
    except pillow.DecompressionBombError:
        raise PictureError(_too_large("more pixels")) from None
    except pillow.UnidentifiedImageError:
        raise PictureError("is no PNG, JPEG or WebP picture, whatever its name says") from None
    except MemoryError:
        raise PictureError("does not fit into memory") from None
    except Exception as fault:  # what decoders raise on broken files is of every kind
        reason = str(fault).splitlines()[0] if str(fault) else type(fault).__name__
        raise PictureError(f"is broken ({reason})") from fault


def _check_file(path: Path) -> None:
    try:
        is_there, is_file = path.exists(), path.is_file()
        size = path.stat().st_size if is_file else 0
    except (OSError, ValueError) as fault:  # a NUL in the name, no permission
        raise PictureError("cannot be opened") from fault
    if not is_file:
        raise PictureError("is no file" if is_there else "is not there")
    if not size:
        raise PictureError("is empty")


def _check_size(width: int, height: int) -> None:
    if width * height > _MOST_PIXELS:
        raise PictureError(_too_large(f"{width:,} x {height:,} pixels"))


def _too_large(what: str) -> str:
    limit = f"{_MOST_PIXELS / 1e6:.0f} million"
    return f"unpacks to {what}, and {limit} are the most that is taken (a decompression bomb?)"


def _need_pillow() -> ModuleType:
    """Pillow's module of images, or words on how to get it."""
    try:
        from PIL import Image
    except ImportError:
        raise DataError(
            "picture files are read by Pillow, which is not here: pip install 'conftr[images]'."
        ) from None
    return Image
