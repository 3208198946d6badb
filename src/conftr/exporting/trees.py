"""Forests and boosted trees as ensembles of ONNX, with thresholds and leaves in their own type.

A node is a column, a threshold (or a set of categories), and two ends, each a node or a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.exporting.graph import ExportError, Graph, log_softmax, total
from conftr.members.boosted import BoostedTrees
from conftr.members.forest import Trees
from conftr.members.member import FLOOR

_AT_MOST, _MEMBER = 0, 6  # modes of a node: x <= threshold; x among values
_SUM, _AS_IT_IS = 1, 0
_CATEGORY, _DEFAULT_LEFT, _MISSING_ZERO, _MISSING_NAN = 1, 2, 1, 2  # of LightGBM
_LARGEST = float(np.finfo(np.float32).max)


def floored(graph: Graph, p: str, classes: int) -> str:
    """log( (1 - FLOOR) p + FLOOR / K ), as members have it."""
    scaled = graph.op("Mul", p, graph.constant(1 - FLOOR))
    return graph.op("Log", graph.op("Add", scaled, graph.constant(FLOOR / classes)))


def forest(graph: Graph, x: str, model: Trees) -> str:
    """Log-probabilities (n, K) of a forest.

    Trees with pure leaves count classes, which is exact. Others give the row of `shares` that they
    answer with, one for each tree, and the rows are summed.
    """
    ends = (graph.constant(-_LARGEST), graph.constant(_LARGEST))
    single = graph.cast(graph.op("Clip", x, *ends), np.float32)
    count, classes = len(model.starts) - 1, model.shares.shape[1]
    pure = bool((model.shares.max(axis=1) == 1).all())
    leaves = graph.trees(single, **_of_forest(model, pure))
    if not pure:
        rows = graph.op(
            "Gather", graph.constant(model.shares, np.float32), graph.cast(leaves, np.int64)
        )
        leaves = total(graph, graph.cast(rows, np.float64), 1, keep=False)
    mean = graph.op("Div", graph.cast(leaves, np.float64), graph.constant(float(count)))
    return floored(graph, mean, classes)


def _of_forest(model: Trees, pure: bool) -> dict[str, Any]:
    inner = model.feature >= 0
    sizes = np.diff(model.starts)
    first = np.repeat(model.starts[:-1], sizes)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    if pure:
        targets, weights = np.arange(model.shares.shape[1]), np.ones(model.shares.shape[1])
        leaves = model.shares.argmax(axis=1)[np.where(inner, 0, model.jump)]
    else:
        targets = np.repeat(np.arange(len(sizes)), len(model.shares))
        weights = np.tile(np.arange(len(model.shares)), len(sizes))
        leaves = tree * len(model.shares) + np.where(inner, 0, model.jump)
    nodes = _Nodes(
        feature=np.maximum(model.feature, 0),
        threshold=model.threshold,
        mode=np.zeros(len(inner), np.uint8),
        left=np.arange(len(inner)) + 1,
        right=np.where(inner, model.jump + first, 0),
        missing_left=model.missing_next,
    )
    return _attributes(nodes, inner, leaves, model.starts[:-1], targets, weights, np.float32)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Columns of nodes; ends are places among them, leaves included. members: of the categories."""

    feature: npt.NDArray[Any]
    threshold: npt.NDArray[Any]
    mode: npt.NDArray[np.uint8]
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    missing_left: npt.NDArray[Any]
    members: list[float] = field(default_factory=list)


def _attributes(
    nodes: _Nodes,
    inner: npt.NDArray[np.bool_],
    leaves: npt.NDArray[Any],
    roots: npt.NDArray[Any],
    targets: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    kind: Any,
) -> dict[str, Any]:
    """What `TreeEnsemble` takes: nodes that ask, and leaves numbered apart.

    A tree that is a leaf becomes a node whose ends are both that leaf.
    """
    asks = inner.copy()
    asks[roots] = True
    left = np.where(inner, nodes.left, np.arange(len(inner)))
    right = np.where(inner, nodes.right, np.arange(len(inner)))
    place = np.cumsum(asks) - 1

    def ends(children: npt.NDArray[Any]) -> tuple[list[int], list[int]]:
        children_of_asking = children[asks]
        is_leaf = ~inner[children_of_asking]
        return np.where(
            is_leaf, leaves[children_of_asking], place[children_of_asking]
        ).tolist(), is_leaf.astype(int).tolist()

    (true, true_leaf), (false, false_leaf) = ends(left), ends(right)
    attributes = {
        "tree_roots": place[roots].tolist(),
        "nodes_featureids": nodes.feature[asks].tolist(),
        "nodes_splits": np.ascontiguousarray(nodes.threshold[asks], kind),
        "nodes_modes": np.ascontiguousarray(nodes.mode[asks]),
        "nodes_truenodeids": true,
        "nodes_trueleafs": true_leaf,
        "nodes_falsenodeids": false,
        "nodes_falseleafs": false_leaf,
        "nodes_missing_value_tracks_true": nodes.missing_left[asks].astype(int).tolist(),
        "leaf_targetids": targets.tolist(),
        "leaf_weights": np.ascontiguousarray(weights, kind),
        "n_targets": int(targets.max()) + 1,
        "aggregate_function": _SUM,
        "post_transform": _AS_IT_IS,
    }
    if nodes.members:
        attributes["membership_values"] = np.array(nodes.members, kind)
    return attributes


def boosted(graph: Graph, x: str, model: BoostedTrees) -> str:
    """Log-probabilities (n, K) of boosted trees, in double precision as LightGBM has it."""
    logs = log_softmax(graph, graph.trees(x, **_of_boosted(model.text, len(model.known))))
    return of_known(graph, logs, model.known, model.classes)


def of_known(graph: Graph, logs: str, known: Any, classes: int) -> str:
    """Log-probabilities of all classes, with their floor where training rows lacked some."""
    if len(known) == classes:
        return logs
    places = np.zeros((len(known), classes))
    places[np.arange(len(known)), np.asarray(known, np.intp)] = 1
    p = graph.op("MatMul", graph.op("Exp", logs), graph.constant(places))
    return floored(graph, p, classes)


def _of_boosted(text: str, classes: int) -> dict[str, Any]:
    trees = [_tree(block) for block in text.split("\nTree=")[1:]]
    starts = np.cumsum([0, *(len(tree.inner) for tree in trees)])
    nodes = _Nodes(
        feature=np.concatenate([tree.nodes.feature for tree in trees]),
        threshold=np.concatenate([tree.nodes.threshold for tree in trees]),
        mode=np.concatenate([tree.nodes.mode for tree in trees]),
        left=np.concatenate([tree.nodes.left + a for tree, a in zip(trees, starts, strict=False)]),
        right=np.concatenate(
            [tree.nodes.right + a for tree, a in zip(trees, starts, strict=False)]
        ),
        missing_left=np.concatenate([tree.nodes.missing_left for tree in trees]),
        members=[value for tree in trees for value in tree.nodes.members],
    )
    inner = np.concatenate([tree.inner for tree in trees])
    leaves = np.where(inner, 0, np.cumsum(~inner) - 1)
    weights = np.concatenate([tree.leaf_values for tree in trees])
    counts = [len(tree.leaf_values) for tree in trees]
    targets = np.repeat(np.arange(len(trees)) % classes, counts)
    attributes = _attributes(nodes, inner, leaves, starts[:-1], targets, weights, np.float64)
    return attributes | {"n_targets": classes}


@dataclass(frozen=True, eq=False)
class _BoostedTree:
    """A tree of LightGBM: nodes that ask, then its leaves, all in one row."""

    nodes: _Nodes
    inner: npt.NDArray[np.bool_]
    leaf_values: npt.NDArray[np.float64]


def _tree(block: str) -> _BoostedTree:
    """A tree from the text of LightGBM: lines `name=numbers`."""
    fields = dict(line.split("=", 1) for line in block.splitlines()[1:] if "=" in line)
    values = np.array(fields["leaf_value"].split(), np.float64)
    asking, leaves = int(fields["num_leaves"]) - 1, int(fields["num_leaves"])
    if fields.get("is_linear", "0") != "0":
        raise ExportError("boosted trees with linear leaves cannot be exported.")
    threshold = _numbers(fields, "threshold", np.float64)
    kinds = _numbers(fields, "decision_type", np.int64)
    left, right = (
        _ends(_numbers(fields, f"{side}_child", np.int64), asking) for side in ("left", "right")
    )
    is_category = (kinds & _CATEGORY).astype(bool)
    missing, members = kinds >> 2 & 3, list[float]()
    if (missing == _MISSING_ZERO).any():
        raise ExportError("boosted trees that take 0 for missing cannot be exported.")
    for place in np.flatnonzero(is_category):
        members += [*_categories(fields, int(threshold[place])), np.nan]
    # Where training rows lacked no number, LightGBM reads a missing one as 0.
    to_left = np.where(missing == _MISSING_NAN, kinds & _DEFAULT_LEFT > 0, threshold >= 0)
    zeros = np.zeros(leaves)
    nodes = _Nodes(
        feature=np.append(_numbers(fields, "split_feature", np.int64), zeros.astype(np.int64)),
        threshold=np.append(np.where(is_category, 0.0, threshold), zeros),
        mode=np.append(np.where(is_category, _MEMBER, _AT_MOST), zeros).astype(np.uint8),
        left=np.append(left, zeros.astype(np.int64)),
        right=np.append(right, zeros.astype(np.int64)),
        missing_left=np.append(~is_category & to_left, zeros.astype(bool)),
        members=members,
    )
    return _BoostedTree(nodes, np.arange(asking + leaves) < asking, values)


def _numbers(fields: dict[str, str], name: str, kind: Any) -> npt.NDArray[Any]:
    return np.array(fields.get(name, "").split(), kind)


def _ends(children: npt.NDArray[np.int64], asking: int) -> npt.NDArray[np.int64]:
    """Places of children: LightGBM counts nodes from 0, and leaves from -1 downwards."""
    return np.where(children >= 0, children, asking + ~children)


def _categories(fields: dict[str, str], place: int) -> list[float]:
    """The categories of a set, from its bits in words of 32."""
    bounds, words = (
        _numbers(fields, "cat_boundaries", np.int64),
        _numbers(fields, "cat_threshold", np.int64),
    )
    of_set = words[bounds[place] : bounds[place + 1]]
    bits = of_set[:, None] >> np.arange(32) & 1
    return np.flatnonzero(bits.reshape(-1)).astype(float).tolist()
