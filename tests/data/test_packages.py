"""Registry clients, played by small scripts that leave the archive a registry would."""

import os
import sys
import zipfile
from pathlib import Path

import pytest
from samples import tar_bytes

from conftr.data import DataError
from conftr.data.packages import debian, npm, run, wheel
from conftr.data.sources import picking

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in clients are shell scripts")


@pytest.fixture
def client(tmp_path, monkeypatch):
    """Put a shell script in the place of a client."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    def make(name, script):
        path = programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return make


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "got"
    folder.mkdir()
    return folder


def left_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_npm_packs_and_the_files_are_picked_out(client, folder, tmp_path):
    archive = tmp_path / "a.tgz"
    archive.write_bytes(tar_bytes({"package/data/a": b"A"}))
    client("npm", f'echo "$@" > {tmp_path}/said; cp {archive} a-1.0.0.tgz')
    npm("a@1.0.0", picking({"package/data/a": "a"})).get([], folder, False)
    assert left_in(folder) == {"a": b"A"}
    assert (tmp_path / "said").read_text().startswith("pack a@1.0.0")


def test_debian_packages_are_opened_without_being_installed(client, folder, tmp_path):
    contents = tmp_path / "contents.tar"
    contents.write_bytes(tar_bytes({"./usr/share/a.gz": b"A"}, mode="w"))
    client("apt-get", '[ "$1 $2" = "download dataset-a" ] && echo deb > dataset-a_1_all.deb')
    client("dpkg-deb", f'[ "$2" = dataset-a_1_all.deb ] && cat {contents}')
    debian("dataset-a", picking({"./usr/share/a.gz": "a.gz"})).get([], folder, False)
    assert left_in(folder) == {"a.gz": b"A"}


def test_wheels_are_downloaded_but_never_built(client, folder, tmp_path, monkeypatch):
    wheel_file = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel_file, "w") as archive:
        archive.writestr("a/data.txt", "A")
    client("python-of-the-test", f'echo "$@" > {tmp_path}/said; cp {wheel_file} a-1-none-any.whl')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python-of-the-test"))
    wheel("a==1", picking({"a/data.txt": "a"})).get([], folder, False)
    assert left_in(folder) == {"a": b"A"}
    assert "download a==1 --no-deps --only-binary :all:" in (tmp_path / "said").read_text()


def test_a_client_that_fails_is_quoted(client, folder):
    client("npm", "echo first >&2; echo 'no such package' >&2; exit 3")
    with pytest.raises(DataError, match=r"`npm pack a@1 .*` failed: no such package"):
        npm("a@1", picking({})).get([], folder, False)
    assert left_in(folder) == {}


def test_a_client_that_leaves_nothing_is_told(client, folder):
    client("npm", "true")
    with pytest.raises(DataError, match=r"must leave one \*\.tgz file, got 0"):
        npm("a@1", picking({})).get([], folder, False)


def test_a_client_that_is_not_installed_is_told(monkeypatch, folder):
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(DataError, match="the program npm is not on this machine"):
        npm("a@1", picking({})).get([], folder, False)


def test_a_client_without_a_reason_is_told():
    with pytest.raises(DataError, match="it gave no reason"):
        run(["false"], Path())
