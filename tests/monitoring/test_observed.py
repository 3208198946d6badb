"""What a monitor has seen: rows count once, and its file is whole or refused."""

import json

import numpy as np
import pytest
import safetensors.numpy

from conftr.data import DataError
from conftr.monitoring import observed
from conftr.monitoring.observed import CountedRows, LabelledRows, Observed

EMPTY = CountedRows({"size": np.zeros(0, np.int64)})
UNLABELLED = LabelledRows({"label": np.zeros(0, np.int64)})


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


def places(rows, *digests):
    return rows.places(np.array(digests, np.uint64)).tolist()


def test_rows_of_a_file_have_their_places_among_those_that_were_counted():
    rows = EMPTY.with_file(*file(1, 2)).with_file(*file(5, 6)).with_file(*file(1, 2, 2))
    assert places(rows, 1, 2, 2) == [0, 1, 4]
    assert places(rows, 5, 6, 7) == [2, 3, -1]
    assert places(rows, 2, 1) == [-1, -1]


def test_files_that_begin_alike_share_those_rows_alone():
    rows = EMPTY.with_file(*file(1, 2)).with_file(*file(1, 2, 3)).with_file(*file(1, 2, 4))
    assert sizes(rows) == [1, 2, 3, 4]
    assert (places(rows, 1, 2, 3), places(rows, 1, 2, 4)) == ([0, 1, 2], [0, 1, 3])


def test_an_id_has_its_place_wherever_it_stands():
    ids = np.array([9, 7, 8], np.uint64)
    rows = EMPTY.with_file(*file(1, 2, 3), ids)
    other = np.array([8, 5, 9, 8, 10], np.uint64)
    assert rows.places(other, other).tolist() == [2, -1, 0, 2, -1]
    assert EMPTY.places(other, other).tolist() == [-1] * 5


def labelled(rows, by_place):
    return rows.with_rows(
        np.array(list(by_place)), {"label": np.array(list(by_place.values()), np.int64)}
    )


def test_labels_count_once_in_whatever_order_they_come():
    some = labelled(UNLABELLED, {3: 30, 5: 50})
    more = labelled(some, {0: 0, 3: 30, 4: 40, 5: 50})
    assert more.columns["label"].tolist() == [30, 50, 0, 40]
    assert more.places.tolist() == [3, 5, 0, 4]
    assert len(labelled(more, {0: 0, 3: 30, 4: 40, 5: 50})) == 4


def test_the_first_label_of_a_row_counts():
    assert labelled(labelled(UNLABELLED, {3: 30}), {3: 31}).columns["label"].tolist() == [30]


def state(rows, labels, id_column=None):
    """Counted rows in two files, 0 and 1, then 2 to `rows`; some of them have labels."""
    digests, known = np.arange(rows, dtype=np.uint64), np.array(labels, np.int64)
    begun, counted = Observed.begin("0123", 0.05, 3, id_column), None
    for part in (digests[:2], digests[2:]):
        columns = {"size": part.astype(np.int64), "confidence": part / 9}
        ids = part if id_column else None
        counted = (counted or begun.counted).with_file(part, columns, ids)
    columns = dict.fromkeys(begun.labelled.columns, known)
    return begun.grown(counted, begun.labelled.with_rows(known, columns), 2, 1)


def write_first_format(path, rows, labels, *, files, labelled_files, id_column=None):
    """What the monitor wrote before it kept the places of rows."""
    now = state(rows, labels, id_column)
    observed.write(now, path)
    arrays = safetensors.numpy.load_file(path)
    known = arrays.pop("labelled/places").astype(np.uint64)
    arrays["labelled/ids"] = known if id_column else known[:0]
    metadata = {"model": "0123", "level": 0.05, "seed": 3, "id_column": id_column}
    metadata |= {"format": 1, "strangers": 2, "unseen": 1}
    metadata |= {"counted": files, "labelled": labelled_files}
    safetensors.numpy.save_file(arrays, path, {"told": json.dumps(metadata)})
    return now


TWO_FILES = [(2, "a"), (3, "b")]
GROWN_FILES = [(2, "a"), (5, "b")]


@pytest.mark.parametrize("labels", [[], [0, 1, 2, 3, 4]], ids=["none", "all"])
@pytest.mark.parametrize("files", [TWO_FILES, GROWN_FILES], ids=["two", "grown"])
def test_the_first_format_is_gone_on_from_where_rows_can_be_told(tmp_path, labels, files):
    path = tmp_path / "state"
    labelled_files = files if labels else []
    now = write_first_format(path, 5, labels, files=files, labelled_files=labelled_files)
    result = observed.read(path)
    np.testing.assert_array_equal(result.labelled.places, now.labelled.places)
    assert [(known.rows, known.digest) for known in result.counted.files] == files
    assert [known.start for known in result.counted.files] == [0, 2]
    assert [known.parent for known in result.counted.files] == [
        None,
        0 if files == GROWN_FILES else None,
    ]
    observed.write(result, path)
    assert observed.read(path).counted.files == result.counted.files


def test_the_first_format_is_gone_on_from_with_ids(tmp_path):
    path = tmp_path / "state"
    write_first_format(path, 5, [4, 1], files=[], labelled_files=[], id_column="id")
    assert observed.read(path).labelled.places.tolist() == [4, 1]


def test_in_files_of_the_first_format_whose_rows_all_have_labels_none_counts_again(tmp_path):
    path, files = tmp_path / "state", [(2, "a"), (2, "b"), (3, "c")]  # which one grew?
    write_first_format(path, 5, range(5), files=files, labelled_files=files)
    result = observed.read(path)
    assert {known.start for known in result.counted.files} == {0}
    assert result.labelled.places.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("labels", "files", "labelled_files"),
    [
        ([0, 2], TWO_FILES, [(1, "a"), (1, "b")]),
        ([0, 1, 2, 3, 4], TWO_FILES, [(2, "a"), (1, "b"), (2, "c")]),
        ([], [(2, "a"), (2, "b"), (3, "c")], []),
    ],
    ids=["some labels", "labels that came later", "files that overlap"],
)
def test_the_first_format_is_refused_where_rows_cannot_be_told(
    tmp_path, labels, files, labelled_files
):
    path = tmp_path / "state"
    write_first_format(path, 5, labels, files=files, labelled_files=labelled_files)
    with pytest.raises(DataError, match="did not keep which rows had their labels counted"):
        observed.read(path)


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


def test_files_and_labelled_rows_come_back(tmp_path):
    now = state(5, [4, 1])
    observed.write(now, tmp_path / "state")
    result = observed.read(tmp_path / "state")
    assert result.counted.files == now.counted.files
    assert result.labelled.places.tolist() == [4, 1]
    assert result.labelled.columns["score"].tolist() == [4, 1]


@pytest.mark.parametrize("content", [b"", b"nonsense", bytes(100)])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(DataError, match="Move it away to begin anew"):
        observed.read(tmp_path / "state")
