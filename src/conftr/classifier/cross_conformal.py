"""Cross-conformal prediction (CV+) with whole stacks: every row trains, and every row calibrates.

The rows are cut into folds of equal size at random. For each fold a stack is fitted on all other
rows, with its own readers, members and head, so that nothing of it has seen the fold. A class of a
new row is scored by every stack, and counted is how many rows of the stack's own fold have a true
class with at most that score:

    c(x, k) = #{ i : E_i <= E^(-fold(i))(x, k) },    C(x) = {k : c(x, k) >= floor(alpha (n + 1))}.

These counts are compared with thresholds of 1..n as scores are, but those of true classes are not
uniform on 0..n. Of their p-values (1 + c) / (n + 1) only the bound of `conftr.cross_promise` is
sure: at most about 2 alpha of them are at most alpha. No draw makes them uniform.

Rows that are left over when folds of equal size are cut train every stack and calibrate none, as
the proof of the promise is for equal folds (`conftr.cross_promise`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import safetensors.numpy

from conftr.classifier import stack
from conftr.classifier.calibration import ALL, Calibration
from conftr.classifier.cross_fitting import Report
from conftr.classifier.division import Rows
from conftr.classifier.evidence import standing
from conftr.classifier.stack import Answers, Stack
from conftr.members.loading import under
from conftr.members.member import Files, Fold, MemberError, Numbers, averaged
from conftr.members.pytorch import Build

FILE = "folds.safetensors"


@dataclass(frozen=True, eq=False)
class CrossStack(Stack):
    """Stacks that were fitted without a fold each; `members` and `head` are those of the first.

    Attributes:
        folds: The stacks.
        true_scores: For each, the sorted scores of the true classes of the rows of its fold.
    """

    folds: tuple[Stack, ...]
    true_scores: tuple[Numbers, ...]

    def logits(self, x: Any) -> Numbers:
        """The mean of the stacks' log-probabilities (n, K)."""
        return averaged([fold.logits(x) for fold in self.folds])

    def answers(self, x: Any, score: Callable[[Any], Any]) -> Answers:
        """The mean of the stacks' log-probabilities, and the counts c(x, k), as scores."""
        answers = [fold.answers(x, score) for fold in self.folds]
        pairs = zip(answers, self.true_scores, strict=True)
        counts = sum(
            standing(answer.scores, true_scores).astype(np.float64) for answer, true_scores in pairs
        )
        return Answers(averaged([answer.logits for answer in answers]), np.asarray(counts))

    @property
    def calibration(self) -> Calibration:
        """The thresholds of counts: any alpha is served from 1..n."""
        n = sum(len(scores) for scores in self.true_scores)
        return Calibration(ALL, (ALL.kind,), (np.arange(1.0, n + 1),))

    @property
    def words(self) -> str:
        """What it is made of."""
        return f"{len(self.folds)} x ({self.folds[0].words}), each without a fold of the rows"

    def files(self) -> Files:
        """Every stack's files under the number of its fold, and the scores of the folds."""
        scores = safetensors.numpy.save({"scores": np.stack(self.true_scores)})
        numbered = enumerate(self.folds)
        return {FILE: scores} | {
            f"fold-{i}-{name}": data for i, fold in numbered for name, data in fold.files().items()
        }


def equal_folds(rows: Rows, count: int) -> list[Fold]:
    """Folds of equal size from rows in random order; what is left over trains every time.

    Raises:
        ValueError: If there are fewer rows than folds.
    """
    size = len(rows) // count
    if not size:
        raise ValueError(
            f"cross_conformal must be at most the number of different rows, {len(rows)}; got "
            f"{count}."
        )
    held = [rows[i * size : (i + 1) * size] for i in range(count)]
    return [Fold(rows[~np.isin(rows, rows_held)], rows_held) for rows_held in held]


def joined(stacks: Sequence[Stack], true_scores: Sequence[Numbers]) -> CrossStack:
    """One classifier of stacks and the scores of their folds' rows."""
    ordered = tuple(np.sort(scores).astype(np.float64) for scores in true_scores)
    return CrossStack(stacks[0].members, stacks[0].head, tuple(stacks), ordered)


def answers_of(
    stacks: Sequence[Stack],
    x: Any,
    score: Callable[[Any], Any],
    report: Report | None = None,
    rows: str = "rows",
) -> list[Answers]:
    """What each of several stacks says of n rows; members that they share are asked once.

    Args:
        stacks: Which are asked.
        x: The rows.
        score: What makes scores of logits.
        report, rows: As in `stack.read`.
    """
    if any(isinstance(each, CrossStack) for each in stacks):
        return [each.answers(x, score) for each in stacks]
    return [Answers(logits, score(logits)) for logits in stack.logits_of(stacks, x, report, rows)]


def load(files: Files, classes: int, build: Build | None = None) -> Stack:
    """The stack that was saved as these files, of either kind; `build` as in `stack.load`."""
    if FILE not in files:
        return stack.load(files, classes, build)
    scores = safetensors.numpy.load(files[FILE])["scores"]
    if scores.ndim != 2 or scores.dtype.kind != "f" or np.isnan(scores).any():
        raise MemberError(f"{FILE} must hold a row of scores for each fold.")
    by_fold = [under(files, f"fold-{i}-") for i in range(len(scores))]
    if any(stack.MANIFEST not in fold_files for fold_files in by_fold):
        raise MemberError(f"the {stack.MANIFEST} of a fold is missing.")
    return joined([stack.load(fold_files, classes, build) for fold_files in by_fold], list(scores))
