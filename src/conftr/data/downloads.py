"""Files from the web: a download broken off goes on where it stopped, and is only then a file."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from conftr.data.download_progress import Bar, announce
from conftr.data.errors import DataError, need
from conftr.data.files import File
from conftr.data.sources import Source, Unpack

_CONNECT_AND_READ_SECONDS = (10, 60)
_CHUNK_BYTES = 1 << 16
WHOLE_FILE, NOT_A_BEGINNING = 200, 416


def web(addresses: Mapping[str, str]) -> Source:
    """The files one by one, each from its address; an address that ends in .gz is gzipped."""

    def get(files: Sequence[File], folder: Path, progress: bool) -> None:
        for file in files:
            address = addresses[file.name]
            suffix = ".gz" if address.endswith(".gz") else ""
            download(address, folder / f"{file.name}{suffix}", progress=progress)

    return Source(f"download from {_host(next(iter(addresses.values())))}", get)


def web_archive(address: str, checksum: str, unpack: Unpack) -> Source:
    """The files out of one archive with this checksum ("md5:...")."""

    def get(_: Sequence[File], folder: Path, progress: bool) -> None:
        archive = folder / address.rsplit("/", 1)[-1]
        download(address, archive, progress=progress)
        try:
            _check(archive, checksum)
            unpack(archive, folder)
        finally:
            archive.unlink()

    return Source(f"download from {_host(address)}", get)


def download(address: str, target: Path, *, progress: bool) -> None:
    """Bring `address` to `target`, going on from what an earlier try left in `target`.part."""
    if target.exists():
        return
    announce(f"downloading {address}", progress=progress)
    part = target.with_name(f"{target.name}.part")
    try:
        _transfer(address, part, Bar() if progress else False)
    except OSError as fault:
        raise DataError(_explain(fault, address, part)) from fault
    part.replace(target)


def _transfer(address: str, part: Path, bar: Bar | bool) -> None:
    pooch = need("pooch", package="pooch", purpose="Downloading")
    with part.open("ab") as out:
        start = out.tell()
        transfer = pooch.HTTPDownloader(
            progressbar=bar,
            chunk_size=_CHUNK_BYTES,
            timeout=_CONNECT_AND_READ_SECONDS,
            headers=_headers(start),
            hooks={"response": _restart_unless_partial(out)},
        )
        try:
            transfer(address, out, None)
        except OSError as fault:
            if not (start and _status(fault) == NOT_A_BEGINNING):
                raise
            _transfer(address, part, bar)


def _headers(start: int) -> dict[str, str]:
    # Asked for as it is, a .gz arrives packed and byte positions mean the same each time.
    ranged = {"Range": f"bytes={start}-"} if start else {}
    return {"Accept-Encoding": "identity", **ranged}


def _restart_unless_partial(out: BinaryIO) -> Callable[..., None]:
    def on_response(response: Any, *_: Any, **__: Any) -> None:
        if response.status_code in (WHOLE_FILE, NOT_A_BEGINNING):
            out.truncate(0)

    return on_response


def _explain(fault: OSError, address: str, part: Path) -> str:
    if _status(fault):
        return f"{address} answered {_status(fault)}"
    kept = part.stat().st_size if part.exists() else 0
    what = f"broke off; {kept:,} bytes are kept for the next try" if kept else "cannot be reached"
    return f"{what} ({type(fault).__name__})"


def _status(fault: OSError) -> int:
    response = getattr(fault, "response", None)
    return 0 if response is None else int(response.status_code)


def _check(archive: Path, checksum: str) -> None:
    algorithm, _, expected = checksum.partition(":")
    with archive.open("rb") as contents:
        computed = hashlib.file_digest(contents, algorithm).hexdigest()
    if computed != expected:
        raise DataError(f"the {algorithm} of {archive.name} must be {expected}, got {computed}")


def _host(address: str) -> str:
    return urlsplit(address).netloc
