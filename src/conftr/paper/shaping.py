"""The paper's shaping experiments (sec. 4.2, app. I to L): weights, matrices and what they change.

Size weights start from ConfTr, loss matrices from ConfTr + L_class, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from conftr.conformal.shaping import Avoid, Separate, Shape
from conftr.data.named import cifar100
from conftr.experiments.specification import Specification
from conftr.paper.exhibits import COVERAGE, INEFFICIENCY, Cell, Line, Quantity, published
from conftr.paper.runs import NAMES, run
from conftr.search.attempts import Evaluation
from conftr.search.text import score

Matrix: TypeAlias = tuple[tuple[float, ...], ...]

_OMEGA = 10.0
_WEIGHTS = (0.01, 0.05, 0.1, 0.5, 1.0)
EVEN, ODD = (0, 2, 4, 6, 8), (1, 3, 5, 7, 9)
VEHICLES, ANIMALS = (0, 1, 8, 9), (2, 3, 4, 5, 6, 7)
_ALL = tuple(range(10))
_CIFAR10, _CIFAR100 = "cifar10-resnet34-long", "cifar100-resnet50"
_TRIALS = {_CIFAR10: 10, _CIFAR100: 1}  # of others 5
# There are many runs on CIFAR, and what is asked of them is the sets by THR.
_MEASURED = dict.fromkeys(_TRIALS, Evaluation((0.01,), scores=(score("thr"),)))
_CLASSES = {_CIFAR100: 100, "winequality": 2}  # of others 10


def plain(dataset: str, method: str) -> Specification:
    """The run that shaped ones are compared with."""
    return run(dataset, method, trials=_TRIALS.get(dataset, 5), evaluation=_MEASURED.get(dataset))


def _shrunk(dataset: str, classes: Sequence[int], omega: float = _OMEGA) -> Specification:
    """ConfTr with size weight omega on some of its classes."""
    weights = Shape(shrink=dict.fromkeys(classes, omega)).class_weights(_CLASSES.get(dataset, 10))
    return run(
        dataset,
        "conftr",
        name=f"conftr-shrink-{'.'.join(map(str, classes))}-x{omega:g}",
        trials=_TRIALS.get(dataset, 5),
        evaluation=_MEASURED.get(dataset),
        class_weights=tuple(weights.tolist()),
    )


def parted(dataset: str, name: str, matrix: Matrix, quantile: Any = None) -> Specification:
    """ConfTr + L_class with another loss matrix, and with another estimator of the quantile."""
    return run(
        dataset,
        "conftr-class",
        name=f"conftr-class-{name}",
        trials=_TRIALS.get(dataset, 5),
        evaluation=_MEASURED.get(dataset),
        quantile=quantile,
        loss_matrix=matrix,
    )


def _matrix_of(shape: Shape, classes: int = 10) -> Matrix:
    """A shape's loss matrix as plain data."""
    return tuple(map(tuple, shape.loss_matrix(classes).tolist()))


def _size_of(classes: Sequence[int]) -> Quantity:
    """Mean set size of some classes, each counting the same."""
    paths = tuple(("class_inefficiency", k) for k in classes)
    return Quantity("set size there", paths, factor=1 / len(classes))


def confusion(entries: Sequence[tuple[int, int]], name: str = "in these entries %") -> Quantity:
    """The sum of entries of Sigma, percent of all test examples."""
    paths = tuple(("coverage_confusion", y, k) for y, k in entries)
    return Quantity(name, paths, factor=100, digits=3)


def leaving(group: str) -> Quantity:
    """The share of K0's examples whose sets hold a class of K1."""
    return Quantity("0 -> 1 %", (("groups", group, "leaving"),), factor=100)


def entering(group: str) -> Quantity:
    """The share of K1's examples whose sets hold a class of K0."""
    return Quantity("1 -> 0 %", (("groups", group, "entering"),), factor=100)


def _shrinking(dataset: str, words: str, classes: Sequence[int], omega: float = _OMEGA) -> Line:
    return Line(
        (NAMES[dataset], words, f"{omega:g}"),
        _shrunk(dataset, classes, omega),
        (Cell(None, _size_of(classes)), Cell(None, INEFFICIENCY)),
        plain(dataset, "conftr"),
    )


def _sizes() -> Iterator[Line]:
    for dataset in ("mnist", "fashion-mnist"):
        yield from (_shrinking(dataset, str(k), (k,)) for k in _ALL)
        yield _shrinking(dataset, "even", EVEN)
        yield _shrinking(dataset, "odd", ODD)
    for k in (7, 9):
        yield from (_shrinking("fashion-mnist", str(k), (k,), omega) for omega in (2.0, 5.0))
    yield from (_shrinking(_CIFAR10, str(k), (k,)) for k in _ALL)
    yield _shrinking(_CIFAR10, "vehicles", VEHICLES)
    yield _shrinking(_CIFAR10, "animals", ANIMALS)
    for k in (0, 3):
        yield from (_shrinking(_CIFAR10, str(k), (k,), omega) for omega in (2.0, 5.0))
    for i, classes in enumerate(_coarse()):
        yield _shrinking(_CIFAR100, f"coarse {i}", classes)


def _coarse() -> list[tuple[int, ...]]:
    """The classes of CIFAR-100 that belong to each of the 20 coarse ones."""
    groups = cifar100.groups()
    return [groups[name] for name in cifar100.COARSE]


def _kept_apart(
    dataset: str, words: str, pairs: Sequence[tuple[int, int]], *, one_way: bool = False
) -> list[Line]:
    """A line for each weight off the diagonal."""
    entries = pairs if one_way else [*pairs, *((k, y) for y, k in pairs)]
    others = [(y, k) for y in _ALL for k in _ALL if y != k and (y, k) not in entries]
    lines = []
    for weight in _WEIGHTS:
        shape = Shape(avoid=[Avoid(y, k, weight, one_way) for y, k in pairs])
        name = f"avoid-{words.replace(' ', '').replace(',', '.')}-{weight:g}"
        cells = (
            Cell(None, confusion(entries)),
            Cell(None, confusion(others, "in others %")),
            Cell(None, INEFFICIENCY),
        )
        against = plain(dataset, "conftr-class")
        shaped = parted(dataset, name, _matrix_of(shape))
        lines.append(Line((NAMES[dataset], words, f"{weight:g}"), shaped, cells, against))
    return lines


def _triple(a: int, b: int, c: int) -> list[tuple[int, int]]:
    return [(a, b), (a, c), (b, c)]


def _row(y: int) -> list[tuple[int, int]]:
    return [(y, k) for k in _ALL if k != y]


def _confusion() -> list[Line]:
    return [
        *_kept_apart("fashion-mnist", "4, 6", [(4, 6)]),
        *_kept_apart("fashion-mnist", "2, 4, 6", _triple(2, 4, 6)),
        *_kept_apart("fashion-mnist", "row 6", _row(6), one_way=True),
        *_kept_apart("mnist", "4, 9", [(4, 9)]),
        *_kept_apart("mnist", "3, 5, 8", _triple(3, 5, 8)),
        *_kept_apart("mnist", "row 2", _row(2), one_way=True),
        *_kept_apart(_CIFAR10, "3, 5", [(3, 5)]),
        *_kept_apart(_CIFAR10, "4, 5, 7", _triple(4, 5, 7)),
        *_kept_apart(_CIFAR10, "row 3", _row(3), one_way=True),
    ]


def separating(classes: Sequence[int], of: int = 10) -> tuple[Matrix, Matrix]:
    """Loss matrices with L[K0, K1] = 1 and with L[K1, K0] = 1, where K0 are the classes."""
    rest = tuple(k for k in range(of) if k not in classes)
    there = Shape(separate=[Separate(tuple(classes), rest, one_way=True)])
    back = Shape(separate=[Separate(rest, tuple(classes), one_way=True)])
    return _matrix_of(there, of), _matrix_of(back, of)


def _mis_covered(
    dataset: str,
    words: str,
    group: str,
    classes: Sequence[int],
    *numbers: Sequence[float],
) -> list[Line]:
    """ConfTr + L_class, with L[K0, K1] = 1 and with L[K1, K0] = 1."""
    outward, inward = separating(classes, _CLASSES.get(dataset, 10))
    runs = (
        ("L = I", plain(dataset, "conftr-class")),
        ("L[K0, K1] = 1", parted(dataset, f"separate-{group}-out", outward)),
        ("L[K1, K0] = 1", parted(dataset, f"separate-{group}-in", inward)),
    )
    return [
        Line(
            (NAMES[dataset], words, loss),
            run,
            (Cell(size), Cell(out, leaving(group)), Cell(back, entering(group))),
        )
        for (loss, run), (size, out, back) in zip(runs, numbers, strict=True)
    ]


_OMEGAS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)


def _wine_sizes(k: int) -> list[Line]:
    return [
        Line(
            (f"size weight of class {k}", f"{omega:g}"),
            _shrunk("winequality", [k], omega),
            _wine_cells(),
            plain("winequality", "conftr"),
        )
        for omega in _OMEGAS
    ]


def _wine_matrix(y: int, k: int, values: Sequence[float]) -> list[Line]:
    lines = []
    for value in values:
        matrix = [[1.0, 0.0], [0.0, 1.0]]
        matrix[y][k] = value
        shaped = parted("winequality", f"L{y}{k}-{value:g}", tuple(map(tuple, matrix)))
        against = plain("winequality", "conftr-class")
        lines.append(Line((f"L[{y}, {k}]", f"{value:g}"), shaped, _wine_cells(), against))
    return lines


def _wine_cells() -> tuple[Cell, ...]:
    return (
        *(Cell(None, _size_of([k])) for k in (0, 1)),
        *(
            Cell(None, Quantity(f"coverage {k} %", (("class_coverage", k),), factor=100))
            for k in (0, 1)
        ),
        *(Cell(None, confusion([pair])) for pair in ((0, 1), (1, 0))),
        Cell(None, COVERAGE),
    )


def _wine() -> list[Line]:
    return [
        *_wine_sizes(0),
        *_wine_sizes(1),
        *_wine_matrix(0, 0, (1.5, 2.0, 3.0, 4.0)),
        *_wine_matrix(1, 0, _WEIGHTS),
        *_wine_matrix(0, 1, _WEIGHTS),
    ]


LINES: dict[str, list[Line]] = {
    "miscoverage": [line for row in published("miscoverage") for line in _mis_covered(*row)],
    "sizes": list(_sizes()),
    "confusion": _confusion(),
    "wine": _wine(),
}
