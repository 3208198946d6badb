import numpy as np
import pandas as pd
import polars as pl
import pytest

from conftr.features import codes
from conftr.features.spread import Spread

TRAINING = {"size": [1.5, 2.0, None, 4.0], "kind": ["b", "a", "b", None]}
NEW = {"kind": ["c", None, "a"], "size": [7.0, None, 1.0]}


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame])
def frame(request):
    return request.param


def test_numbers_stay_and_categories_are_numbered_by_frequency(frame):
    reader = codes.learn(frame(TRAINING))
    expected = [[1.5, 0], [2, 1], [np.nan, 0], [4, np.nan]]
    np.testing.assert_array_equal(reader.encode(frame(TRAINING)), expected)
    assert reader.levels == {1: 2}


def test_a_level_that_training_did_not_see_comes_after_the_last(frame):
    reader = codes.learn(frame(TRAINING))
    np.testing.assert_array_equal(reader.encode(frame(NEW)), [[7, 2], [np.nan, np.nan], [1, 1]])


def test_what_is_written_reads_the_same(frame):
    reader = codes.learn(frame(TRAINING))
    again = codes.from_json(reader.to_json())
    np.testing.assert_array_equal(again.encode(frame(NEW)), reader.encode(frame(NEW)))


def test_arrays_and_images_are_read_as_they_are():
    x = np.array([[1, 2], [3, 4]])
    reader = codes.learn(x)
    np.testing.assert_array_equal(codes.from_json(reader.to_json()).encode(x), x)
    images = np.zeros((2, 3, 3), np.uint8)
    reader = codes.learn(images)
    assert codes.from_json(reader.to_json()).encode(images) is images


def test_rows_of_another_shape_are_refused():
    reader = codes.learn(np.eye(3))
    with pytest.raises(ValueError, match=r"must have shape \(n, 3\)"):
        reader.encode(np.eye(2))
    with pytest.raises(ValueError, match="must be a data frame"):
        codes.learn(pd.DataFrame(TRAINING)).encode(np.eye(2))


def test_networks_see_whitened_numbers_and_spread_levels():
    reader = codes.learn(pd.DataFrame(TRAINING))
    matrix = reader.encode(pd.DataFrame(TRAINING))
    spread = Spread.learn(matrix, reader.levels)
    result = spread.encode(matrix)
    # The number, whether it is missing, then the levels b and a and whether they are missing.
    np.testing.assert_array_equal(result[:, 1], [0, 0, 1, 0])
    np.testing.assert_array_equal(result[:, 2:], [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert abs(result[[0, 1, 3], 0].mean()) < 1e-6
    again = Spread.from_json(spread.to_json())
    np.testing.assert_array_equal(again.encode(matrix), result)
    unseen = reader.encode(pd.DataFrame(NEW))
    np.testing.assert_array_equal(spread.encode(unseen)[0, 2:], [0, 0, 0])


@pytest.mark.parametrize("trained_on", [["1", "2", "1"], ["1.0", "2.0", "1.0"], [1, 2, 1]])
@pytest.mark.parametrize("asked", [["2.0", "1.0", "3.0"], [" 2", "1 ", "3"], [2.0, 1.0, 3.0]])
def test_levels_are_known_by_their_spelling(trained_on, asked, frame):
    # pandas writes whole numbers with a point as soon as a cell of the column is empty.
    def column(values):
        texts = values if isinstance(values[0], str) else pd.Categorical(values)
        return frame({"code": texts if frame is pd.DataFrame else list(map(str, values))})

    reader = codes.from_json(codes.learn(column(trained_on)).to_json())
    np.testing.assert_array_equal(reader.encode(column(asked))[:, 0], [1, 0, 2])


def test_a_level_as_it_stands_comes_before_its_spelling(frame):
    reader = codes.learn(frame({"version": ["1", "1.0", "1"]}))
    result = reader.encode(frame({"version": ["1.0", "1", "1.00"]}))
    np.testing.assert_array_equal(result[:, 0], [1, 0, 2])


@pytest.mark.parametrize("names", [["a", "a"], [1, "1"]])
def test_columns_of_one_name_are_refused_in_words(names):
    with pytest.raises(ValueError, match=r"two are called '(a|1)': rename one"):
        codes.learn(pd.DataFrame(np.eye(2), columns=names))
