"""Small pictures as PNG inside a page, without a library for images."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

_PIXELS = 96


def picture(pixels: npt.NDArray[np.uint8]) -> str:
    """Pixels (h, w) or (h, w, 3) as an address that holds the picture itself.

    Of a larger picture every second, third ... row and column is kept, until 96 hold it.
    """
    step = -(-max(pixels.shape[:2]) // _PIXELS)
    pixels = pixels[::step, ::step]
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    # Each line begins with the number of its filter: 0, none.
    lines = np.hstack([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)])
    chunks = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
        _chunk(b"IEND", b""),
    ]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
