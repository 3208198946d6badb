"""Random calibration/test splits of held-out examples, and what is measured on them (app. F)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from conftr.conformal import checks, metrics
from conftr.conformal.arrays import Array, constant, namespace, pick, stop_gradient
from conftr.conformal.sets import marginal

Record: TypeAlias = dict[str, Any]

# A coverage below the exact 99 % interval that the guarantee leaves is called inconsistent.
_TAIL = 0.005


def evaluate(
    logits: Array,
    labels: Array,
    *,
    score: Callable[..., Array],
    alpha: Any,
    n_cal: int,
    splits: int = 10,
    seed: int = 0,
    groups: Mapping[str, Sequence[int]] | None = None,
    random_u: bool = False,
) -> list[Record]:
    """Calibrate on n_cal examples and measure on the rest, for every random split and alpha.

    `tail` is the probability
    of so low a coverage if the guarantee holds (exact, beta-binomial); `consistent` says whether
    it is at least 0.005. What has no examples is None, and so is a tau of -inf.

    Args:
        logits: Of the pooled calibration and test examples, (n, K).
        labels: Of these, (n,).
        score: Logits -> scores.
        alpha: A number, or several.
        n_cal: How many examples calibrate in a split.
        splits: How many splits are drawn.
        seed: Of the splits and of U.
        groups: Named groups of classes to report on; `miscoverage[name->]` is the share of the
            group's examples whose set holds a class of another, `miscoverage[->name]` the reverse.
        random_u: Draw a fresh U for each example and split, for a score that takes U as its second
            argument, as `aps` and `raps` do. Without it U = 0, as everywhere else where no U is
            given.

    Returns:
        A record for each split and alpha, ready for a data frame.

    Raises:
        TypeError: If the score is no function, or `n_cal` no whole number.
        ValueError: If there are too few examples, or U is drawn for a score that takes none.
    """
    logits = checks.logits_array(logits)
    labels = checks.labels_array(labels, logits)
    alphas = np.ravel(checks.probability(alpha, "alpha"))
    checks.number(splits, "splits", at_least=1)
    if not callable(score):
        raise TypeError(f"score must be a function such as conftr.thr; got {score!r}.")
    if not isinstance(n_cal, int | np.integer):
        raise TypeError(f"n_cal must be a whole number; got {n_cal!r}.")
    if random_u and not takes_u(score):
        raise ValueError(
            f"random_u is for a score whose second parameter is u, as of conftr.aps; got {score!r}."
        )
    n_test = int(logits.shape[0]) - n_cal
    if n_cal < 1 or n_test < 1:
        raise ValueError(
            f"n_cal must lie in 1..{logits.shape[0] - 1}, to leave a test example; got {n_cal}."
        )
    xp = namespace(logits=logits)
    laws = [metrics.coverage_law(n_cal, n_test, a) for a in alphas]
    records = []
    for split, (order, scores) in enumerate(_scored_orders(logits, score, splits, seed, random_u)):
        cal, test = order[:n_cal], order[n_cal:]
        y = xp.take(labels, test, axis=0)
        top = metrics.accuracy(xp.take(logits, test, axis=0), y)
        true_scores = pick(xp.take(scores, cal, axis=0), xp.take(labels, cal, axis=0))
        taus = marginal(stop_gradient(true_scores), alphas)
        held_out = xp.take(scores, test, axis=0)
        for a, law, tau in zip(alphas, laws, [taus[i] for i in range(len(alphas))], strict=True):
            # Every row was scored once, in one company: nothing is left to rounding.
            measured = measure(held_out >= tau, y, groups or {})
            tail = float(law[round(measured["coverage"] * n_test)])
            records.append(
                {"split": split, "alpha": float(a), "n_cal": n_cal, "n_test": n_test}
                | {
                    "tau": None if tau == -math.inf else float(tau),
                    "accuracy": top,
                    "tail": tail,
                    "consistent": tail >= _TAIL,
                }
                | measured
            )
    return records


def measure(sets: Array, labels: Array, groups: Mapping[str, Sequence[int]]) -> Record:
    """Every metric of one prediction, sets (n, K) and labels (n,), as plain numbers and lists."""
    sizes = metrics.size_histogram(sets)
    record = {
        "coverage": metrics.coverage(sets, labels),
        "inefficiency": metrics.inefficiency(sets),
        "empty": int(sizes[0]) / sets.shape[0],
        "full": int(sizes[-1]) / sets.shape[0],
        "size_histogram": [int(sizes[i]) for i in range(sizes.shape[0])],
        "size_stratified_coverage": _plain(metrics.size_stratified_coverage(sets, labels)),
        "class_coverage": _plain(metrics.class_coverage(sets, labels)),
        "class_inefficiency": _plain(metrics.class_inefficiency(sets, labels)),
        "coverage_confusion": _plain_rows(metrics.coverage_confusion(sets, labels)),
    }
    for name, group in groups.items():
        others = [k for k in range(int(sets.shape[1])) if k not in group]
        record[f"miscoverage[{name}->]"] = _miscoverage(sets, labels, group, others)
        record[f"miscoverage[->{name}]"] = _miscoverage(sets, labels, others, group)
        (record[f"coverage[{name}]"],) = _plain(metrics.group_coverage(sets, labels, [group]))
        (record[f"inefficiency[{name}]"],) = _plain(
            metrics.group_inefficiency(sets, labels, [group])
        )
    return record


def takes_u(score: Callable[..., Array]) -> bool:
    """Whether a score takes U: as its second, positional parameter, and under this name."""
    parameters = list(inspect.signature(score).parameters.values())[1:2]
    return any(p.name == "u" and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)


def _scored_orders(
    logits: Array, score: Callable[..., Array], count: int, seed: int, random_u: bool
) -> Iterator[tuple[Array, Array]]:
    """Random orders of the examples (n,), with the scores (n, K) of each.

    An order depends on the seed and its number alone: asking for more leaves the first unchanged.
    """
    n = int(logits.shape[0])
    fixed = None if random_u else checks.scores_array(score(logits))
    for child in np.random.SeedSequence(seed).spawn(count):
        generator = np.random.default_rng(child)
        order = constant(generator.permutation(n), logits, integer=True)
        if fixed is not None:
            yield order, fixed
        else:
            u = constant(generator.random(n), logits)
            yield order, checks.scores_array(score(logits, u))


def _miscoverage(
    sets: Array, labels: Array, group: Sequence[int], others: Sequence[int]
) -> float | None:
    """Share of the group's examples whose set holds any of the others; None without examples."""
    if not group or not others:
        return None
    share = float(metrics.miscoverage(sets, labels, group, others))
    return None if math.isnan(share) else share


def _plain_rows(values: Array) -> list[list[float | None]]:
    return [_plain(values[i, ...]) for i in range(values.shape[0])]


def _plain(values: Array) -> list[float | None]:
    """A list of numbers, with None for nan."""
    numbers = [float(values[i]) for i in range(values.shape[0])]
    return [None if math.isnan(x) else x for x in numbers]
