import numpy as np

from conftr.features.bins import BINS, Binned

MATRIX = np.array([[0.0, 1.0, 0.0], [1.0, np.nan, 1.0], [2.0, 1.0, 0.0], [4.0, 1.0, 1.0]])


def test_a_number_fills_the_bins_below_it_and_a_part_of_its_own():
    binned = Binned.learn(MATRIX, {2: 2})
    result = binned.encode(np.array([[3.0, 1.0, 0.0], [9.0, 1.0, 0.0], [np.nan, 1.0, 0.0]]))
    width = binned.spread.inputs[0]
    assert binned.inputs == (width + 3,)  # edges 0, 1, 2, 4; a constant column has no bins
    np.testing.assert_allclose(result[:, width:], [[1, 1, 0.5], [1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(
        result[:, :width],
        binned.spread.encode(np.array([[3.0, 1.0, 0.0], [9.0, 1.0, 0.0], [np.nan, 1.0, 0.0]])),
    )


def test_few_different_numbers_have_a_bin_each_and_many_share_quantiles():
    rng = np.random.default_rng(0)
    matrix = np.column_stack([rng.integers(0, 5, 200), rng.normal(size=200)]).astype(float)
    binned = Binned.learn(matrix, {})
    assert [len(edge) - 1 for edge in binned.edges] == [4, BINS]
    means = binned.encode(matrix)[:, -BINS:].mean(axis=0)
    np.testing.assert_allclose(means, 1 - (np.arange(BINS) + 0.5) / BINS, atol=0.02)


def test_it_comes_back_from_plain_data():
    binned = Binned.learn(MATRIX, {2: 2})
    again = Binned.from_json(binned.to_json())
    np.testing.assert_array_equal(again.encode(MATRIX), binned.encode(MATRIX))
