"""Results on disk: one JSON file for each specification, written once, named by its content.

ROOT/records/DATASET/METHOD-DIGEST.json     what a specification gave
ROOT/comparisons/DATASET-DIGEST.json        which records a comparison puts side by side
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from conftr.experiments.specification import Specification, stored_method
from conftr.machine.disk import write_whole

Record: TypeAlias = dict[str, Any]


class StoreError(ValueError):
    """A results file that is missing or cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Store:
    """A folder of results.

    Attributes:
        root: The folder; records lie in `records/` by dataset.
    """

    root: Path

    def path(self, specification: Specification) -> Path:
        """Where the record of a specification lies, or will.

        Args:
            specification: Of the run.

        Returns:
            A path that need not exist.
        """
        name = f"{stored_method(specification.method)}-{specification.name}.json"
        return self.root / "records" / specification.training.dataset / name

    def get(self, specification: Specification) -> Record | None:
        """The record of a specification, or None.

        Args:
            specification: Of the run.

        Returns:
            Plain data, or None where the run has not been made.
        """
        path = self.path(specification)
        return read(path) if path.exists() else None

    def put(self, record: Record) -> Path:
        """Write a record; one that exists is kept as it is.

        Args:
            record: With its specification in it.

        Returns:
            Where it lies.
        """
        path = self.path(specification_of(record))
        if not path.exists():
            write(path, record)
        return path

    def find(self, where: Callable[[Specification], bool]) -> list[Record]:
        """The records whose specification is wanted, in order of their paths.

        Args:
            where: Whether a specification is wanted.

        Returns:
            Records.
        """
        return [record for record in self if where(specification_of(record))]

    def __iter__(self) -> Iterator[Record]:
        """Every record."""
        return (read(path) for path in sorted((self.root / "records").glob("*/*.json")))


def specification_of(record: Record) -> Specification:
    """What a record is the result of."""
    return Specification.from_json(record["specification"])


def read(path: Path) -> Record:
    """A results file, or an error that names it."""
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"There is no results file {path}.") from None
    except ValueError as fault:
        raise StoreError(
            f"The results file {path} is damaged ({fault}): remove it and run the command that "
            f"made it again."
        ) from fault
    return record


def write(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record to `path`, whole or not at all."""
    write_whole(path, layout(record).encode())


def layout(record: Mapping[str, Any]) -> str:
    """JSON with a line for each entry, and for each item of a list of objects, to read and diff."""
    lines = [f"{json.dumps(name)}: {_value(value)}" for name, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(json.dumps(item, allow_nan=False) for item in value) + "\n]"
    return json.dumps(value, allow_nan=False)
