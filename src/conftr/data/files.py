"""The files a dataset is made of: found plain or gzipped, believed by size and hash alone."""

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from conftr.data.errors import DataError

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class File:
    """A file by the name, size in bytes and digest ("md5:..." or "sha256:...") of its plain form.

    An empty digest means that none is published; then the size alone is held against it.
    """

    name: str
    size: int
    digest: str = ""


def find(file: File, folder: Path) -> Path | None:
    """Where `file` lies in `folder`, plain or as `.gz`; None where it does not."""
    candidates = (folder / file.name, folder / f"{file.name}.gz")
    return next((path for path in candidates if path.is_file()), None)


def read(file: File, folder: Path) -> bytes:
    """The plain contents of `file`, once they are shown to be the right ones."""
    path = find(file, folder)
    if path is None:
        raise DataError(f"There is no file {file.name} (or {file.name}.gz) in {folder}.")
    contents = plain(path)
    fault = difference(file, contents)
    if fault:
        raise DataError(
            f"{path} is not the published file: {fault}. It may be half written or changed; "
            "replace or remove it."
        )
    return contents


def intact(file: File, folder: Path) -> bool:
    """Whether `folder` holds `file` with the right contents."""
    try:
        read(file, folder)
    except DataError:
        return False
    return True


def plain(path: Path) -> bytes:
    """The contents of a file, unpacked where it is gzipped."""
    contents = path.read_bytes()
    # Servers may unpack a .gz on the way, so the name alone does not tell.
    if path.suffix != ".gz" or not contents.startswith(_GZIP_MAGIC):
        return contents
    try:
        return gzip.decompress(contents)
    except (OSError, EOFError, zlib.error) as fault:
        raise DataError(
            f"{path} is damaged or half written ({fault}); replace or remove it."
        ) from fault


def difference(file: File, contents: bytes) -> str:
    """How `contents` differ from what `file` must hold; empty where they agree."""
    if len(contents) != file.size:
        return f"its contents must have {file.size:,} bytes, got {len(contents):,}"
    algorithm, _, expected = file.digest.partition(":")
    if not file.digest or digest(algorithm, contents) == expected:
        return ""
    return f"the {algorithm} of its contents must be {expected}, got {digest(algorithm, contents)}"


def digest(algorithm: str, contents: bytes) -> str:
    """The hash of `contents` in hexadecimal."""
    return hashlib.new(algorithm, contents, usedforsecurity=False).hexdigest()
