"""What came out, in numbers for a program and in a few lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from conftr.classifier.choosing import WISHED
from conftr.classifier.evidence import Evidence
from conftr.conformal import checks
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
    """The numbers, as plain data; the chosen candidate comes first."""
    tallies = numbers.tallies(evidence, evidence.alpha)
    tests, covered = (sum(getattr(one, name) for one in tallies) for name in ("tests", "covered"))
    return {
        "alpha": evidence.alpha,
        "score": evidence.score,
        "classes": list(evidence.classes),
        "test_rows": tests,
        "calibration_rows": sum(evidence.calibration_sizes),
        "covered": covered,
        "coverage": covered / tests,
        "verdict": numbers.verdict(tallies),
        "groups": [
            {
                "name": one.name,
                "calibration_rows": one.calibration,
                "test_rows": one.tests,
                "covered": one.covered,
                "chance": [one.low, one.high],
                "verdict": one.verdict,
            }
            for one in tallies
        ],
        "group_by": evidence.group_by,
        "candidates": [_candidate(evidence, i) for i in range(len(evidence.candidates))],
        "wishes": list(evidence.wishes),
        "why": evidence.provenance.get("why"),
        "tuning": evidence.provenance.get("tuning"),
    }


def _candidate(evidence: Evidence, i: int) -> dict[str, Any]:
    sets, y = evidence.sets(i), evidence.labels
    sizes = sets.sum(axis=1)
    likeliest = evidence.candidates[i].probabilities.argmax(axis=1)
    found = {
        "name": evidence.candidates[i].name,
        "words": evidence.candidates[i].words,
        "mean_size": float(sizes.mean()),
        "coverage": float(sets[np.arange(len(y)), y].mean()),
        "single": float((sizes == 1).mean()),
        "accuracy": float((likeliest == y).mean()),
    }
    if evidence.unwanted is not None and evidence.unwanted.any():
        unwanted = evidence.unwanted[y]
        mixed = (sets & unwanted).any(axis=1)
        found["unwanted"] = _mean(mixed, unwanted.any(axis=1))
    if evidence.shrink is not None and (evidence.shrink != 1).any():
        found["shrunk_size"] = _mean(sizes, evidence.shrink[y] != 1)
    return found


def _mean(values: Any, where: Any) -> float | None:
    return float(values[where].mean()) if where.any() else None


def lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The numbers as lines, each with a word to go in front."""
    chosen, *others = found["candidates"]
    within = f", in each {found['group_by']}" if found["group_by"] else ""
    share = f"{100 * (1 - found['alpha']):.6g} %"
    yield "Promise", f"at least {share} of the sets hold the true class{within}."
    if "before" in found:
        yield "Before", f"{_coverage(found['before'], 'fresh rows')}"
    yield "Coverage", _coverage(found)
    compared = "".join(f"; {one['name']}: {one['mean_size']:.2f}" for one in others)
    single = _percent(chosen["single"])
    yield "Size", f"{chosen['mean_size']:.2f} classes a set, {single} hold one{compared}."
    yield "Method", f"{chosen['name']}. {found['why'] or chosen['words']}"
    yield from _wishes(found["candidates"])


def _coverage(found: Mapping[str, Any], rows: str = "test rows") -> str:
    told = f"{_percent(found['coverage'])} of {found['test_rows']:,} {rows}"
    groups = found["groups"]
    if len(groups) > 1:
        return f"{told}; {_by_group(groups)}."
    low, high = (count / found["test_rows"] for count in groups[0]["chance"])
    chance = f"chance allows {_percent(low)} to {_percent(high)}"
    return f"{told} ({chance}), which {_VERDICTS[found['verdict']]}."


def _by_group(groups: Sequence[Mapping[str, Any]]) -> str:
    """Which groups agree with the promise, and the names of those that do not."""
    tested = [one for one in groups if one["test_rows"]]
    by_verdict = {
        verdict: [one["name"] for one in tested if one["verdict"] == verdict] for verdict in _GROUPS
    }
    agree = len(by_verdict.pop("agrees"))
    told = [f"{agree} of {len(tested)} groups agree with the promise"]
    if len(groups) > len(tested):
        told.append(f"{len(groups) - len(tested)} have no test rows")
    for verdict, names in by_verdict.items():
        if names:
            told.append(f"{_GROUPS[verdict]}: {checks.listed(names)}")
    return "; ".join(told)


def _wishes(candidates: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    chosen, *others = candidates
    if chosen.get("unwanted") is not None:
        compared = "".join(f"; {one['name']}: {_percent(one['unwanted'])}" for one in others)
        share = _percent(chosen["unwanted"])
        yield "Wishes", f"{share} of the sets concerned hold what they should not{compared}."
    if chosen.get("shrunk_size") is not None:
        compared = "".join(f"; {one['name']}: {one['shrunk_size']:.2f}" for one in others)
        size = f"{chosen['shrunk_size']:.2f}"
        yield "Wishes", f"{size} classes in the sets that should shrink{compared}."
    if any(one["name"] == WISHED for one in others):
        yield "", "Following them was not better beyond noise; --method conformal does it anyway."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
