"""Tables, arrays and images as inputs of a network: what is learned, kept, and refused."""

import datetime
import json
from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest

from conftr.features import codes, frames
from conftr.features.columns import LEVELS
from conftr.features.images import Images
from conftr.features.spread import Spread

TABLE = {
    "age": [20.0, 30.0, None, 50.0],
    "colour": ["red", "blue", "red", None],
    "member": [True, False, True, True],
    "constant": [7, 7, 7, 7],
}
FRAMES = pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])


class Inputs:
    """What a network is given of any rows, learned from training rows."""

    def __init__(self, x):
        self.reader = codes.learn(x)
        are_images = isinstance(self.reader, Images)
        self.encoding = (
            None if are_images else Spread.learn(self.reader.encode(x), self.reader.levels)
        )

    @property
    def inputs(self):
        return (self.encoding or self.reader).inputs

    def encode(self, x):
        read = self.reader.encode(x)
        return read if self.encoding is None else self.encoding.encode(read)

    def to_json(self):
        return self.reader.to_json(), self.encoding and self.encoding.to_json()

    def again(self):
        """The same after a journey through JSON."""
        reader, encoding = json.loads(json.dumps(self.to_json()))
        other = copy(self)
        other.reader = codes.from_json(reader)
        other.encoding = encoding and Spread.from_json(encoding)
        return other


def test_numbers_by_hand():
    """Mean 3 and deviation 2; the missing number becomes the median, 2, and is told of."""
    x = np.array([[1.0, 4.0], [2.0, 4.0], [6.0, 4.0], [np.nan, 4.0]])
    encoding = Inputs(x)
    deviation = np.std([1, 2, 6])
    expected = [[-2, 0, 0], [-1, 0, 0], [3, 0, 0], [-1, 0, 1]] / np.array([deviation, 1, 1])
    np.testing.assert_allclose(encoding.encode(x), expected, rtol=1e-6)
    assert encoding.encode(x).dtype == np.float32
    assert encoding.inputs == (3,)


def test_a_constant_feature_never_matters():
    encoding = Inputs(np.array([[1.0, 5.0], [2.0, 5.0]]))
    np.testing.assert_array_equal(
        encoding.encode(np.array([[1.0, 1e9]])), encoding.encode(np.array([[1.0, 5.0]]))
    )


def test_a_feature_that_is_missing_throughout_never_matters():
    x = np.array([[1.0, np.nan], [2.0, np.nan]])
    encoding = Inputs(x)
    np.testing.assert_array_equal(encoding.encode(x), encoding.encode([[1.0, 3.0], [2.0, 4.0]]))


def test_far_values_stay_within_reach():
    encoding = Inputs(np.array([[0.0], [1.0]]))
    assert encoding.encode(np.array([[1e30]])) == 10


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "float32", "float64", "bool"])
def test_numbers_of_any_type(kind):
    x = np.array([[0, 1], [1, 0], [1, 1]]).astype(kind)
    np.testing.assert_allclose(Inputs(x).encode(x), Inputs(x.astype(float)).encode(x), rtol=1e-6)


def test_what_is_learned_does_not_depend_on_other_rows():
    x = np.arange(12.0).reshape(6, 2)
    encoding = Inputs(x[:3])
    np.testing.assert_array_equal(encoding.encode(x)[:3], encoding.encode(x[:3]))


@FRAMES
def test_a_frame_by_hand(library):
    encoding = Inputs(library(TABLE))
    whitened = (np.array([20, 30, 30, 50]) - 100 / 3) / np.std([20, 30, 50])
    member = (np.array([1, 0, 1, 1]) - 0.75) / np.std([1, 0, 1, 1])
    np.testing.assert_allclose(
        encoding.encode(library(TABLE)),
        # age, member, constant, age is missing; colour: red, blue, missing
        np.column_stack(
            [whitened, member, np.zeros(4), [0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
        ),
        rtol=1e-6,
        atol=1e-7,
    )


@FRAMES
def test_the_order_of_columns_does_not_matter(library):
    encoding, frame = Inputs(library(TABLE)), library(TABLE)
    turned = frame[["constant", "colour", "member", "age"]]
    np.testing.assert_array_equal(encoding.encode(turned), encoding.encode(frame))


def test_libraries_agree():
    encoding = Inputs(pd.DataFrame(TABLE))
    np.testing.assert_array_equal(
        encoding.encode(pl.DataFrame(TABLE)), encoding.encode(pd.DataFrame(TABLE))
    )


@FRAMES
def test_unseen_levels_and_gaps(library):
    """An unseen level is 0 in every column; so is a gap where training had none."""
    encoding = Inputs(library({"with": ["a", None], "without": ["a", "b"]}))
    result = encoding.encode(library({"with": ["new", None], "without": ["new", None]}))
    np.testing.assert_array_equal(result, [[0, 0, 0, 0], [0, 1, 0, 0]])


def test_a_block_without_values_is_all_missing():
    """As when a large file is read in parts and one of them has a column empty."""
    encoding = Inputs(pl.DataFrame(TABLE))
    empty = pl.DataFrame({"age": [None], "colour": [None], "member": [True], "constant": [7]})
    part = pl.DataFrame(TABLE)[[2, 3]].with_columns(member=True)
    expected = encoding.encode(part.with_columns(colour=pl.lit(None, pl.String)))[:1]
    np.testing.assert_array_equal(encoding.encode(empty), expected)


def test_only_the_most_frequent_levels_get_a_column():
    names = [f"level {i}" for i in range(LEVELS + 50)]
    encoding = Inputs(pl.DataFrame({"id": [*names, "level 149"]}))
    assert encoding.inputs == (LEVELS,)
    assert encoding.reader.frame.levels["id"].levels[0] == "level 149"


def test_categories_and_objects_of_pandas():
    frame = pd.DataFrame(
        {
            "category": pd.Categorical(["u", "v", "u"]),
            "mixed": pd.Series([1, "a", None], dtype=object),
            "counts": pd.Series([1, 2, None], dtype=object),
            "nullable": pd.Series([1, 2, None], dtype="Int64"),
        }
    )
    encoding = Inputs(frame)
    assert encoding.reader.numeric == ("counts", "nullable")
    assert encoding.reader.frame.levels["mixed"].levels == ("1", "a")
    assert np.isfinite(encoding.encode(frame)).all()


def test_levels_that_are_numbers_stay_themselves_where_one_is_missing():
    """pandas makes floats of integers then, which print otherwise."""
    whole = pd.DataFrame({"a": pd.Series([1, 2, 2, 3]).astype("category")})
    gap = pd.DataFrame({"a": pd.Series([1, None, 2, 3]).astype("category")})
    for learned, other in ((whole, gap), (gap, whole)):
        encoding = Inputs(learned)
        known = encoding.encode(learned)
        np.testing.assert_array_equal(encoding.encode(other)[[0, 3]], known[[0, 3]])
    versions = pd.DataFrame({"a": pd.Series(["1", "1.0"]).astype("category")})
    first, second = Inputs(versions).encode(versions)
    assert (first != second).any()


def test_columns_named_by_numbers():
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2))
    assert codes.learn(frame).names == ("0", "1")


@pytest.mark.parametrize("inputs", [(3, 4), (3, 4, 2)])
def test_images_stay_as_they_are(inputs):
    x = np.random.default_rng(0).integers(0, 256, (20, *inputs), dtype=np.uint8)
    encoding = codes.learn(x)
    assert encoding.inputs == inputs
    assert encoding.encode(x) is x
    seen = (x - encoding.shift) * encoding.scale
    channels = seen.reshape(-1, 2) if len(inputs) == 3 else seen.reshape(-1, 1)
    np.testing.assert_allclose(channels.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(channels.std(axis=0), 1, atol=1e-5)


@pytest.mark.parametrize(
    "x",
    [
        np.array([[1.0, np.nan], [2.0, 0.1]]),
        np.random.default_rng(0).normal(size=(5, 2, 2)).astype(np.float32),
        pd.DataFrame(TABLE),
        pl.DataFrame(TABLE),
    ],
    ids=["array", "images", "pandas", "polars"],
)
def test_json_keeps_every_bit(x):
    encoding = Inputs(x)
    other = encoding.again()
    assert other.to_json() == encoding.to_json()
    assert other.inputs == encoding.inputs
    np.testing.assert_array_equal(other.encode(x), encoding.encode(x))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([["a", "b"]]), "X must hold numbers; got an array of type <U1"),
        (np.array([[1.0, np.inf]]), r"infinite at \(0, 1\)"),
        (np.zeros((0, 3)), "not empty"),
        (np.zeros(3), r"got shape \(3,\)"),
        (pd.DataFrame({"when": pd.to_datetime(["2026-01-01"])}), "'when' holds dates or times"),
        (pl.DataFrame({"when": [datetime.date(2026, 1, 1)]}), "'when' holds dates or times"),
        (pl.DataFrame({"took": [datetime.timedelta(1)]}), "'took' holds dates or times"),
        (pd.DataFrame({"when": [datetime.date(2026, 1, 1)]}), "'when' holds date"),
        (pl.DataFrame({"list": [[1, 2]]}), r"'list' holds List"),
        (pd.DataFrame({"a": [np.inf]}), "'a' must hold finite numbers; row 0"),
        (pd.DataFrame({"a": [None, None]}), "nothing to learn from: 'a'"),
        (pl.LazyFrame({"a": [1]}), "got a lazy one"),
        (pd.DataFrame({"a": []}), r"rows and columns; got shape \(0, 1\)"),
    ],
)
def test_what_cannot_be_learned_from(x, message):
    with pytest.raises(ValueError, match=message):
        Inputs(x)


@pytest.mark.parametrize(
    ("learned", "x", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), r"shape \(n, 3\), as it had in fit; got \(2, 4\)"),
        (np.zeros((2, 3, 3)), np.zeros((2, 3)), r"shape \(n, 3, 3\)"),
        (np.zeros((2, 3, 3)), np.full((2, 3, 3), np.nan), "nan in image 0"),
        (pl.DataFrame(TABLE), pl.DataFrame(TABLE).drop("age", "member"), "lacks 'age', 'member'"),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1], "b": [2]}), "has 'b', which fit did"),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": ["x"]}), "'a' must hold numbers"),
        (pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": ["x"]}), "'a' must hold numbers"),
        (pd.DataFrame({"a": [1, 2]}), np.zeros((2, 1)), "must be a data frame"),
    ],
)
def test_what_cannot_be_encoded(learned, x, message):
    with pytest.raises(ValueError, match=message):
        Inputs(learned).encode(x)


class Counted(str):
    """A name that counts how often it is looked up."""

    lookups = 0

    def __hash__(self):
        Counted.lookups += 1
        return super().__hash__()


def test_names_of_columns_are_looked_up_a_few_times_however_many_there_are():
    names = tuple(Counted(f"c{i}") for i in range(300))
    Counted.lookups = 0
    frames.check_columns(names, names)
    assert Counted.lookups < 10 * len(names)
