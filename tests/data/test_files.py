"""Files are found plain or gzipped and believed by their contents alone."""

import gzip

import pytest
from samples import file_of

from conftr.data import DataError
from conftr.data.files import File, find, intact, read

CONTENTS = b"seven wines" * 10
WINES = file_of("wines.csv", CONTENTS)


def test_a_plain_file_is_read(tmp_path):
    (tmp_path / "wines.csv").write_bytes(CONTENTS)
    assert read(WINES, tmp_path) == CONTENTS


@pytest.mark.parametrize("level", [1, 9])
def test_a_gzipped_file_is_judged_by_its_contents(tmp_path, level):
    (tmp_path / "wines.csv.gz").write_bytes(gzip.compress(CONTENTS, level, mtime=level))
    assert read(WINES, tmp_path) == CONTENTS


def test_a_file_that_a_server_unpacked_on_the_way_is_read(tmp_path):
    (tmp_path / "wines.csv.gz").write_bytes(CONTENTS)
    assert read(WINES, tmp_path) == CONTENTS


def test_a_missing_file_is_named(tmp_path):
    assert find(WINES, tmp_path) is None
    with pytest.raises(DataError, match=r"no file wines\.csv \(or wines\.csv\.gz\)"):
        read(WINES, tmp_path)


def test_other_contents_are_refused_with_both_hashes(tmp_path):
    (tmp_path / "wines.csv").write_bytes(CONTENTS.replace(b"seven", b"eight"))
    with pytest.raises(DataError, match=f"sha256 of its contents must be {WINES.digest[7:]}, got"):
        read(WINES, tmp_path)
    assert not intact(WINES, tmp_path)


def test_md5_is_understood(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    assert intact(File("a", 1, "md5:0cc175b9c0f1b6a831c399e269772661"), tmp_path)
    assert not intact(File("a", 1, "md5:0cc175b9c0f1b6a831c399e269772662"), tmp_path)


@pytest.mark.parametrize("name", ["wines.csv", "wines.csv.gz"])
@pytest.mark.parametrize("kept", [0, 5, 40])
def test_a_half_written_file_is_refused_even_without_a_hash(tmp_path, name, kept):
    whole = gzip.compress(CONTENTS) if name.endswith(".gz") else CONTENTS
    (tmp_path / name).write_bytes(whole[: min(kept, len(whole) - 1)])
    with pytest.raises(DataError, match="half written"):
        read(File("wines.csv", len(CONTENTS)), tmp_path)
