"""Folders of pictures of any size: a block at a time is in memory."""

import tracemalloc

import numpy as np
import pytest
from PIL import Image

from conftr.data.user_files import Inputs, Roles, blocks
from conftr.data.user_files.pictures import listed


def linked(folder, count):
    """So many files that are one picture of 60 x 60."""
    folder.mkdir()
    noise = np.random.default_rng(0).integers(0, 255, (60, 60, 3), np.uint8)
    Image.fromarray(noise).save(folder / "0.png")
    for i in range(1, count):
        (folder / f"{i}.png").hardlink_to(folder / "0.png")
    return folder


def most_memory(folder):
    """The most that walking over a folder's blocks holds at once, and its rows."""
    inputs, rows = Inputs(pictures=(60, 60, 3)), 0
    tracemalloc.start()
    for block in blocks(folder, inputs, Roles(), rows=20):
        rows += len(block.X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return rows, most


def test_more_files_take_no_more_memory(tmp_path):
    few, little = most_memory(linked(tmp_path / "few", 60))
    many, most = most_memory(linked(tmp_path / "many", 300))
    assert (few, many) == (60, 300)
    assert most < little + 240 * 2000  # of a picture, which is 10,800 bytes, only its path is kept


def test_rows_keep_their_numbers_where_pictures_between_them_are_broken(tmp_path):
    folder = linked(tmp_path / "some", 4)
    (folder / "1.png").unlink()  # a link: the others stay whole
    (folder / "1.png").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"1\.png is empty"):
        result = list(blocks(folder, Inputs(pictures=(60, 60, 3)), Roles()))
    assert [(block.first, len(block.X)) for block in result] == [(1, 1), (3, 2)]


def test_folders_are_classes_only_where_one_is_called_as_a_class(tmp_path):
    linked(tmp_path / "may", 2)
    linked(tmp_path / "june", 2)
    assert listed(tmp_path).labels.to_list() == ["june", "june", "may", "may"]
    assert listed(tmp_path, ["cat", "dog"]).labels.null_count() == 4
    assert listed(tmp_path, ["may", "dog"]).labels.null_count() == 0
