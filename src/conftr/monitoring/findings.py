"""What the streams say, as plain data and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from conftr.monitoring.observed import Observed
from conftr.monitoring.reference import Reference
from conftr.monitoring.streams import (
    CLASSES,
    CONFIDENCE,
    GROUP,
    PROMISE,
    SCORES,
    SIZES,
    Stream,
    streams,
)

_ALARMS = {
    PROMISE: "sets miss the true class more often than promised",
    GROUP: "sets miss the true class more often than promised in {name}",
    SCORES: "the scores of true classes are not what they were",
    CLASSES: "rows of class {name} conform less than they did",
    SIZES: "sets have other sizes than they had",
    CONFIDENCE: "the model is surer, or less sure, than it was",
}


@dataclass(frozen=True)
class Finding:
    """What one stream says.

    Attributes:
        rows: How many it has had.
        evidence: Its largest capital times its share of the level.
        alarm: After how many of its rows that reached 1 / level; None if it never did.
    """

    kind: str
    name: str
    rows: int
    evidence: float
    alarm: int | None


@dataclass(frozen=True)
class Findings:
    """What all streams say, and what was counted.

    Attributes:
        covered: Of the labelled rows, how many sets hold the true class.
        strangers: Rows with a label that is no class.
        unseen: Rows of groups without a threshold.
        left_out: Test rows of classes that were not learned, which the model was saved without;
            where there are any, sizes and confidence are not tested.
    """

    level: float
    alpha: float
    rows: int
    labelled: int
    covered: int
    mean_size: float | None
    strangers: int
    unseen: int
    left_out: int
    found: tuple[Finding, ...]

    @property
    def alarm(self) -> bool:
        """Whether any stream has given the alarm."""
        return any(finding.alarm is not None for finding in self.found)

    @property
    def evidence(self) -> float:
        """The evidence of the stream that says most; the alarm is given at 1 / level."""
        return max((finding.evidence for finding in self.found), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {"alarm": self.alarm, "evidence": self.evidence, **asdict(self)}


def findings(
    reference: Reference, observed: Observed, tested: Sequence[Stream] | None = None
) -> Findings:
    """What the streams say of the rows that were seen so far."""
    sizes, held = observed.counted.columns["size"], observed.labelled.columns["standing"]
    return Findings(
        level=observed.level,
        alpha=reference.alpha,
        rows=len(observed.counted),
        labelled=len(observed.labelled),
        covered=int(np.count_nonzero(held > reference.alpha)),
        mean_size=float(sizes.mean()) if len(sizes) else None,
        strangers=observed.strangers,
        unseen=observed.unseen,
        left_out=0 if reference.tests is None else reference.tests.left_out,
        found=tuple(
            Finding(
                stream.kind,
                stream.name,
                len(stream.path),
                stream.evidence(),
                stream.alarm(observed.level),
            )
            for stream in (streams(reference, observed) if tested is None else tested)
        ),
    )


def words(findings: Findings) -> Iterator[tuple[str, str]]:
    """Lines to print, each with its heading."""
    yield "Rows", _counted(findings)
    if findings.labelled:
        share = 100 * findings.covered / findings.labelled
        yield (
            "Coverage",
            f"{share:.1f} % of the {findings.labelled:,} sets whose class is known hold it; "
            f"promised are {100 * (1 - findings.alpha):g} %.",
        )
    if findings.strangers:
        yield (
            "Note",
            f"{findings.strangers:,} labels are no class of the model; they are not counted.",
        )
    if findings.unseen:
        yield "Note", f"{findings.unseen:,} rows are of groups without a threshold; sets hold all."
    if findings.left_out:
        yield "Note", untested(findings)
    alarms = [finding for finding in findings.found if finding.alarm is not None]
    for finding in alarms:
        yield (
            "ALARM",
            f"{sentence(finding)} (after {finding.alarm:,} of its {finding.rows:,} rows).",
        )
    if alarms:
        yield "Next", "label rows from here and calibrate on them: conftr calibrate MODEL FILE"
    else:
        yield (
            "Verdict",
            f"nothing speaks against the promise beyond chance: the strongest evidence so far is "
            f"{amount(findings.evidence)}, and the alarm is given at {amount(1 / findings.level)}.",
        )


def sentence(finding: Finding) -> str:
    """What an alarm of a stream means."""
    return _ALARMS[finding.kind].format(name=finding.name)


def untested(findings: Findings) -> str:
    """Why sizes and confidence are not tested, where they are not."""
    return (
        f"sizes and confidence are not tested: the model was saved without what it answers on its "
        f"{findings.left_out:,} test rows of classes that were not learned, and new rows may be of "
        f"such classes. A model that is fitted anew has these tests."
    )


def amount(evidence: float) -> str:
    """A capital, to a person."""
    if evidence >= 1e4:
        return f"10^{math.floor(math.log10(evidence))}"
    return f"{evidence:.0f}" if evidence >= 10 else f"{evidence:.2g}"


def _counted(findings: Findings) -> str:
    size = "" if findings.mean_size is None else f", {findings.mean_size:.2f} classes a set"
    return f"{findings.rows:,} so far, {findings.labelled:,} of them with their class{size}."
