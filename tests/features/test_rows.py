"""Rows by what they hold: equal digests for equal rows, and copies told from coincidence."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from conftr.features import rows
from conftr.features.rows import by_chance, digests

RNG = np.random.default_rng(0)
COLUMNS = {
    "age": RNG.integers(20, 60, 200).tolist(),
    "dose": RNG.normal(size=200).round(3).tolist(),
    "sex": RNG.choice(["f", "m"], 200).tolist(),
    "smokes": (RNG.random(200) < 0.3).tolist(),
    "note": RNG.choice(["a", "b", None], 200).tolist(),
}
# The passengers of the Titanic: class, sex, age, and how many there were of each.
TITANIC = """
    1 m child 5, 1 m adult 175, 1 f child 1, 1 f adult 144, 2 m child 11, 2 m adult 168,
    2 f child 13, 2 f adult 93, 3 m child 48, 3 m adult 462, 3 f child 31, 3 f adult 165,
    crew m adult 862, crew f adult 23
"""


def titanic():
    counted = (line.split() for line in TITANIC.split(","))
    results = [words[:3] for words in counted for _ in range(int(words[3]))]
    return pl.DataFrame(results, schema=["class", "sex", "age"], orient="row")


def test_a_row_is_the_same_in_any_library_and_order_of_columns():
    frame = pl.DataFrame(COLUMNS)
    result = digests(frame)
    assert len(set(result.tolist())) == 200
    np.testing.assert_array_equal(digests(pd.DataFrame(COLUMNS)), result)
    np.testing.assert_array_equal(digests(frame.select(sorted(COLUMNS, reverse=True))), result)
    np.testing.assert_array_equal(digests(frame[::-1])[::-1], result)


@pytest.mark.parametrize("cells", [1, 7, 2**22])
def test_a_row_is_the_same_in_any_block(monkeypatch, cells):
    X = RNG.normal(size=(50, 3))
    expected = [digests(X), digests(pl.DataFrame(X))]
    monkeypatch.setattr(rows, "_CELLS", cells)
    np.testing.assert_array_equal([digests(X), digests(pl.DataFrame(X))], expected)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (np.array([[0.0, 1]]), np.array([[-0.0, True]])),
        (np.array([[3, 4]], np.uint8), np.array([[3, 4]], np.float32)),
        (np.array([[np.nan, 1]]), np.array([[-np.nan, 1]])),
        (sparse.csr_array(np.eye(3)), sparse.coo_array(np.eye(3, dtype=int))),
        (["some text", "more"], np.array(["some text", "more"], object)),
        ([["a", 1], ["b", 2]], np.array([["a", 1], ["b", 2]], object).astype(str)),
    ],
)
def test_equal_rows_have_equal_digests(first, other):
    np.testing.assert_array_equal(digests(first), digests(other))


@pytest.mark.parametrize(
    "different",
    [
        np.array([[1.0, 2], [2, 1], [np.nan, 1], [1, np.nan], [0, 1]]),
        pl.DataFrame({"a": ["x", None, "", "y"], "b": [1, 1, 1, 1]}),
        np.eye(4, dtype=np.uint8).reshape(4, 2, 2),
        sparse.csr_array(np.eye(5)),
        ["a", "b", "a b"],
        np.array([[1, "a"], [2, "a"], [1, "b"]], object),
        np.zeros((0, 3)),
        pl.DataFrame({"a": [[1], [1, 2], [], None]}),
        pd.DataFrame({"a": [datetime.date(2024, 1, 1), "x", None, 3]}),
        pd.DataFrame([[1, 2], [2, 1]], columns=["a", "a"]),
    ],
)
def test_different_rows_have_different_digests(different):
    result = digests(different)
    assert len(set(result.tolist())) == len(result)


def latent(n, columns, levels, kinds, seed=0):
    """Categories that hang together, as those of people do: they come from a few kinds of rows."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(kinds, n, p=rng.dirichlet(np.full(kinds, 0.3)))
    shares = rng.dirichlet(np.full(levels, 0.15), size=(kinds, columns)).cumsum(axis=2)
    return (rng.random((n, columns, 1)) > shares[kind]).sum(axis=2)


@pytest.mark.parametrize(
    "table",
    [
        titanic(),
        titanic().select("sex", "class"),
        titanic().select("sex"),
        titanic().to_dummies().to_numpy(),
        RNG.integers(0, 3, (1000, 6)),
        RNG.integers(0, 10, (2000, 3)).astype(np.float32),
        latent(3000, 10, 4, 30),
        latent(5000, 20, 4, 50),
        np.ones((20, 3)),
    ],
    ids=["passengers", "two", "one", "one-hot", "ternary", "decimal", "people", "more", "constant"],
)
def test_few_columns_of_few_values_agree_by_chance(table):
    assert len(set(digests(table).tolist())) < len(table)
    assert by_chance(table)


@pytest.mark.parametrize(
    "table",
    [
        RNG.normal(size=(200, 2)),
        RNG.normal(size=(200, 20)).round(2),
        RNG.integers(0, 10, (1000, 6)),
        RNG.integers(0, 3, (1000, 12)),
        latent(1000, 29, 4, 100),
        pl.DataFrame(COLUMNS),
        RNG.integers(0, 2, (300, 4, 4)).astype(np.uint8),
    ],
    ids=["numbers", "more", "decimal", "ternary", "people", "frame", "pictures"],
)
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_copies_are_told_from_coincidence(table, share):
    """Some of the rows once more, or the whole file three times more."""
    again = [table[: int(share * len(table))]] * (3 if share == 1 else 1)
    whole = pl.concat([table, *again]) if isinstance(table, pl.DataFrame) else None
    assert not by_chance(np.concatenate([table, *again]) if whole is None else whole)
