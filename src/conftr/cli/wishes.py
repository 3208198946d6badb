"""Wishes about sets as a person types them, read into a `Shape` once, refused in words.

    wish  = names [ ("|" or "->") names ] [ "=" weight ]
    names = name { "," name }
    name  = any text; in double quotes if it holds one of  , | = ->

shrink "cat=10": sets of a cat should be smaller, their size counts tenfold. avoid "coat,shirt": no
shirt in the sets of a coat and no coat in those of a shirt; "coat->shirt": only the first. separate
"nevus,mole|melanoma": no class of one side in the sets of the other; "->": only the first.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from conftr.conformal import checks
from conftr.conformal.shaping import Avoid, Separate, Shape

_NAME = r'\s*(?:"[^"]+"|(?:(?!->)[^,|="])*(?:(?!->)[^,|="\s]))\s*'
_NAMES = rf"{_NAME}(?:,{_NAME})*"
_WISH = re.compile(rf"({_NAMES})(?:(\||->)({_NAMES}))?(?:=(.*))?")


class Wish(NamedTuple):
    """A wish taken apart: classes, "|" or "->" or "", the classes behind that, a weight."""

    names: tuple[Hashable, ...]
    sign: str
    others: tuple[Hashable, ...]
    weight: float | None


def shape(
    classes: Mapping[str, Hashable],
    *,
    shrink: Sequence[str] = (),
    avoid: Sequence[str] = (),
    separate: Sequence[str] = (),
) -> Shape | None:
    """The wishes about classes, which are given by their names; None where nothing is wished."""
    if not (shrink or avoid or separate):
        return None
    return Shape(
        {name: weight for text in shrink for name, weight in _shrink(text, classes).items()},
        [pair for text in avoid for pair in _avoid(text, classes)],
        [_separate(text, classes) for text in separate],
    )


def _shrink(text: str, classes: Mapping[str, Hashable]) -> dict[Hashable, float]:
    wish = _read("shrink", text, classes, '"cat=10"')
    if wish.sign or wish.weight is None:
        raise ValueError(f'--shrink takes classes and a weight, as in "cat=10"; got {text!r}.')
    return dict.fromkeys(wish.names, wish.weight)


def _avoid(text: str, classes: Mapping[str, Hashable]) -> list[Avoid]:
    usage = '"coat,shirt" or, one way, "coat->shirt"'
    wish = _read("avoid", text, classes, usage)
    if wish.sign == "->":
        pairs = product(wish.names, wish.others)
        return [Avoid(*pair, wish.weight, one_way=True) for pair in pairs]
    if wish.sign or len(wish.names) < 2:
        raise ValueError(f"--avoid takes classes, as in {usage}; got {text!r}.")
    return [Avoid(*pair, wish.weight) for pair in combinations(wish.names, 2)]


def _separate(text: str, classes: Mapping[str, Hashable]) -> Separate:
    usage = '"nevus,mole|melanoma" or, one way, "nevus,mole->melanoma"'
    wish = _read("separate", text, classes, usage)
    if not wish.sign:
        raise ValueError(f"--separate takes two groups of classes, as in {usage}; got {text!r}.")
    return Separate(wish.names, wish.others, wish.weight, one_way=wish.sign == "->")


def _read(option: str, text: str, classes: Mapping[str, Hashable], usage: str) -> Wish:
    """Take a wish apart; every name in it must be a class."""
    match = _WISH.fullmatch(text)
    if match is None:
        raise ValueError(
            f"--{option} cannot be read: {text!r}. Write it as in {usage}; a class whose name "
            f"holds one of , | = -> stands in double quotes, such as '\"a,b\"=10'."
        )
    names, sign, others, weight = match.groups()
    sides = [tuple(_known(name, option, classes) for name in _split(s)) for s in (names, others)]
    return Wish(sides[0], sign or "", sides[1], _weight(option, weight))


def _split(names: str | None) -> list[str]:
    return [name.strip().strip('"') for name in re.findall(_NAME, names or "")]


def _known(name: str, option: str, classes: Mapping[str, Hashable]) -> Hashable:
    if name not in classes:
        known = checks.listed(classes, 12)
        raise ValueError(f"--{option} names the class {name!r}; the classes are {known}.")
    return classes[name]


def _weight(option: str, text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise ValueError(f"the weight of --{option} must be a number; got {text!r}.") from None
