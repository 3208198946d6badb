"""Picture files that are broken, or whole and unusual, as folders of users hold them."""

import io
import struct
import zlib

import numpy as np
from PIL import Image


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width, height):
    """A PNG of a few bytes that says it is this large."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def encoded(kind):
    content = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(content, kind)
    return content.getvalue()


BROKEN = {
    "nothing.png": (b"", "is empty"),
    "text.png": (b"this is no picture", "is no PNG, JPEG or WebP"),
    "gif.png": (b"GIF89a\1\0\1\0\0\0\0;", "is no PNG, JPEG or WebP"),
    "cut.jpg": (encoded("JPEG")[:900], "is broken"),
    "cut.png": (encoded("PNG")[:900], "is broken"),
    "cut.webp": (encoded("WEBP")[:900], "is"),
    "bomb.png": (bomb(20_000, 20_000), "decompression bomb"),
    "half-a-bomb.png": (bomb(10_000, 10_000), "decompression bomb"),
    "header.png": (b"\x89PNG\r\n\x1a\n", "is"),
    "zeros.jpg": (bytes(5000), "is no PNG, JPEG or WebP"),
}

_RAMP = np.arange(64, dtype=np.uint16).reshape(8, 8)


_THEN = {"save_all": True, "append_images": [Image.new("RGB", (8, 8))]}

# What each is called, a picture that is like no other, and how it is saved.
ODD_BUT_WHOLE = {
    "cmyk.jpg": (Image.new("CMYK", (8, 8), (0, 200, 200, 10)), {}),
    "sixteen-bits.png": (Image.fromarray(_RAMP * 1000), {}),
    "one-bit.png": (Image.new("1", (8, 8), 0), {}),
    "palette.png": (Image.new("P", (8, 8), 3), {}),
    "transparent.png": (Image.new("RGBA", (8, 8), (0, 0, 0, 0)), {}),
    "animated.webp": (Image.new("RGB", (8, 8), "red"), _THEN),
    "animated.png": (Image.new("RGB", (8, 8), "green"), _THEN),
    "thin.png": (Image.new("RGB", (1, 900), "navy"), {}),
    "one-pixel.png": (Image.new("RGB", (1, 1), "blue"), {}),
}
