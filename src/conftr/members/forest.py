"""Forests of scikit-learn: random forest and extra trees, kept as flat arrays.

After fitting nothing of scikit-learn's forest is left but its numbers. A node is three of them:

    feature     the column it asks about; -1 at a leaf
    threshold   x <= threshold goes to the next node, the others, by `jump`, to a later one
    jump        that node's place in the tree; at a leaf the row of `shares` it answers with

Leaves that answer alike share a row, so a forest of pure leaves has K of them. Scikit-learn
compares x in single precision: thresholds are rounded down to it, which changes no comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from conftr.machine.cores import cores
from conftr.machine.rows_on_disk import RowsOnDisk
from conftr.machine.threads import in_threads
from conftr.members.member import (
    Files,
    FittedMember,
    Fold,
    MemberError,
    MemberRows,
    Numbers,
    Progress,
    Rows,
    flat,
    floored,
)

RANDOM, EXTRA = "random forest", "extra trees"

_FILE = "forest.safetensors"
_BLOCKS = 4096, 32_768  # fewest and most rows that go through all trees at a time
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Forest:
    """A forest for each fold.

    Attributes:
        name: "random forest" or "extra trees".
        trees: In each fold.
        min_leaf: The fewest rows of a leaf.
        most_rows: That a tree is grown on, drawn for each where there are more.
    """

    by_fold: ClassVar[bool] = True

    name: str = EXTRA
    trees: int = 100
    min_leaf: int = 1
    most_rows: int = 20_000

    def __post_init__(self) -> None:
        """Refuse a name that is no forest."""
        if self.name not in (RANDOM, EXTRA):
            raise ValueError(f"name must be {RANDOM!r} or {EXTRA!r}; got {self.name!r}.")

    def fit(
        self, rows: MemberRows, folds: Sequence[Fold], *, seed: int, progress: Progress
    ) -> list[FittedMember]:
        """Grow a forest on each fold."""
        is_on_disk = isinstance(rows.inputs, RowsOnDisk)
        x: Any = rows.inputs.flat if is_on_disk else _single(flat(rows.inputs))
        grow_fold, models = self._grow_from_disk if is_on_disk else self._grow, list[Trees]()

        def grow(number: int) -> Trees:
            return grow_fold(x, rows, folds[number], seed + number)

        progress(0, len(folds))
        for start in range(0, len(folds), cores()):
            group = range(start, min(start + cores(), len(folds)))
            models += in_threads(grow, group, cores())
            progress(len(models), len(folds))
        return [FittedMember(self.name, rows.reader, tuple(models))]

    def _grow(self, x: Any, rows: MemberRows, fold: Fold, seed: int) -> Trees:
        many = len(fold.train) > self.most_rows
        grown = self._forest(
            self.trees,
            bootstrap=many or self.name == RANDOM,
            max_samples=self.most_rows if many else None,
            random_state=seed % 2**31,
        ).fit(x[fold.train], rows.labels[fold.train], rows.weights_of(fold))
        return flattened(grown, rows.classes, self.min_leaf)

    def _grow_from_disk(self, x: RowsOnDisk, rows: MemberRows, fold: Fold, seed: int) -> Trees:
        """Grow tree by tree, each on its own rows, the only ones that are read."""
        trees = []
        for number in range(self.trees):
            drawn, times = self._drawn(fold.train, np.random.default_rng([seed, number]))
            weights = times if rows.weights is None else times * rows.weights[drawn]
            forest = self._forest(1, bootstrap=False, random_state=(seed + number) % 2**31)
            grown = forest.fit(_single(np.asarray(x[drawn])), rows.labels[drawn], weights)
            trees.append(flattened(grown, rows.classes, self.min_leaf))
        return _joined(trees)

    def _drawn(self, train: Rows, rng: np.random.Generator) -> tuple[Rows, Numbers]:
        """The rows of a tree, and how often each was drawn, as scikit-learn draws them."""
        if self.name == EXTRA and len(train) <= self.most_rows:
            return train, np.ones(len(train))
        drawn = rng.choice(train, min(len(train), self.most_rows))
        rows, times = np.unique(drawn, return_counts=True)
        return rows, times.astype(np.float64)

    def _forest(self, trees: int, **settings: Any) -> Any:
        """A forest of scikit-learn, not grown yet."""
        from sklearn.ensemble import (  # type: ignore[import-untyped]
            ExtraTreesClassifier,
            RandomForestClassifier,
        )

        make = ExtraTreesClassifier if self.name == EXTRA else RandomForestClassifier
        return make(trees, min_samples_leaf=self.min_leaf, **settings)


@dataclass(frozen=True, eq=False)
class Trees:
    """The nodes of all trees after each other.

    Attributes:
        starts: The first node of each tree, and the number of all nodes, (trees + 1,).
        shares: Probabilities that leaves answer with, (rows, K).
        missing_next: Whether a row whose number is missing goes to the next node.
    """

    kind: ClassVar[str] = "forest"

    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float32]
    jump: npt.NDArray[np.int32]
    missing_next: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float32]
    columns: int
    min_leaf: int

    @property
    def words(self) -> str:
        """How many trees, and how deep they may go."""
        rows = "1 row" if self.min_leaf == 1 else f"{self.min_leaf} rows"
        return f"{len(self.starts) - 1} trees with leaves of at least {rows}"

    def logits(self, inputs: Any) -> Numbers:
        """The log of the mean over trees, with its floor, (n, K)."""
        x = _single(flat(inputs))
        size = int(np.clip(-(-len(x) // cores()), *_BLOCKS))
        blocks = [x[start : start + size] for start in range(0, max(1, len(x)), size)]
        return floored(np.concatenate(in_threads(self._block, blocks, cores())))

    def _block(self, x: Any) -> Numbers:
        # Rows that are alike take the same ways: in this order they find nodes in fast memory.
        order = np.argsort(self._trees[0].apply(x), kind="stable")
        means = np.empty((len(x), self.shares.shape[1]))
        means[order] = self._mean(x[order])
        return means

    def _mean(self, x: Any) -> Numbers:
        """The mean over trees, (n, K)."""
        total = np.zeros((len(x), self.shares.shape[1]), np.float32)
        places = np.arange(len(x)) * total.shape[1]
        for tree, start in zip(self._trees, self.starts[:-1], strict=True):
            answers = self.jump[start:][tree.apply(x)]
            if self._pure is None:
                total += self.shares[answers]
            else:
                total.reshape(-1)[places + self._pure[answers]] += 1
        return total.astype(np.float64) / len(self._trees)

    @cached_property
    def _pure(self) -> npt.NDArray[np.intp] | None:
        """The class of each row of `shares`, where every leaf holds a single class."""
        return self.shares.argmax(axis=1) if (self.shares.max(axis=1) == 1).all() else None

    @cached_property
    def _trees(self) -> list[Any]:
        """The trees as scikit-learn's own code, in C, goes through them."""
        bounds = zip(self.starts[:-1], self.starts[1:], strict=True)
        return [self._tree(slice(int(a), int(b))) for a, b in bounds]

    def _tree(self, part: slice) -> Any:
        from sklearn.tree._tree import Tree  # type: ignore[import-untyped]

        inner, count = self.feature[part] >= 0, part.stop - part.start
        nodes = np.zeros(count, _node_type())
        nodes["left_child"] = np.where(inner, np.arange(1, count + 1), -1)
        nodes["right_child"] = np.where(inner, self.jump[part], -1)
        nodes["feature"] = np.where(inner, self.feature[part], -2)
        nodes["threshold"] = self.threshold[part]
        nodes["missing_go_to_left"] = self.missing_next[part]
        tree = Tree(self.columns, np.array([1], np.intp), 1)
        values = np.zeros((count, 1, 1))
        tree.__setstate__({"max_depth": 1, "node_count": count, "nodes": nodes, "values": values})
        return tree

    def files(self) -> Files:
        """Give one file of arrays."""
        arrays = {
            "feature": self.feature,
            "threshold": self.threshold,
            "jump": self.jump,
            "missing_next": self.missing_next,
            "starts": self.starts,
            "shares": self.shares,
            "sizes": np.array([self.columns, self.min_leaf], np.int64),
        }
        return {_FILE: safetensors.numpy.save(arrays)}


def load(files: Files) -> Trees:
    """The forest that was saved as these files.

    Raises:
        MemberError: If the nodes do not make trees.
    """
    arrays = safetensors.numpy.load(files[_FILE])
    columns, min_leaf = (int(number) for number in arrays.pop("sizes"))
    trees = Trees(**arrays, columns=columns, min_leaf=min_leaf)
    _check(trees)
    return trees


def flattened(forest: Any, classes: int, min_leaf: int) -> Trees:
    """A fitted forest of scikit-learn as flat arrays.

    Args:
        forest: A fitted `RandomForestClassifier` or `ExtraTreesClassifier` on labels 0..classes-1.
        classes: How many classes there are; training rows may lack some.
        min_leaf: The fewest rows of a leaf, for the words.
    """
    trees = [estimator.tree_ for estimator in forest.estimators_]
    known = np.asarray(forest.classes_, np.intp)
    answers = [tree.value[tree.children_left < 0, 0, :].astype(np.float32) for tree in trees]
    distinct, places = np.unique(np.concatenate(answers), axis=0, return_inverse=True)
    shares = np.zeros((len(distinct), classes), np.float32)
    shares[:, known] = distinct
    jumps, leaves = np.concatenate([_in_order(tree) for tree in trees]), places.astype(np.int32)
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int32)
    jumps[feature < 0] = leaves.reshape(-1)
    return Trees(
        np.maximum(feature, -1),
        _rounded_down(np.concatenate([tree.threshold for tree in trees])),
        jumps,
        np.concatenate([tree.missing_go_to_left for tree in trees]).astype(bool),
        np.cumsum([0, *(tree.node_count for tree in trees)]),
        shares,
        int(forest.n_features_in_),
        min_leaf,
    )


def _joined(forests: Sequence[Trees]) -> Trees:
    """All trees of some forests as one forest."""
    before = np.cumsum([0, *(len(forest.shares) for forest in forests)])
    jumps = [
        np.where(forest.feature < 0, forest.jump + first, forest.jump).astype(np.int32)
        for forest, first in zip(forests, before[:-1], strict=True)
    ]
    sizes = [size for forest in forests for size in np.diff(forest.starts)]
    return replace(
        forests[0],
        feature=np.concatenate([forest.feature for forest in forests]),
        threshold=np.concatenate([forest.threshold for forest in forests]),
        jump=np.concatenate(jumps),
        missing_next=np.concatenate([forest.missing_next for forest in forests]),
        starts=np.cumsum([0, *sizes]),
        shares=np.concatenate([forest.shares for forest in forests]),
    )


def _in_order(tree: Any) -> npt.NDArray[np.int32]:
    """The right children of a tree whose left children all stand next to their parents."""
    inner = np.flatnonzero(tree.children_left >= 0)
    if not np.array_equal(tree.children_left[inner], inner + 1):
        raise MemberError("the trees must be grown depth first, without a limit on their leaves.")
    right: npt.NDArray[np.int32] = tree.children_right.astype(np.int32)
    return right


def _rounded_down(thresholds: Numbers) -> npt.NDArray[np.float32]:
    rounded = thresholds.astype(np.float32)
    above = rounded > thresholds
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded


def _single(x: Any) -> npt.NDArray[np.float32]:
    """Numbers in single precision, those beyond it at its ends."""
    return np.ascontiguousarray(np.clip(x, -_LARGEST, _LARGEST), dtype=np.float32)


@cache
def _node_type() -> Any:
    """The type of a node in the installed version of scikit-learn."""
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]

    small = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    return small.tree_.__getstate__()["nodes"].dtype


def _check(trees: Trees) -> None:
    """Refuse nodes that lead out of their tree, or round in circles."""
    starts, inner = trees.starts, trees.feature >= 0
    sizes = np.diff(starts)
    sound = (
        len(starts) > 1
        and starts[0] == 0
        and (sizes > 0).all()
        and len({len(trees.feature), len(trees.jump), len(trees.threshold), int(starts[-1])}) == 1
        and len(trees.missing_next) == starts[-1]
        and trees.shares.ndim == 2
    )
    if sound:
        places = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        last = np.repeat(sizes, sizes)
        ends = np.where(inner, last, len(trees.shares))
        sound = bool(
            (trees.feature < trees.columns).all()
            and (trees.jump >= np.where(inner, places + 2, 0)).all()
            and (trees.jump < ends).all()
        )
    if not sound:
        raise MemberError(f"{_FILE} does not hold trees: its nodes lead nowhere.")
