"""Downloads from a server on this machine that breaks off, forgets ranges, or lies."""

import hashlib
import io
import zipfile

import pytest
from samples import file_of, tar_bytes

from conftr.data import DataError
from conftr.data.download_progress import Bar
from conftr.data.downloads import download, web, web_archive
from conftr.data.sources import picking

CONTENTS = bytes(range(256)) * 2000


def test_a_file_arrives_whole(site, tmp_path):
    site.files["/a"] = CONTENTS
    download(f"{site.address}/a", tmp_path / "a", progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENTS
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a"]


def test_a_file_that_is_there_is_not_asked_for_again(site, tmp_path):
    (tmp_path / "a").write_bytes(b"here")
    download(f"{site.address}/a", tmp_path / "a", progress=False)
    assert site.asked == []


def test_a_download_broken_off_goes_on_where_it_stopped(site, tmp_path):
    site.files["/a"], site.break_after = CONTENTS, 200_000
    with pytest.raises(DataError, match=r"broke off; [\d,]+ bytes are kept"):
        download(f"{site.address}/a", tmp_path / "a", progress=False)
    assert not (tmp_path / "a").exists()
    kept = (tmp_path / "a.part").stat().st_size
    assert 0 < kept <= 200_000
    site.break_after = None
    download(f"{site.address}/a", tmp_path / "a", progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENTS
    assert site.asked == [("/a", None), ("/a", f"bytes={kept}-")]


def test_a_server_without_ranges_sends_everything_again(site, tmp_path):
    site.files["/a"], site.ranges = CONTENTS, False
    (tmp_path / "a.part").write_bytes(CONTENTS[:1000])
    download(f"{site.address}/a", tmp_path / "a", progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENTS


def test_a_part_longer_than_the_file_is_thrown_away(site, tmp_path):
    site.files["/a"] = CONTENTS
    (tmp_path / "a.part").write_bytes(CONTENTS + b"more")
    download(f"{site.address}/a", tmp_path / "a", progress=False)
    assert (tmp_path / "a").read_bytes() == CONTENTS


def test_a_refusal_is_told_with_its_number(site, tmp_path):
    with pytest.raises(DataError, match=f"{site.address}/b answered 404"):
        download(f"{site.address}/b", tmp_path / "b", progress=False)
    assert not (tmp_path / "b").exists()


def test_a_host_that_is_not_there_is_told(tmp_path):
    with pytest.raises(DataError, match="cannot be reached"):
        download("http://127.0.0.1:9/a", tmp_path / "a", progress=False)


def test_web_brings_each_file_from_its_address(site, tmp_path):
    site.files |= {"/x/one.gz": b"1", "/y/two": b"2"}
    source = web({"one": f"{site.address}/x/one.gz", "two": f"{site.address}/y/two"})
    source.get([file_of("one", b"1"), file_of("two", b"2")], tmp_path, False)
    assert (tmp_path / "one.gz").read_bytes() == b"1"
    assert (tmp_path / "two").read_bytes() == b"2"
    assert source.label == f"download from {site.address.removeprefix('http://')}"


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [zipped, tar_bytes])
def test_an_archive_is_checked_and_only_the_wanted_members_taken(site, tmp_path, pack):
    packed = pack({"deep/a.bin": b"A", "../evil": b"E"})
    site.files["/archive"] = packed
    checksum = f"md5:{hashlib.md5(packed).hexdigest()}"
    source = web_archive(f"{site.address}/archive", checksum, picking({"deep/a.bin": "a"}))
    source.get([], tmp_path, False)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir() if path.is_file()] == [
        ("a", b"A")
    ]
    assert not (tmp_path.parent / "evil").exists()


@pytest.mark.parametrize("pack", [zipped, tar_bytes])
def test_an_archive_without_the_member_is_refused(tmp_path, pack):
    (tmp_path / "archive").write_bytes(pack({"b": b"B"}))
    with pytest.raises(DataError, match=r"archive lacks a file: .*deep/a"):
        picking({"deep/a": "a"})(tmp_path / "archive", tmp_path)


def test_an_archive_with_a_wrong_checksum_is_thrown_away(site, tmp_path):
    site.files["/archive"] = zipped({"a": b"A"})
    source = web_archive(f"{site.address}/archive", "md5:0", picking({"a": "a"}))
    with pytest.raises(DataError, match="md5 of archive must be 0, got"):
        source.get([], tmp_path, False)
    assert [path for path in tmp_path.iterdir() if path.is_file()] == []


def test_progress_is_announced_on_standard_error(site, tmp_path, capsys):
    site.files["/a"] = CONTENTS
    download(f"{site.address}/a", tmp_path / "a", progress=True)
    assert capsys.readouterr().err == f"conftr: downloading {site.address}/a\n"


def test_the_bar_tells_share_and_time_left():
    bar = Bar(total=4_000_000, started=100.0)
    bar.update(1_000_000)
    assert bar.describe(now=110.0) == "1.0 of 4.0 MB, 25%, 30 s left"
    bar.reset()
    assert bar.describe(now=110.0) == "0.0 of 4.0 MB, 0%, 0 s left"
    assert Bar(done=500_000).describe(now=0.0) == "0.5 MB"
