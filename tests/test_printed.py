"""The comparison of what is printed with what a page shows: strict on words, fair to processors."""

import pytest

from printed import agree


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("mean size 1.10", "mean size 1.09"),  # a unit of the last place
        ("covers 97.3%", "covers 96.9%"),  # a hundredth
        ("covers 100.0%", "covers 99.1%"),
        ("covers 94%, 9 rows", "covers 95%, 9 rows"),
        ("loss -0.106", "loss -0.107"),
        ("loss 0.01", "loss -0.00"),
        ("[-2.4  -1.69]", "[-2.41 -1.69]"),
        ("size  9.99 of 12\nclasses", "size 10.00 of 12 classes"),  # wider, and folded elsewhere
        ("-inf 3.0", "-inf 3.0"),
        ("(2, 3) [0 0]", "(2, 3) [0 0]"),
    ],
)
def test_the_same_on_another_processor(shown, printed):
    assert agree(shown, printed)
    assert agree(printed, shown)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("mean size 1.10", "mean size 1.08"),
        ("covers 97.3%", "covers 96.2%"),
        ("covers 97.3%", "covers 97.3"),
        ("covers 94%", "covers 92%"),
        ("9 rows", "10 rows"),  # a count is not measured
        ("class 2 of 100", "class 2 of 101"),
        ("loss 0.5", "loss -0.5"),
        ("True", "False"),
        ("True True", "True"),
        ("-inf", "inf"),
        ("ab 1.0", "a b 1.0"),
        ("1.5e-06", "1.5e-05"),
        ("size 1.1", "size"),
        ("1.0 2.0", "1.0 2.0 3.0"),
    ],
)
def test_what_differs(shown, printed):
    assert not agree(shown, printed)
    assert not agree(printed, shown)
