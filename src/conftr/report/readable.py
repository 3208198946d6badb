"""Evidence with its names as they can be shown: escaped, cut, and still apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conftr.classifier.evidence import Evidence
from conftr.conformal.shown_names import apart, shown

_NAME = 200  # letters; tables of the page cut more by their width and show the rest on pointing
_SENTENCE = 1000


def readable(evidence: Evidence, most: int = _NAME) -> Evidence:
    """The same evidence, in names that neither a browser nor a drawing stumbles over.

    Cells are left to those who show them: they are many, and few of them are shown.

    Args:
        evidence: with names of classes, groups and all else as the user has them.
        most: letters of a name.

    Returns:
        Evidence to be shown. Classes that differ have names that differ.
    """
    return replace(
        evidence,
        classes=apart(evidence.classes, most),
        group_names=apart(evidence.group_names, most),
        group_by=None if evidence.group_by is None else shown(evidence.group_by, most),
        wishes=tuple(shown(wish, _SENTENCE) for wish in evidence.wishes),
        candidates=tuple(
            replace(
                candidate, name=shown(candidate.name, most), words=shown(candidate.words, _SENTENCE)
            )
            for candidate in evidence.candidates
        ),
        provenance=_readable(evidence.provenance),
    )


def _readable(value: Any) -> Any:
    """Plain data with every text in it fit to be shown."""
    if isinstance(value, Mapping):
        return {shown(name, _NAME): _readable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(entry) for entry in value]
    return shown(value, _SENTENCE) if isinstance(value, str) else value
