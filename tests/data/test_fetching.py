"""Filling the cache: sources in turn, nothing half-written is ever taken for a file."""

import gzip
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from samples import file_of

from conftr.data import DataError, Place
from conftr.data.dataset_recipes import DatasetRecipe, locate
from conftr.data.downloads import web
from conftr.data.fetching import obtain
from conftr.data.sources import Source

ONE, TWO = b"one" * 100_000, b"two" * 100_000
FILES = (file_of("one", ONE), file_of("two", TWO))


def recipe(*sources, files=FILES):
    return DatasetRecipe("toy", lambda _: None, files=files, folders=("toy",), sources=sources)


def from_site(site, folder=""):
    return web({name: f"{site.address}{folder}/{name}.gz" for name in ("one", "two")})


@pytest.fixture
def offered(site):
    site.files |= {"/one.gz": gzip.compress(ONE, 0), "/two.gz": gzip.compress(TWO, 0)}
    return site


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_what_is_missing_is_fetched_into_the_cache(offered, cache):
    toy = recipe(from_site(offered))
    assert obtain(toy, progress=False) == Place("cache", cache / "toy") == locate(toy)
    assert names(cache / "toy") == ["one.gz", "two.gz"]


def test_what_is_there_is_not_fetched_again(offered):
    toy = recipe(from_site(offered))
    obtain(toy, progress=False)
    offered.asked.clear()
    obtain(toy, progress=False)
    assert offered.asked == []


def test_a_damaged_file_in_the_cache_is_replaced(offered, cache):
    toy = recipe(from_site(offered))
    obtain(toy, progress=False)
    (cache / "toy" / "one").write_bytes(b"wrong and found first")
    offered.asked.clear()
    obtain(toy, progress=False)
    assert offered.asked == [("/one.gz", None)]
    assert names(cache / "toy") == ["one.gz", "two.gz"]


def test_wrong_contents_are_refused_and_leave_nothing(offered, cache):
    offered.files["/two.gz"] = gzip.compress(TWO.replace(b"w", b"v"))
    with pytest.raises(DataError, match=r"two\.gz: the sha256 of its contents must be"):
        obtain(recipe(from_site(offered)), progress=False)
    assert names(cache / "toy") == [".partial", "one.gz"]
    assert names(cache / "toy" / ".partial") == []


def test_a_file_cut_short_is_refused_though_the_server_calls_it_whole(offered, cache):
    offered.files["/one.gz"] = offered.files["/one.gz"][:-1000]
    with pytest.raises(DataError, match=r"one\.gz: .* is damaged or half written"):
        obtain(recipe(from_site(offered)), progress=False)
    assert names(cache / "toy") == [".partial", "two.gz"]


def test_a_part_that_is_no_beginning_of_the_file_is_found_out(offered, cache):
    partial = cache / "toy" / ".partial"
    partial.mkdir(parents=True)
    (partial / "one.gz.part").write_bytes(b"of another file")
    toy = recipe(from_site(offered))
    with pytest.raises(DataError, match=r"one\.gz: its contents must have"):
        obtain(toy, progress=False)
    assert obtain(toy, progress=False) == locate(toy)


def test_the_next_source_is_tried_for_what_the_first_did_not_give(offered, cache):
    del offered.files["/two.gz"]
    offered.files["/mirror/two.gz"] = gzip.compress(TWO)
    obtain(recipe(from_site(offered), from_site(offered, "/mirror")), progress=False)
    assert [path for path, _ in offered.asked] == ["/one.gz", "/two.gz", "/mirror/two.gz"]


def test_a_source_that_crashes_does_not_stop_the_others(offered):
    def crash(*_):
        raise RuntimeError("no such client")

    toy = recipe(Source("a broken source", crash), from_site(offered))
    assert obtain(toy, progress=False) == locate(toy)


def test_when_all_fail_each_reason_and_the_ways_are_told(site):
    def crash(*_):
        raise RuntimeError("no such client")

    with pytest.raises(DataError) as refusal:
        obtain(recipe(from_site(site), Source("a package", crash)), progress=False)
    message = str(refusal.value)
    assert f"{site.address}/one.gz answered 404" in message
    assert "a package: no such client" in message
    assert "set CONFTR_DATA=FOLDER" in message


def test_a_source_that_gives_nothing_is_named(cache):
    with pytest.raises(DataError, match="an empty source: gave no file one"):
        obtain(recipe(Source("an empty source", lambda *_: None)), progress=False)


def test_a_cache_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CONFTR_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DataError, match="set CONFTR_CACHE to a folder that can be written"):
        obtain(recipe(), progress=False)


def test_many_at_once_download_once(offered):
    offered.pause = 0.005
    toy = recipe(from_site(offered))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: obtain(toy, progress=False), range(4)))
    assert sorted(offered.asked) == [("/one.gz", None), ("/two.gz", None)]


CHILD = """
import sys
from conftr.data.downloads import web
from conftr.data.fetching import obtain
from conftr.data.files import File
from conftr.data.dataset_recipes import DatasetRecipe

address, size, digest = sys.argv[1], int(sys.argv[2]), sys.argv[3]
obtain(DatasetRecipe("toy", lambda _: None, files=(File("one", size, digest),), folders=("toy",),
              sources=(web({"one": f"{address}/one.gz"}),)), progress=False)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal")
def test_a_killed_download_is_never_taken_for_a_file_and_goes_on(offered, cache):
    offered.pause = 0.1
    item = FILES[0]
    toy = recipe(web({"one": f"{offered.address}/one.gz"}), files=(item,))
    part = cache / "toy" / ".partial" / "one.gz.part"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, offered.address, str(item.size), item.digest]
    )
    wait_for(lambda: part.exists() and part.stat().st_size > 0)
    child.send_signal(signal.SIGKILL)
    child.wait()
    kept = part.stat().st_size
    assert 0 < kept < len(offered.files["/one.gz"])
    assert locate(toy) is None
    offered.pause = 0
    assert obtain(toy, progress=False) == locate(toy)
    assert offered.asked[-1] == ("/one.gz", f"bytes={kept}-")


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
