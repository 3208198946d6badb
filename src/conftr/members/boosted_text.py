"""The text that LightGBM writes of its trees, looked through before LightGBM reads it.

LightGBM reads trees in threads and believes what they say: a file that was changed ends the
process, or has it read memory that is not the trees'.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.members.member import MemberError

_CATEGORY = 1  # the bit of a node that asks for a category
# Lists of a tree by the number of their entries; those of leaves, and those of nodes that ask.
_OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_OF_NODES = (
    "split_feature",
    "split_gain",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "internal_value",
    "internal_weight",
    "internal_count",
)


def check(text: str) -> None:
    """Refuse a text whose trees lead nowhere, or stand elsewhere than it says.

    Raises:
        MemberError: If LightGBM must not be given the text.
    """
    try:
        sound = _is_sound(text)
    except (ValueError, LookupError, OverflowError):  # numbers that are none, lines that lack
        sound = False
    if not sound:
        raise MemberError("the text of boosted trees was changed: its trees lead nowhere.")


def _is_sound(text: str) -> bool:
    first, last = text.index("\nTree="), text.index("\nend of trees")
    header = _lines(text[:first])
    trees = re.split(r"(?<=\n)(?=Tree=)", text[first + 1 : last + 1])
    features = int(header["max_feature_idx"]) + 1
    return (
        [int(size) for size in header["tree_sizes"].split()] == [len(tree) for tree in trees]
        and len(trees) % int(header["num_tree_per_iteration"]) == 0
        and len(header["feature_names"].split()) == features
        and all(_is_tree(_lines(tree), i, features) for i, tree in enumerate(trees))
    )


def _lines(block: str) -> dict[str, str]:
    """Lines `name=values` by their names, each of which stands there once."""
    pairs = [line.split("=", 1) for line in block.splitlines() if "=" in line]
    by_name = dict(pairs)
    if len(by_name) < len(pairs):
        raise ValueError("a line stands there twice.")
    return by_name


def _is_tree(fields: dict[str, str], place: int, features: int) -> bool:
    leaves, categories = int(fields["num_leaves"]), int(fields["num_cat"])
    nodes = leaves - 1
    numbers = {name: _numbers(fields[name]) for name in (*_OF_LEAVES, *_OF_NODES) if name in fields}
    if int(fields["Tree"]) != place or fields["is_linear"] != "0" or leaves < 1:
        return False
    float(fields["shrinkage"])
    if len(numbers["leaf_value"]) != leaves or not np.isfinite(numbers["leaf_value"]).all():
        return False
    if nodes == 0:
        return True
    return (
        all(len(numbers[name]) == leaves for name in _OF_LEAVES)
        and all(len(numbers[name]) == nodes for name in _OF_NODES)
        and _are_within(numbers["split_feature"], features)
        and not np.isnan(numbers["threshold"]).any()
        and all(_lead_onwards(numbers[f"{side}_child"], leaves) for side in ("left", "right"))
        and _are_sets(fields, numbers, categories)
    )


def _numbers(values: str) -> npt.NDArray[np.float64]:
    return np.array(values.split(), np.float64)


def _are_within(places: npt.NDArray[Any], count: int) -> bool:
    """Whether they are whole numbers from 0 to below count."""
    return bool(((places >= 0) & (places < count) & (places % 1 == 0)).all())


def _lead_onwards(children: npt.NDArray[np.float64], leaves: int) -> bool:
    """Whether children are later nodes, or leaves, which count from -1 downwards."""
    places, nodes = np.arange(len(children)), leaves - 1
    later = (children > places) & (children < nodes)
    leaf = (children < 0) & (children >= -leaves)
    return bool(((later | leaf) & (children % 1 == 0)).all())


def _are_sets(fields: dict[str, str], numbers: dict[str, Any], categories: int) -> bool:
    """Whether every node that asks for categories has a set of them, and every set its bits."""
    kinds = numbers["decision_type"]
    if not _are_within(kinds, 16):
        return False
    set_numbers = numbers["threshold"][kinds.astype(np.int64) & _CATEGORY > 0]
    if categories == 0:
        return len(set_numbers) == 0
    bounds, words = _numbers(fields["cat_boundaries"]), _numbers(fields["cat_threshold"])
    return (
        _are_within(set_numbers, categories)
        and len(bounds) == categories + 1
        and bounds[0] == 0
        and bounds[-1] == len(words)
        and bool((np.diff(bounds) >= 0).all())
        and _are_within(bounds, len(words) + 1)
        and _are_within(words, 2**32)
    )
