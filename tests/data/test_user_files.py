"""The user's own files: what is read, what is refused, and that blocks are the whole."""

import datetime
import os

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from conftr.data import DataError
from conftr.data.user_files import Inputs, Roles, arrays, blocks, by_text, places, read, tables

ROWS = pl.DataFrame(
    {
        "height": [1.5, 2.5, None, 4.0],
        "floor": ["first", "second, left", None, "2"],
        "sold": [True, False, True, None],
        "rooms": [1, 2, 3, 4],
        "kind": ["flat", "house", "flat", "house"],
    }
)
TARGET = Roles(target="kind")


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def table(tmp_path, name="data.csv", frame=ROWS, **options):
    path = tmp_path / name
    frame.write_parquet(path) if name.endswith("parquet") else frame.write_csv(path, **options)
    return path


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("data.csv", {}),
        ("data.csv", {"separator": ";"}),
        ("data.csv", {"separator": "\t"}),
        ("data.csv", {"separator": "|", "quote_style": "always"}),
        ("data.csv", {"include_bom": True, "line_terminator": "\r\n"}),
        ("data.csv", {"null_value": "NA"}),
        ("data.csv", {"null_value": "?"}),
        ("data.tsv", {"separator": "\t"}),
        ("data.parquet", {}),
        ("data [1]*.csv", {}),
        ("data [1]*.parquet", {}),
    ],
)
def test_a_table_is_read_however_it_is_written(tmp_path, name, options):
    given_rows = read(table(tmp_path, name, **options), TARGET)
    assert_frame_equal(given_rows.X, ROWS.drop("kind"))
    assert given_rows.y.tolist() == ["flat", "house", "flat", "house"]
    assert given_rows.notes == ()


def test_types_are_found_by_looking_at_every_row(tmp_path):
    late = "x,kind\n" + "1,a\n" * 5000 + "1.5,b\n"
    assert read(written(tmp_path, late), TARGET).X["x"].dtype == pl.Float64


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([3, 10, 3], [3, 10, 3]),
        ([3.0, 10.0, 3.0], [3, 10, 3]),
        ([True, False, True], ["true", "false", "true"]),
        (["b", "a", "b"], ["b", "a", "b"]),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ["b", "a", "b"]),
    ],
)
@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_classes_are_whole_numbers_or_words(tmp_path, values, classes, name):
    frame = pl.DataFrame({"x": [1, 2, 3], "kind": values})
    path = table(tmp_path, name, frame)
    result = read(path, TARGET).y
    assert result.tolist() == classes
    # Read again as a later file is, every label finds its class.
    known = sorted(set(classes))
    (block,) = blocks(path, Inputs(("x",), ("x",)), TARGET)
    assert [known[k] for k in places(block.labels, known)] == classes


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["01", "1", "001"], ["01", "1", "001"]),
        (["007", "12", " 007"], ["007", "12", "007"]),
        (["-01", "5", "5"], ["-01", "5", "5"]),
        (["0", "10", "-3"], [0, 10, -3]),
        (["0.0", "1.0", "0.0"], [0, 1, 0]),
        ([" 1", "2 ", "1"], [1, 2, 1]),
        (["true", "false", "true"], ["true", "false", "true"]),
        (["0", "a", "0"], ["0", "a", "0"]),
    ],
)
def test_codes_keep_their_zeros(tmp_path, cells, classes):
    path = written(tmp_path, "x,kind\n" + "".join(f"{i},{c}\n" for i, c in enumerate(cells)))
    assert read(path, TARGET).y.tolist() == classes
    np.save(tmp_path / "x.npy", np.eye(3))
    assert read(tmp_path / "x.npy", Roles("kind", labels=path)).y.tolist() == classes
    known = sorted(set(classes))
    (block,) = blocks(path, Inputs(("x",), ("x",)), TARGET)
    assert [known[k] for k in places(block.labels, known)] == classes


def test_labels_that_are_no_class_are_told_apart():
    later = pl.Series(["3", "3.0", "03", "4", None, "x"])
    assert places(later, [3, 5]).tolist() == [0, 0, 0, -1, -1, -1]
    written = pl.Series(["03", "3e0", "+3", "-3", "3.5"])
    assert places(written, [-3, 3]).tolist() == [1, 1, 1, 0, -1]
    assert places(pl.Series(["True", "false", "yes"]), ["false", "true"]).tolist() == [1, 0, -1]
    assert by_text([3, 5]) == {"3": 3, "5": 5}


def test_rows_without_a_class_are_left_out_and_counted(tmp_path):
    given_rows = read(written(tmp_path, "x,kind\n1,a\n2,\n3,b\n"), TARGET)
    assert given_rows.X["x"].to_list() == [1, 3]
    assert given_rows.notes == ("1 row has no value in 'kind' and cannot be learned from.",)


@pytest.mark.parametrize("blank", ["  ", "\t", " NA", '" "', '"?"', " nan "])
def test_a_class_of_blanks_is_missing(tmp_path, blank):
    path = written(tmp_path, f"x,kind\n1,a\n2,{blank}\n3, b\n")
    given_rows = read(path, TARGET)
    assert given_rows.y.tolist() == ["a", "b"]
    assert given_rows.notes == ("1 row has no value in 'kind' and cannot be learned from.",)
    (block,) = blocks(path, Inputs(("x",), ("x",)), TARGET)
    assert block.labels.to_list() == ["a", None, "b"]


@pytest.mark.parametrize("y", [np.array(["a", " ", "b"]), np.array([1, np.nan, 2])])
def test_rows_of_an_array_without_a_class_are_left_out_and_counted(tmp_path, y):
    np.savez(tmp_path / "data.npz", X=np.eye(3), y=y, camera=np.array(["n", "s", "w"]))
    given_rows = read(tmp_path / "data.npz", Roles(groups="camera"))
    assert given_rows.y.tolist() == [y[0], y[2]]
    np.testing.assert_array_equal(given_rows.X, np.eye(3)[[0, 2]])
    assert given_rows.groups.to_list() == ["n", "w"]
    assert given_rows.notes == ("1 row has no value in 'y' and cannot be learned from.",)


def test_groups_and_categories_are_texts_as_they_stand(tmp_path):
    path = written(tmp_path, "code,zip,kind\n007,01,a\n012,02,b\n007,01,a\n")
    given_rows = read(path, Roles("kind", groups="zip", categories=("code",)))
    assert given_rows.groups.to_list() == ["01", "02", "01"]
    assert given_rows.groups.name == "zip"
    assert given_rows.X["code"].to_list() == ["007", "012", "007"]
    inputs = Inputs(("code", "zip"))
    (block,) = blocks(path, inputs, Roles("kind", groups="zip"))
    assert_frame_equal(block.X, given_rows.X)
    assert block.groups.to_list() == given_rows.groups.to_list()


@pytest.mark.parametrize("roles", [TARGET, Roles("")])
def test_a_column_without_a_name_is_read_again(tmp_path, roles):
    # pandas' to_csv() leaves the name of its column of row numbers empty.
    path = written(tmp_path, ",x,kind\n0,1.5,a\n1,2.5,b\n2,0.5,a\n")
    learned = read(path, roles)
    (block,) = blocks(path, Inputs(tuple(learned.X.columns)), roles)
    assert block.X.columns == learned.X.columns
    assert len(block.labels) == len(learned.y) == 3


def test_the_target_as_group_means_each_class(tmp_path):
    given_rows = read(table(tmp_path), Roles("kind").grouped_by("kind"))
    assert given_rows.groups is None
    assert Roles("kind").grouped_by("kind").by_class
    assert Roles().grouped_by("y").by_class
    # Of a table with another target, y is a column like any other.
    assert Roles("kind").grouped_by("y") == Roles("kind", groups="y")
    assert Roles("kind").grouped_by("y").group_by == "y"


def test_some_of_the_rows(tmp_path):
    given_rows = read(table(tmp_path), Roles("kind", groups="rooms")).take(np.array([3, 0]))
    assert given_rows.X["height"].to_list() == [4.0, 1.5]
    assert given_rows.y.tolist() == ["house", "flat"]
    assert given_rows.groups.to_list() == ["4", "1"]


def test_columns_that_tell_nothing_are_noted(tmp_path):
    n = 30
    frame = pl.DataFrame(
        {
            "id": [f"row {i}" for i in range(n)],
            "number": list(range(n)),
            "x": np.linspace(0, 1, n),
            "nothing": pl.Series([None] * n, dtype=pl.String),
            "kind": ["a", "b"] * (n // 2),
        }
    )
    given_rows = read(table(tmp_path, frame=frame), TARGET)
    assert given_rows.X.columns == ["id", "number", "x"]
    about_id, about_number, about_nothing = given_rows.notes
    assert "column 'id' is different in every row" in about_id
    assert "--drop 'id'" in about_id
    assert "'number'" in about_number
    assert about_nothing == "column 'nothing' is empty and tells nothing."
    assert read(table(tmp_path, frame=frame), Roles("kind", drop=("id", "number"))).X.width == 1


DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
REFUSED = [
    ("when,kind\n2024-01-01,a\n2024-01-02,b\n", TARGET, "column 'when' holds dates or times"),
    ("when,kind\n2024-01-01 10:00,a\n", TARGET, "leave the column out with --drop 'when'"),
    ("x,kind\n" + "1,a\n" * 20 + "l2,b\n", TARGET, "row 21 has 'l2'"),
    ("x,kind\n" + "1,a\n" * 20 + "l2,b\n", TARGET, "--category 'x'"),
    ("x;kind\n" + "1,5;a\n" * 20, TARGET, "'x' holds numbers with a decimal comma, such as '1,5'"),
    ("x,price\n1,2.5\n2,3.0\n", Roles("price"), "numbers that are not whole, such as 2.5"),
    ("x,kind\n1,2024-01-01\n", TARGET, "the target 'kind' holds Date"),
    ("x,kind\n1,a\n", Roles("kin"), "there is no column 'kin' in"),
    ("x,kind\n1,a\n", Roles("kind", drop=("y",)), "its columns are x, kind"),
    ("x,kind\n1,a\n", Roles(), "say with --target which column"),
    ("x,kind\n1,\n", TARGET, "no row of"),
    ("x,kind\n1,a\n", Roles("kind", drop=("x",)), "no column to learn from beside 'kind'"),
    ("", TARGET, "is empty"),
    ("x,kind\n1,2,3\n", TARGET, "a row has more cells than there are column names"),
    ("x,kind\n1,caf\xe9\n".encode("latin-1"), TARGET, "it is not in UTF-8"),
]


@pytest.mark.parametrize(("text", "wanted", "words"), REFUSED)
def test_tables_that_cannot_be_learned_from_are_refused_in_words(tmp_path, text, wanted, words):
    with pytest.raises(DataError) as refused:
        read(written(tmp_path, text), wanted)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_parquet_columns_of_no_use_are_refused_unless_left_out(tmp_path):
    frame = pl.DataFrame({"when": DAYS, "many": [[1], [2], [3]], "x": [1, 2, 3], "kind": ["a"] * 3})
    path = table(tmp_path, "data.parquet", frame)
    with pytest.raises(DataError, match="column 'when' holds dates"):
        read(path, TARGET)
    with pytest.raises(DataError, match="column 'many' holds List"):
        read(path, Roles("kind", drop=("when",)))
    assert read(path, Roles("kind", drop=("when", "many"))).X.columns == ["x"]


def test_files_of_no_known_kind_are_refused(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        read(tmp_path / "nothing.csv", TARGET)
    with pytest.raises(DataError, match=r"must be a \.csv, \.tsv"):
        read(written(tmp_path, "x", "data.xlsx"), TARGET)
    with pytest.raises(DataError, match="cannot be read as a table"):
        read(written(tmp_path, "x", "data.parquet"), TARGET)


def joined(parts):
    parts = list(parts)
    starts = np.cumsum([1, *(len(part.X) for part in parts)])
    assert [part.first for part in parts] == starts[:-1].tolist()
    return pl.concat([part.X for part in parts]), pl.concat([part.kept for part in parts])


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.parquet"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_blocks_are_the_whole_in_order(tmp_path, monkeypatch, name, rows):
    monkeypatch.setattr(tables, "_BYTES", 100)  # so that rows are cut anywhere
    rng = np.random.default_rng(0)
    texts = ["plain", 'with "quotes"', "a, comma", "two\nlines", "", None]
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=200).round(3),
            "text": [texts[i] for i in rng.integers(0, 6, 200)],
            "flag": rng.random(200) < 0.5,
            "id": np.arange(200),
        }
    )
    options = {"separator": "\t"} if name.endswith("tsv") else {}
    path = table(tmp_path, name, frame, **options)
    inputs = Inputs(("x", "text", "flag"), ("x", "flag"))
    X, kept = joined(blocks(path, inputs, Roles(), keep=("id",), rows=rows))
    empty = None if name != "data.parquet" else ""
    expected = frame.drop("id").with_columns(
        pl.col("flag").cast(pl.Float64), pl.col("text").replace("", empty)
    )
    assert_frame_equal(X, expected)
    assert kept["id"].cast(pl.Int64).to_list() == list(range(200))


BLANKS = [
    "x,y\n1,2\n\n\n3,4\n\n,6\n",
    "x,y\n1,2\n   \n3,4\n,6\n\n\n",
    "x,y\r\n1,2\r\n\r\n3,4\r\n  \r\n,6\r\n",
    "\n\nx;y\n1;2\n\n3;4\n;6\n   ",
]


@pytest.mark.parametrize("text", BLANKS)
def test_blank_lines_are_no_rows_wherever_the_file_is_cut(tmp_path, monkeypatch, text):
    path = written(tmp_path, text)
    assert tables.read(path)["x"].to_list() == [1, 3, None]
    for size in range(4, 30):
        monkeypatch.setattr(tables, "_BYTES", size)
        X, _ = joined(blocks(path, Inputs(("x",), ("x",)), Roles()))
        assert X["x"].to_list() == [1, 3, None]


@pytest.mark.parametrize("number", ["1e19", "99999999999999999999", "inf", "-18446744073709551615"])
def test_classes_beyond_what_numbers_tell_apart_are_refused(tmp_path, number):
    path = written(tmp_path, f"x,kind\n1,{number}\n2,1\n3,2\n")
    with pytest.raises(DataError, match="classes that are numbers have at most 18 digits"):
        read(path, TARGET)
    named = Roles("kind", categories=("kind",))  # names of any length
    assert read(path, named).y.tolist() == [number, "1", "2"]


@pytest.mark.parametrize("cell", ['5" pipe', '"5" pipe'])
def test_a_stray_quotation_mark_is_told_in_words(tmp_path, cell):
    lines = [f"{i},word,{'ab'[i % 2]}\n" for i in range(3000)]
    path = written(tmp_path, "x,w,kind\n" + "".join([*lines[:400], f"1,{cell},a\n", *lines]))
    with pytest.raises(DataError, match="a quotation mark stands in the middle of a cell"):
        read(path, TARGET)
    with pytest.raises(DataError, match="a quotation mark stands in the middle of a cell"):
        list(blocks(path, Inputs(("x", "w"), ("x",)), TARGET))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_another_encoding_is_told_in_words(tmp_path, encoding):
    path = written(tmp_path, "x,kind\n1,a\n2,b\n".encode(encoding))
    with pytest.raises(DataError, match="looks like UTF-16: save it with the encoding UTF-8"):
        read(path, TARGET)


def test_blank_lines_in_quotes_belong_to_their_cell(tmp_path):
    path = written(tmp_path, 'x,y\n"a\n\nb",2\n\n"c","d"\n\n"e",f\n')
    assert tables.read(path)["x"].to_list() == ["a\n\nb", "c", "e"]
    X, _ = joined(blocks(path, Inputs(("x",)), Roles()))
    assert X["x"].to_list() == ["a\n\nb", "c", "e"]


def test_lines_that_end_in_cr_alone_are_refused(tmp_path):
    path = written(tmp_path, "x,kind\r1,a\r2,b\r")
    for reads in (
        lambda: read(path, TARGET),
        lambda: list(blocks(path, Inputs(("x",)), Roles())),
        lambda: tables.columns(path),
    ):
        with pytest.raises(DataError, match="end in CR alone"):
            reads()


NUMBERS = "x,kind\n" + "1.5,a\n2,b\n" * 20


@pytest.mark.parametrize("cell", [" 3", "3 ", "\t3.0 ", "+3"])
def test_numbers_with_blanks_around_them_are_numbers(tmp_path, cell):
    path = written(tmp_path, f"{NUMBERS}{cell},a\n NA ,b\n,a\n")
    expected = [1.5, 2] * 20 + [3, None, None]
    assert read(path, TARGET).X["x"].to_list() == expected
    X, _ = joined(blocks(path, Inputs(("x",), ("x",)), Roles()))
    assert X["x"].to_list() == expected


@pytest.mark.parametrize("cell", ["-Infinity", "inf", "Infinity", "1e400", "l2", "1_000", "0x10"])
def test_what_is_no_number_among_numbers_is_refused_with_its_row_in_the_file(tmp_path, cell):
    path = written(tmp_path, NUMBERS.replace("1.5,a", "1.5,", 3) + f"{cell},a\n")
    with pytest.raises(DataError, match=r"column 'x' holds numbers, but row 41 has"):
        read(path, TARGET)
    with pytest.raises(DataError, match=r"column 'x' of .* must hold numbers, .* row 41 has"):
        list(blocks(path, Inputs(("x",), ("x",)), Roles()))


@pytest.mark.parametrize("markers", [["-"], ["-", "n.d."]])
def test_a_marker_among_numbers_is_refused_by_its_name(tmp_path, markers):
    cells = [markers[i % len(markers)] if i % 3 == 0 else str(i / 7) for i in range(90)]
    frame = pl.DataFrame({"x": cells, "kind": ["a", "b"] * 45})
    words = f"30 rows have {' or '.join(map(repr, markers))}: if that stands for a missing value"
    with pytest.raises(DataError, match=words):
        read(table(tmp_path, frame=frame), TARGET)
    named = read(table(tmp_path, frame=frame), Roles("kind", categories=("x",)))
    assert named.X["x"].to_list() == cells
    few = frame.with_columns(x=pl.Series(["-", "1", "2"] * 30))
    assert read(table(tmp_path, frame=few), TARGET).X["x"].dtype == pl.String


def test_infinite_numbers_of_a_parquet_file_are_refused_with_their_row(tmp_path):
    frame = pl.DataFrame({"x": [1.0, 2.0, np.inf], "kind": ["a", "b", "a"]})
    path = table(tmp_path, "data.parquet", frame)
    with pytest.raises(DataError, match="row 3 has 'inf'"):
        read(path, TARGET)
    with pytest.raises(DataError, match="row 3 has inf"):
        list(blocks(path, Inputs(("x",), ("x",)), Roles()))


def test_amounts_are_no_classes(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=900), "pay": rng.integers(0, 2000, 900)})
    path = table(tmp_path, frame=frame)
    with pytest.raises(DataError) as refused:
        read(path, Roles("pay"))
    assert "different numbers, most of them in fewer than 5 rows" in str(refused.value)
    assert "cut them into classes first" in str(refused.value)
    assert "--category 'pay'" in str(refused.value)
    assert len(str(refused.value)) < 400
    named = read(path, Roles("pay", categories=("pay",)))
    assert set(named.y) == {str(value) for value in frame["pay"]}
    often = frame.with_columns(pay=pl.col("pay") % 150)  # six rows each, and so classes
    assert len(read(table(tmp_path, frame=often), Roles("pay")).y) == 900


def test_labels_are_counted_before_rows_are_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "d.npz", X=np.zeros((1000, 50)), y=np.zeros(999, int))
    unpacked = []
    monkeypatch.setattr(
        arrays, "read", lambda path, name=None: unpacked.append(name) or np.zeros(999)
    )
    with pytest.raises(DataError, match="a label for each of the 1,000 rows; got 999"):
        read(tmp_path / "d.npz", Roles())
    assert unpacked == []


def test_a_file_without_rows_gives_a_block_without_rows(tmp_path):
    (block,) = blocks(written(tmp_path, "x,kind\n"), Inputs(("x",), ("x",)), TARGET)
    assert block.X.shape == (0, 1)
    empty = pl.DataFrame(schema={"x": pl.Float64})
    (block,) = blocks(table(tmp_path, "data.parquet", empty), Inputs(("x",), ("x",)), TARGET)
    assert block.X.shape == (0, 1)
    np.save(tmp_path / "x.npy", np.zeros((0, 3)))
    (block,) = blocks(tmp_path / "x.npy", Inputs(), Roles())
    assert block.X.shape == (0, 3)


def test_what_is_no_number_is_refused_with_its_row(tmp_path, monkeypatch):
    path = written(tmp_path, "x,y\n" + "1,2\n" * 500 + " 3 ,4\ntwelve,5\n")
    monkeypatch.setattr(tables, "_BYTES", 64)
    with pytest.raises(DataError, match=r"column 'x' of .* row 502 has 'twelve'"):
        list(blocks(path, Inputs(("x",), ("x",)), Roles()))
    with pytest.raises(DataError, match="there is no column 'z'"):
        list(blocks(path, Inputs(("z",)), Roles()))


def test_true_and_false_are_numbers_only_among_themselves(tmp_path):
    inputs = Inputs(("x",), ("x",))
    (block,) = blocks(written(tmp_path, "x,y\nTRUE,1\n,1\nfalse,1\n"), inputs, Roles())
    assert block.X["x"].to_list() == [1.0, None, 0.0]
    with pytest.raises(DataError, match="row 1 has 'true'"):
        list(blocks(written(tmp_path, "x,y\ntrue,1\n2,1\n"), inputs, Roles()))


def test_a_quotation_mark_that_is_not_closed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_BYTES", 100)
    monkeypatch.setattr(tables, "_LONGEST", 1000)
    path = written(tmp_path, 'x,y\n1,2\n3,"open\n' + "5,6\n" * 500)
    with pytest.raises(DataError, match="a quotation mark after row 1 that is not closed"):
        list(blocks(path, Inputs(("x",), ("x",)), Roles()))


IMAGES = np.arange(5 * 3 * 4, dtype=np.uint8).reshape(5, 3, 4)
NAMES = np.array(["a", "b", "a", "b", "a"])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_archive(tmp_path, order, save):
    save(tmp_path / "d.npz", X=np.asarray(IMAGES, order=order), y=NAMES, site=[1, 1, 2, 2, 2])
    given_rows = read(tmp_path / "d.npz", Roles(groups="site"))
    assert (given_rows.X == IMAGES).all()
    assert given_rows.y.tolist() == NAMES.tolist()
    assert given_rows.groups.to_list() == ["1", "1", "2", "2", "2"]
    parts = list(blocks(tmp_path / "d.npz", Inputs(), Roles(groups="site"), rows=2))
    assert [len(part.X) for part in parts] == [2, 2, 1]
    assert (np.concatenate([part.X for part in parts]) == IMAGES).all()
    assert pl.concat([part.labels for part in parts]).to_list() == NAMES.tolist()
    assert pl.concat([part.groups for part in parts]).to_list() == given_rows.groups.to_list()


def test_a_pair_of_array_files(tmp_path):
    np.save(tmp_path / "x.npy", IMAGES)
    np.save(tmp_path / "y.npy", NAMES.astype("S"))
    (tmp_path / "y.csv").write_text("kind\n" + "\n".join(NAMES))
    for labels in ("y.npy", "y.csv"):
        given_rows = read(tmp_path / "x.npy", Roles(labels=tmp_path / labels))
        assert given_rows.y.tolist() == NAMES.tolist()


def objects(path):
    np.save(path, np.array([{}, {}]), allow_pickle=True)


def cut_off(path):
    np.save(path, IMAGES)
    os.truncate(path, path.stat().st_size - 7)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (objects, "holds Python objects, which could run code"),
        (cut_off, "is cut off or damaged"),
        (lambda path: path.write_bytes(b"no array"), "is not an array as numpy.save writes it"),
        (lambda path: np.save(path, 3.0), "holds a single value"),
    ],
)
def test_array_files_that_cannot_be_read_are_refused_in_words(tmp_path, make, words):
    make(tmp_path / "x.npy")
    np.save(tmp_path / "y.npy", NAMES)
    with pytest.raises(DataError, match=words):
        read(tmp_path / "x.npy", Roles(labels=tmp_path / "y.npy"))


def test_a_damaged_archive_is_refused(tmp_path):
    path = tmp_path / "d.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match="is not an archive"):
        read(path, Roles())
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(50, 50)), y=np.arange(50))
    content = bytearray(path.read_bytes())
    content[2000] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError, match="is cut off or damaged"):
        read(path, Roles())


def test_arrays_and_labels_that_do_not_fit_are_refused(tmp_path):
    np.savez(tmp_path / "d.npz", X=IMAGES, y=NAMES[:3], two=IMAGES[:, 0], more=NAMES)
    np.save(tmp_path / "x.npy", IMAGES)
    with pytest.raises(DataError, match="a label for each of the 5 rows; got 3"):
        read(tmp_path / "d.npz", Roles())
    with pytest.raises(DataError, match=r"one label a row, \(n,\); got shape \(5, 4\)"):
        read(tmp_path / "d.npz", Roles("two"))
    with pytest.raises(DataError, match=r"no array 'z' in .* its arrays are X, y, two, more"):
        read(tmp_path / "d.npz", Roles("z"))
    with pytest.raises(DataError, match="say with --labels"):
        read(tmp_path / "x.npy", Roles())
    with pytest.raises(DataError, match="groups must be an array"):
        read(tmp_path / "x.npy", Roles(labels=tmp_path / "d.npz", target="more", groups="y"))
    with pytest.raises(DataError, match="none can be chosen"):
        read(tmp_path / "d.npz", Roles(drop=("x",)))


def test_a_table_for_arrays_and_the_reverse_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", IMAGES)
    with pytest.raises(DataError, match="holds an array, but the model learned from a table"):
        list(blocks(tmp_path / "x.npy", Inputs(("x",)), Roles()))
    with pytest.raises(DataError, match="is a table, but the model learned from an array"):
        list(blocks(table(tmp_path), Inputs(), Roles()))
    with pytest.raises(DataError, match="none can be kept"):
        list(blocks(tmp_path / "x.npy", Inputs(), Roles(), keep=("id",)))


def test_a_dataset_by_name():
    given_rows = read("digits", Roles())
    assert given_rows.X.shape == (1797, 8, 8, 1)
    assert set(given_rows.y) == set("0123456789")
    assert given_rows.origin["dataset"] == "digits"
    with pytest.raises(DataError, match="has no column 'site'"):
        read("digits", Roles(groups="site"))


def test_a_long_label_makes_no_other_row_longer(tmp_path):
    rows = "".join(f"{i},{'a' * 100_000 if i == 7 else 'b'}\n" for i in range(2000))
    given_rows = read(written(tmp_path, "x,kind\n" + rows), TARGET)
    assert given_rows.y.nbytes < 100_000
    assert given_rows.y[7] == "a" * 100_000
