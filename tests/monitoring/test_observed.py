"""What a monitor has seen: rows count once, and its file is whole or refused."""

import numpy as np
import pytest

from conftr.data import DataError
from conftr.monitoring import observed
from conftr.monitoring.observed import CountedRows, Observed

EMPTY = CountedRows({"size": np.zeros(0, np.int64)})


def file(*rows):
    return np.array(rows, np.uint64), {"size": np.array(rows)}


def sizes(rows):
    return rows.columns["size"].tolist()


def test_a_file_counts_once():
    once = EMPTY.with_file(*file(1, 2, 2))
    assert sizes(once.with_file(*file(1, 2, 2))) == sizes(once) == [1, 2, 2]
    assert once.with_file(*file(1, 2, 2)).files == once.files


def test_a_file_that_has_grown_is_taken_up_where_it_was():
    grown = EMPTY.with_file(*file(1, 2)).with_file(*file(1, 2, 3)).with_file(*file(1, 2, 3, 1))
    assert sizes(grown) == [1, 2, 3, 1]
    assert sizes(grown.with_file(*file(1, 2))) == [1, 2, 3, 1]  # the file of the first day


def test_rows_that_are_equal_by_chance_count():
    assert sizes(EMPTY.with_file(*file(1, 2)).with_file(*file(2, 1))) == [1, 2, 2, 1]


def test_an_id_counts_once_wherever_it_stands():
    ids = np.array([7, 8, 7], np.uint64)
    once = EMPTY.with_file(*file(1, 2, 3), ids)
    assert sizes(once) == [1, 2]
    assert sizes(once.with_file(*file(5, 6), np.array([9, 8], np.uint64))) == [1, 2, 5]


def test_what_was_seen_comes_back(tmp_path):
    begun = Observed.begin("0123", 0.05, 3, "id")
    counted = begun.counted.with_file(
        np.arange(3, dtype=np.uint64),
        {"size": np.array([1, 2, 3]), "confidence": np.array([0.5, 0.6, 0.7])},
        np.arange(3, dtype=np.uint64),
    )
    grown = begun.grown(counted, begun.labelled, strangers=2, unseen=1)
    observed.write(grown, tmp_path / "state")
    result = observed.read(tmp_path / "state")
    for name in ("model", "level", "seed", "id_column", "strangers", "unseen"):
        assert getattr(result, name) == getattr(grown, name)
    assert result.counted.files == counted.files
    np.testing.assert_array_equal(result.counted.ids, counted.ids)
    np.testing.assert_array_equal(result.counted.columns["size"], [1, 2, 3])
    assert len(result.labelled) == 0


@pytest.mark.parametrize("content", [b"", b"nonsense", bytes(100)])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(DataError, match="Move it away to begin anew"):
        observed.read(tmp_path / "state")
