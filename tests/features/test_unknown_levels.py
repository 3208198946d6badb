"""Columns of new rows without a single known category are told."""

import pandas as pd
import polars as pl
import pytest

from conftr.features import codes, unknown_levels


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame])
def frame(request):
    return request.param


@pytest.fixture
def reader(frame):
    return codes.learn(frame({"x": [1, 2], "kind": ["a", "b"], "site": ["n", "s"]}))


def test_filled_cells_and_unknown_ones_are_counted(frame, reader):
    rows = frame({"x": [1] * 4, "kind": ["A", None, "B", "a"], "site": ["n", "s", "n", "s"]})
    assert unknown_levels.counted(reader, rows) == {"kind": (3, 2), "site": (4, 0)}
    assert unknown_levels.counted(codes.Columns(2, {}), [[1, 2]]) == {}


def test_a_column_that_was_empty_in_training_is_left_out(frame):
    empty = codes.learn(frame({"x": [1, 2], "kind": [None, None]}))
    assert unknown_levels.counted(empty, frame({"x": [1], "kind": ["a"]})) == {}


def test_a_sentence_names_the_column_where_all_of_twenty_cells_are_unknown():
    counts = unknown_levels.added({"kind": (12, 12), "site": (12, 12)}, {"kind": (8, 8)})
    assert unknown_levels.sentence(counts) == (
        "column 'kind' has a value in 20 rows, and none is a category that training saw: compare "
        "how they are spelled."
    )
    assert unknown_levels.sentence({"kind": (20, 19), "site": (19, 19)}) == ""


def test_a_warning_is_given(frame, reader):
    rows = frame({"x": [1] * 20, "kind": ["A"] * 20, "site": ["n"] * 20})
    with pytest.warns(unknown_levels.CategoryWarning, match="column 'kind' has a value in 20"):
        unknown_levels.warn(reader, rows)
