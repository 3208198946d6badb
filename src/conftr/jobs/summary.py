"""The summary of a fit or calibration: numbers as JSON, and lines for the terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from conftr.classifier.choosing import WISHED
from conftr.classifier.evidence import Evidence
from conftr.classifier.wish_weights import mixed
from conftr.conformal import checks
from conftr.conformal.shown_names import shown
from conftr.data.user_files.examples import TARGET
from conftr.report import numbers

_VERDICTS = {
    "agrees": "agrees with the promise",
    "below": "is below what chance explains: are these rows like those it was calibrated on?",
    "above": "is above what chance explains: sets are larger than they would have to be",
    "everything": "says nothing: there are too few calibration rows for this alpha",
}
_GROUPS = {
    "agrees": "",
    "below": "below what chance explains",
    "above": "above what chance explains",
    "everything": "too few calibration rows",
}


def summary(evidence: Evidence) -> dict[str, Any]:
    """The numbers, as plain data; the chosen candidate comes first.

    Test rows of classes that were not learned are counted as missed; the verdict is on the others,
    which the promise is for.
    """
    tallies = numbers.tallies(evidence, evidence.alpha)
    known, covered = (
        sum(getattr(tally, name) for tally in tallies) for name in ("tests", "covered")
    )
    tests = known + evidence.unseen
    return {
        "alpha": evidence.alpha,
        "sure_coverage": evidence.sure(evidence.alpha),
        "cross_conformal": evidence.cross_folds or None,
        "score": evidence.score,
        "classes": list(evidence.classes),
        "test_rows": tests,
        "calibration_rows": sum(evidence.calibration_sizes),
        "covered": covered,
        "coverage": covered / tests,
        "unseen_rows": evidence.unseen,
        "unseen_share": evidence.unseen_share,
        "verdict": numbers.verdict(tallies),
        "classes_below": [
            {"name": tally.name, "test_rows": tally.tests, "covered": tally.covered}
            for tally in numbers.far_below(evidence, evidence.alpha)
        ],
        "groups": [
            {
                "name": tally.name,
                "calibration_rows": tally.calibration,
                "test_rows": tally.tests,
                "covered": tally.covered,
                "chance": [tally.low, tally.high],
                "verdict": tally.verdict,
            }
            for tally in tallies
        ],
        "grouping": evidence.kind,
        "group_by": evidence.group_by,
        "target": evidence.provenance.get("target"),
        "candidates": [_candidate(evidence, i) for i in range(len(evidence.candidates))],
        "outputs": _outputs(evidence),
        "wishes": list(evidence.wishes),
        "why": evidence.provenance.get("why"),
        "tuning": evidence.provenance.get("tuning"),
    }


def _outputs(evidence: Evidence) -> dict[str, Any] | None:
    """Of outputs of another system: how often the likeliest class is right, and is by chance."""
    if "outputs" not in evidence.provenance:
        return None
    n, count = len(evidence.labels), len(evidence.classes)
    likeliest = evidence.candidates[0].probabilities.argmax(axis=1)
    shares = (np.bincount(columns, minlength=count) / n for columns in (evidence.labels, likeliest))
    return {
        "accuracy": numbers.count_right(evidence, 0) / n,
        "by_chance": float(np.prod(list(shares), axis=0).sum()),
        "test_rows": n,
    }


def _candidate(evidence: Evidence, i: int) -> dict[str, Any]:
    sets, y = evidence.sets(i), evidence.labels
    sizes = sets.sum(axis=1)
    likeliest = evidence.candidates[i].probabilities.argmax(axis=1)
    numbers_of = {
        "name": evidence.candidates[i].name,
        "words": evidence.candidates[i].words,
        "mean_size": float(sizes.mean()),
        "coverage": float(sets[np.arange(len(y)), y].mean()),
        "single": float((sizes == 1).mean()),
        "accuracy": float((likeliest == y).mean()),
    }
    if evidence.unwanted is not None and evidence.unwanted.any():
        unwanted = evidence.unwanted[y]
        numbers_of["unwanted"] = _mean((sets & unwanted).any(axis=1), unwanted.any(axis=1))
        numbers_of["mixed"] = mixed(sets, y, evidence.unwanted) if unwanted.any() else None
    if evidence.shrink is not None and (evidence.shrink != 1).any():
        numbers_of["shrunk_size"] = _mean(sizes, evidence.shrink[y] != 1)
    return numbers_of


def _mean(values: Any, where: Any) -> float | None:
    return float(values[where].mean()) if where.any() else None


def lines(outcome: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The numbers as lines, each with a word to go in front."""
    chosen, *others = outcome["candidates"]
    yield "Promise", _promise(outcome)
    if "before" in outcome:
        yield "Before", f"{_coverage(outcome['before'], 'fresh rows')}"
    yield "Coverage", _coverage(outcome)
    if outcome["classes_below"]:
        yield "Classes", _classes_below(outcome)
    if outcome["outputs"]:
        yield "Columns", _columns(outcome["classes"], outcome["outputs"])
    compared = "".join(f"; {other['name']}: {_number(other['mean_size'])}" for other in others)
    single = _percent(chosen["single"])
    yield "Size", f"{_number(chosen['mean_size'])} classes a set, {single} hold one{compared}."
    yield "Method", f"{chosen['name']}. {outcome['why'] or chosen['words']}"
    yield from _wishes(outcome["candidates"])


def _promise(outcome: Mapping[str, Any]) -> str:
    column = "" if outcome["group_by"] is None else f" of '{shown(outcome['group_by'])}'"
    within = {"all": "", "class": ", in each class", "column": f", in each group{column}"}
    promise = f"at least {100 * (1 - outcome['alpha']):.6g} % of the sets hold the true class"
    if outcome["cross_conformal"]:
        promise = (
            f"at least {_percent(outcome['sure_coverage'])} of the sets hold the true class, and "
            f"usually about {100 * (1 - outcome['alpha']):.6g} %: every row trains and calibrates, "
            f"in {outcome['cross_conformal']} folds"
        )
    promise += within[outcome["grouping"]]
    if not outcome["unseen_share"]:
        return f"{promise}."
    return (
        f"{promise}, if it is one of the {len(outcome['classes']):,} that were learned; about "
        f"{_percent(outcome['unseen_share'])} of all rows are of others."
    )


def _coverage(outcome: Mapping[str, Any], rows: str = "test rows") -> str:
    sentence, groups = (
        f"{_percent(outcome['coverage'])} of {outcome['test_rows']:,} {rows}",
        outcome["groups"],
    )
    known = outcome["test_rows"] - outcome["unseen_rows"]
    if outcome["unseen_rows"]:
        sentence += (
            f", of which {outcome['unseen_rows']:,} are of classes that were not learned, and so "
            f"missed; "
            f"{_percent(outcome['covered'] / known)} of the others"
        )
    if len(groups) > 1:
        return f"{sentence}; {_by_group(groups)}."
    if outcome["cross_conformal"]:
        return f"{sentence}; usual is about {_percent(1 - outcome['alpha'])}."
    low, high = (count / known for count in groups[0]["chance"])
    chance = f"chance allows {_percent(low)} to {_percent(high)}"
    return f"{sentence} ({chance}), which {_VERDICTS[outcome['verdict']]}."


def _classes_below(outcome: Mapping[str, Any]) -> str:
    """The classes that are far below the promise, and what can be done."""
    names = [
        f"{t['name']} ({_percent(t['covered'] / t['test_rows'])} of {t['test_rows']:,})"
        for t in outcome["classes_below"]
    ]
    target = shlex.quote(outcome["target"] or TARGET)
    return (
        f"far below the promise, which is kept on average over the classes: "
        f"{checks.listed(names)}. --group-by {target} keeps it for each class."
    )


def _columns(classes: Sequence[str], outputs: Mapping[str, Any]) -> str:
    """Which class each column was taken for, and whether that can be."""
    accuracy, chance = outputs["accuracy"], outputs["by_chance"]
    sentence = (
        f"{checks.listed(classes, 20)}, in this order; the likeliest is the true class of "
        f"{_percent(accuracy)} of the test rows"
    )
    noise = 2 * math.sqrt(chance * (1 - chance) / outputs["test_rows"])
    if accuracy > chance + noise:
        return f"{sentence}."
    return f"{sentence}, no more often than by chance ({_percent(chance)}): is this their order?"


def _by_group(groups: Sequence[Mapping[str, Any]]) -> str:
    """Which groups agree with the promise, and the names of those that do not."""
    tested = [group for group in groups if group["test_rows"]]
    by_verdict = {
        verdict: [group["name"] for group in tested if group["verdict"] == verdict]
        for verdict in _GROUPS
    }
    agree = len(by_verdict.pop("agrees"))
    sentences = [f"{agree} of {len(tested)} groups agree with the promise"]
    if len(groups) > len(tested):
        sentences.append(f"{len(groups) - len(tested)} have no test rows")
    for verdict, names in by_verdict.items():
        if names:
            sentences.append(f"{_GROUPS[verdict]}: {checks.listed(names)}")
    return "; ".join(sentences)


def _wishes(candidates: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    chosen, *others = candidates
    if chosen.get("mixed") is not None:
        compared = "".join(f"; {other['name']}: {_percent(other['mixed'])}" for other in others)
        share = _percent(chosen["mixed"])
        yield "Wishes", f"{share} of the sets concerned hold what should stay apart{compared}."
    if chosen.get("shrunk_size") is not None:
        compared = "".join(
            f"; {other['name']}: {_number(other['shrunk_size'])}" for other in others
        )
        size = _number(chosen["shrunk_size"])
        yield "Wishes", f"{size} classes in the sets that should shrink{compared}."
    if any(other["name"] == WISHED for other in others):
        yield "", "Following them was not better beyond noise; --method conftr does it anyway."


def _percent(share: float) -> str:
    return f"{numbers.rounded(100 * share, 1)} %"


def _number(mean: float) -> str:
    return numbers.rounded(mean, 2)
