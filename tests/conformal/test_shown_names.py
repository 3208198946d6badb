"""Names of the user's as they are shown."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftr.conformal.checks import listed
from conftr.conformal.shaping import Avoid, Separate
from conftr.conformal.shown_names import LETTERS, apart, printable, shown

ANYTHING = st.text(st.characters(codec=None), max_size=200)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("y\x1b[31mes\x07", r"y\x1b[31mes\x07"),
        ("n\0o\x0b", r"n\x00o\x0b"),
        ("may\ufffebe", r"may\ufffebe"),
        ("\ud800half", r"\ud800half"),
        ("two\nlines", r"two\nlines"),
        ("\u202etxt.exe", r"\u202etxt.exe"),
        ("\x85\u2028", r"\x85\u2028"),
        ("\U0001ffff", r"\U0001ffff"),
        ("نمی\u200cدانم", "نمی\u200cدانم"),
        ("👩\u200d🔬 é ß 寿\u00a0司", "👩\u200d🔬 é ß 寿\u00a0司"),
        ("C:\\temp <b>&amp;", "C:\\temp <b>&amp;"),
        ("", ""),
        (3, "3"),
    ],
)
def test_what_acts_on_a_screen_is_escaped_and_all_else_stays(name, text):
    assert shown(name) == text


def test_the_middle_of_a_long_name_is_left_out():
    assert shown("a" * 100_000 + "b") == "a" * 40 + "…" + "a" * 18 + "b"
    assert len(shown("\0" * 1000)) == LETTERS
    assert shown("x" * LETTERS) == "x" * LETTERS


@given(ANYTHING, st.integers(4, 80))
def test_shown_is_short_and_printable_and_shown_again_the_same(name, most):
    text = shown(name, most)
    assert len(text) <= most
    assert not any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in text)
    assert shown(text, most) == text
    text.encode()


@given(st.lists(ANYTHING, unique=True), st.integers(4, 12))
def test_names_that_differ_are_shown_differently(names, most):
    assert len(set(apart(names, most))) == len(names)


def test_names_that_look_the_same_are_numbered():
    alike = ["a" * 99 + letter + "b" * 99 for letter in "xyz"]
    first, second, third = apart(alike)
    assert (second, third) == (f"{first} (2)", f"{first} (3)")
    assert apart(["a\x1b", "a\\x1b"]) == (r"a\x1b", r"a\x1b (2)")
    assert apart(["x", "x", "x (2)"]) == ("x", "x (3)", "x (2)")


def test_messages_keep_their_lines_and_are_no_longer_than_a_screen():
    assert printable("one\ntwo\x1b[2J") == "one\ntwo\\x1b[2J"
    assert len(printable("row 3 has " + "x" * 100_000 + ": leave it out.")) < 5000
    assert printable("row 3 has " + "x" * 100_000 + ": leave it out.").endswith(": leave it out.")


def test_names_in_messages_are_shown():
    assert listed(["a\x07", "b" * 1000]) == r"a\x07, " + "b" * 40 + "…" + "b" * 19
    assert str(Avoid("\x1b", "b" * 1000)) == r"avoid '\x1b' and '" + "b" * 39 + "…" + "b" * 18 + "'"
    assert str(Separate([1, "b" * 1000], [2])).startswith("separate [1, 'bbb")
