"""Shaping sets (sec. 3.3) as data: readable wishes become class weights and a loss matrix."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.shown_names import shown

Classes: TypeAlias = int | Sequence[Hashable]
Numbers: TypeAlias = npt.NDArray[np.float64]


def _quoted(names: Iterable[Hashable]) -> str:
    """Names of classes in a message."""
    return ", ".join(shown(repr(name)) for name in names)


def identity(n_classes: int) -> Numbers:
    """The paper's L = I, which asks for coverage of every class and nothing else.

    Args:
        n_classes: K.

    Returns:
        The unit matrix, (K, K).
    """
    return np.eye(n_classes)


@dataclass(frozen=True)
class Avoid:
    """Keep `other` out of the sets of true class `truth`, and the reverse unless `one_way`.

    Without a weight, `ConformalClassifier` finds one; in a loss matrix it is 1.

    Attributes:
        truth: The true class.
        other: The class that its sets should not hold.
        weight: How much it counts, above 0; None leaves it to `ConformalClassifier`.
        one_way: Whether the reverse is not wished.
    """

    truth: Hashable
    other: Hashable
    weight: float | None = None
    one_way: bool = False

    def sides(self) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
        """The classes on either side."""
        return [self.truth], [self.other]

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """The entries (true class, unwanted class) of the loss matrix."""
        return _both([(self.truth, self.other)], self.one_way)

    def __str__(self) -> str:
        """The wish as it reads in a message."""
        sign = "->" if self.one_way else "and"
        return f"avoid {_quoted([self.truth])} {sign} {_quoted([self.other])}"


@dataclass(frozen=True)
class Separate:
    """Keep the classes of `others` out of the sets of `group`, and the reverse unless `one_way`.

    Without a weight, `ConformalClassifier` finds one; in a loss matrix it is 1.

    Attributes:
        group: The true classes.
        others: The classes that their sets should not hold.
        weight: How much it counts, above 0; None leaves it to `ConformalClassifier`.
        one_way: Whether the reverse is not wished.
    """

    group: Sequence[Hashable]
    others: Sequence[Hashable]
    weight: float | None = None
    one_way: bool = False

    def sides(self) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
        """The classes on either side."""
        return self.group, self.others

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """The entries (true class, unwanted class) of the loss matrix."""
        return _both([(a, b) for a in self.group for b in self.others], self.one_way)

    def __str__(self) -> str:
        """The wish as it reads in a message."""
        sign = "->" if self.one_way else "and"
        return f"separate [{_quoted(self.group)}] {sign} [{_quoted(self.others)}]"


@dataclass(frozen=True)
class Shape:
    """Wishes about prediction sets, by class name or index.

        Shape(avoid=[("coat", "shirt")]).loss_matrix(["coat", "shirt", "bag"])

    Attributes:
        shrink: Class -> weight omega of its size loss; above 1 asks for smaller sets of that class.
        avoid: Pairs (a, b), or `Avoid(a, b, weight, one_way)`, that should not share a set.
        separate: Pairs of groups (As, Bs), or `Separate(As, Bs, weight, one_way)`, to keep apart.
    """

    shrink: Mapping[Hashable, float] = field(default_factory=dict)
    avoid: Sequence[Avoid | tuple[Hashable, Hashable]] = ()
    separate: Sequence[Separate | tuple[Sequence[Hashable], Sequence[Hashable]]] = ()

    def __post_init__(self) -> None:
        """Write every wish out as `Avoid` or `Separate`, and refuse weights out of range."""
        object.__setattr__(self, "shrink", dict(self.shrink))
        object.__setattr__(self, "avoid", tuple(_avoid(wish) for wish in self.avoid))
        object.__setattr__(self, "separate", tuple(_separate(wish) for wish in self.separate))
        for name, weight in self.shrink.items():
            checks.number(weight, f"the weight of shrink {name!r}", above=0)
        for wish in self._wishes():
            if wish.weight is not None:
                checks.number(wish.weight, f"the weight of {wish}", above=0)

    def class_weights(self, classes: Classes) -> Numbers:
        """omega (K,): the wished weight, 1 elsewhere.

        Args:
            classes: Their number, or their names in order.

        Returns:
            Omega, (K,).

        Raises:
            ValueError: If a class is unknown, or has two weights.
        """
        index = _index(classes)
        weights: dict[int, float] = {}
        for name, weight in self.shrink.items():
            k = index(name)
            if weights.get(k, weight) != weight:
                raise ValueError(f"shrink gives class {name!r} two weights: name it once.")
            weights[k] = weight
        return np.array([weights.get(k, 1.0) for k in range(_count(classes))])

    def loss_matrix(self, classes: Classes) -> Numbers:
        """L (K, K): the identity with the wished weights off the diagonal, which stays 1.

        Args:
            classes: Their number, or their names in order.

        Returns:
            L, (K, K).

        Raises:
            ValueError: If a class is unknown, or wishes contradict each other.
        """
        index, matrix = _index(classes), identity(_count(classes))
        for wish in self._wishes():
            weight = 1.0 if wish.weight is None else wish.weight
            for truth, other in wish.pairs():
                y, k = index(truth), index(other)
                if y == k:
                    raise ValueError(f"{wish}: class {truth!r} cannot be kept from itself.")
                if matrix[y, k] not in (0.0, weight):
                    raise ValueError(
                        f"{wish}: true class {truth!r} and class {other!r} already have weight "
                        f"{matrix[y, k]:g} from another wish; {weight:g} contradicts it."
                    )
                matrix[y, k] = weight
        return matrix

    def sides(self, classes: Classes) -> list[tuple[Avoid | Separate, list[int], list[int]]]:
        """Each wish to avoid or separate.

        Args:
            classes: Their number, or their names in order.

        Returns:
            Wishes, each with the places of the classes on its two sides.
        """
        index = _index(classes)
        sides = [(wish, *wish.sides()) for wish in self._wishes()]
        return [
            (wish, [index(name) for name in first], [index(name) for name in second])
            for wish, first, second in sides
        ]

    def _wishes(self) -> list[Avoid | Separate]:
        return [_avoid(wish) for wish in self.avoid] + [_separate(wish) for wish in self.separate]


def _both(pairs: list[tuple[Hashable, Hashable]], one_way: bool) -> list[tuple[Hashable, Hashable]]:
    return pairs if one_way else pairs + [(b, a) for a, b in pairs]


def _avoid(wish: Avoid | tuple[Hashable, Hashable]) -> Avoid:
    if isinstance(wish, Avoid):
        return wish
    if isinstance(wish, str) or len(wish) != 2:
        raise ValueError(f"avoid takes pairs (a, b) or Avoid(a, b, ...); got {wish!r}.")
    return Avoid(*wish)


def _separate(wish: Separate | tuple[Sequence[Hashable], Sequence[Hashable]]) -> Separate:
    if not isinstance(wish, Separate):
        if isinstance(wish, str) or len(wish) != 2:
            raise ValueError(f"separate takes pairs of groups or Separate(...); got {wish!r}.")
        wish = Separate(*wish)
    if isinstance(wish.group, str) or isinstance(wish.others, str):
        raise ValueError(f"separate takes two groups, each a list of classes; got {wish!r}.")
    wish = replace(wish, group=tuple(wish.group), others=tuple(wish.others))
    if not wish.group or not wish.others:
        raise ValueError(f"separate needs a class on either side; got {wish!r}.")
    return wish


def _count(classes: Classes) -> int:
    return classes if isinstance(classes, int) else len(classes)


def _index(classes: Classes) -> Callable[[Hashable], int]:
    """From a class's name to its place; a whole number is a place unless it is itself a name."""
    names: Sequence[Hashable] = range(classes) if isinstance(classes, int) else list(classes)
    places = {name: place for place, name in enumerate(names)}
    if len(places) != len(names):
        raise ValueError("classes must have different names.")
    numbered = any(isinstance(name, int | np.integer) for name in names)

    def index(name: Hashable) -> int:
        if name in places:
            return places[name]
        if isinstance(name, int | np.integer) and not numbered and 0 <= name < len(names):
            return int(name)
        shown = ", ".join(repr(known) for known in list(names)[:12])
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        raise ValueError(f"there is no class {name!r}; the classes are {shown}{more}.")

    return index
