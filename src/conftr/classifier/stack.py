"""A stack: fitted members, and the head that makes one classifier of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from conftr.classifier import head
from conftr.classifier.cross_fitting import Report
from conftr.classifier.head import Head
from conftr.features.frozen_pictures import FrozenPictures
from conftr.members import loading
from conftr.members.elsewhere import OutputColumns
from conftr.members.member import Files, FittedMember, Numbers, Reader
from conftr.members.pytorch import Build

MANIFEST = "stack.json"


class Answers(NamedTuple):
    """What is said of n rows: logits (n, K), and the scores (n, K) that thresholds are for."""

    logits: Numbers
    scores: Numbers


@dataclass(frozen=True, eq=False)
class Stack:
    """Fitted members and a head; a single member needs none."""

    members: tuple[FittedMember, ...]
    head: Head | None

    def logits(self, x: Any) -> Numbers:
        """Logits (n, K) of n rows of the user's."""
        return logits_of([self], x)[0]

    def answers(self, x: Any, score: Callable[[Any], Any]) -> Answers:
        """Logits of n rows of the user's, and what the conformity score makes of them."""
        logits = self.logits(x)
        return Answers(logits, score(logits))

    def combine(self, answers: Sequence[Numbers]) -> Numbers:
        """Logits (n, K) from what each member says of the rows."""
        return answers[0] if self.head is None else self.head.logits(answers)

    @property
    def reader(self) -> Reader:
        """What reads rows for its first member."""
        return self.members[0].reader

    @property
    def of_outputs(self) -> bool:
        """Whether rows are nothing but outputs of another system."""
        return isinstance(self.members[0].models[0], OutputColumns)

    @property
    def words(self) -> str:
        """What it is made of."""
        return "; ".join(member.words for member in self.members)

    def files(self) -> Files:
        """Everything as files by name; raises `MemberError` where a member cannot be saved."""
        manifest, files = loading.pack(self.members)
        if self.head is not None:
            manifest["head"] = self.head.to_json()
            files |= self.head.files()
        return files | {MANIFEST: json.dumps(manifest, indent=1).encode()}


def load(files: Files, classes: int, build: Build | None = None) -> Stack:
    """The stack that was saved as these files.

    Args:
        build: Makes the network of PyTorch that is among its members, if one is.
    """
    manifest = json.loads(files[MANIFEST])
    members = loading.unpack(manifest, files, build)
    if "head" not in manifest:
        return Stack(members, None)
    return Stack(members, head.load(manifest["head"], files, len(members), classes))


def logits_of(
    stacks: Sequence[Stack], x: Any, report: Report | None = None, rows: str = "rows"
) -> list[Numbers]:
    """Logits (n, K) of n rows of the user's by each of several stacks.

    Rows are read once for all members, and every member is asked once for all stacks.

    Args:
        stacks: Which are asked.
        x: The rows.
        report, rows: As in `read`.
    """
    members = {id(member): member for stack in stacks for member in stack.members}
    readers = {id(member.reader): member.reader for member in members.values()}
    inputs = {key: read(reader, x, report, rows) for key, reader in readers.items()}
    answers = {key: member.answers(inputs[id(member.reader)]) for key, member in members.items()}
    return [stack.combine([answers[id(member)] for member in stack.members]) for stack in stacks]


def read(reader: Any, x: Any, report: Report | None, rows: str) -> Any:
    """Inputs that a reader makes of the user's rows; a frozen network takes long, and tells.

    Args:
        reader: What makes inputs of them.
        x: The rows.
        report: Told what is read, how many rows are done, and how many there are.
        rows: What the rows are for, such as "calibration rows".
    """
    if report is None or not isinstance(reader, FrozenPictures):
        return reader.encode(x)
    return reader.encode(x, progress=partial(report, f"{reader.words} of {rows}"))
