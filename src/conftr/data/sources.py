"""Sources of a dataset's files, and files taken out of archives."""

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conftr.data.errors import DataError
from conftr.data.files import File

Unpack = Callable[[Path, Path], None]


@dataclass(frozen=True)
class Source:
    """`get(files, folder, progress)` leaves the files in `folder`; `label` says where from.

    A source may leave wrong or half-written files: whoever asked checks them before use.
    """

    label: str
    get: Callable[[Sequence[File], Path, bool], None]


def picking(members: Mapping[str, str]) -> Unpack:
    """Unpack only these members of a zip or tar archive, each under its new plain name."""

    def unpack(archive: Path, folder: Path) -> None:
        pick = _from_zip if zipfile.is_zipfile(archive) else _from_tar
        try:
            pick(archive, folder, members)
        except KeyError as missing:
            raise DataError(f"{archive.name} lacks a file: {missing.args[0]}") from missing

    return unpack


def _from_zip(archive: Path, folder: Path, members: Mapping[str, str]) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member, name in members.items():
            with packed.open(member) as source, (folder / name).open("wb") as target:
                shutil.copyfileobj(source, target)


def _from_tar(archive: Path, folder: Path, members: Mapping[str, str]) -> None:
    with tarfile.open(archive) as packed:
        for member, name in members.items():
            source = packed.extractfile(member)
            if source is None:
                raise KeyError(f"{member} is not a file")
            with source, (folder / name).open("wb") as target:
                shutil.copyfileobj(source, target)
