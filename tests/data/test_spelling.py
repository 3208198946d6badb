"""Names are compared by one spelling, whoever wrote them."""

import datetime

import numpy as np
import pytest

from conftr.data.spelling import places, spelled


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        (3, "3"),
        (3.0, "3"),
        (np.float32(3), "3"),
        ("3.0", "3"),
        (" 3.", "3"),
        (1e16, "10000000000000000"),
        (3.5, "3.5"),
        ("03", "03"),
        (True, "true"),
        (np.True_, "true"),
        ("FALSE", "false"),
        (" north ", "north"),
        ("1.0.0", "1.0.0"),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (datetime.datetime(2024, 1, 2), "2024-01-02"),
        (np.datetime64("2024-01-02", "ns"), "2024-01-02"),
        ("2024-01-02 03:04:05.000000", "2024-01-02 03:04:05"),
    ],
)
def test_one_spelling(name, spelling):
    assert spelled(name) == spelling


def test_a_name_as_it_stands_comes_before_its_spelling():
    assert places(["1", "1.0", "1.00", "2.0", "x"], {"1": 0, "1.0": 1, 2: 2}) == [0, 1, -1, 2, -1]
