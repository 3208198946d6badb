"""What a page's script works on, as JSON: places among calibration scores, packed, and words."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np

from conftr.classifier.evidence import Evidence, Integers
from conftr.report import numbers
from conftr.report.sampling import clipped
from conftr.report.shown_examples import examples
from conftr.report.slider import fraction, stops

WIDEST_MATRIX = 30


def contents(evidence: Evidence) -> str:
    """JSON that cannot end the script element it stands in, whatever a class is called."""
    text = json.dumps(_data(evidence), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _data(evidence: Evidence) -> dict[str, Any]:
    """Places, labels and groups of the test examples, and what they are shown with."""
    alphas = stops(evidence.alpha)
    ratios = [fraction(alpha) for alpha in alphas]
    return {
        "classes": evidence.classes,
        "labels": _packed(evidence.labels),
        "groups": None if evidence.groups is None else _packed(evidence.groups),
        "groupNames": evidence.group_names,
        "calibrationSizes": evidence.calibration_sizes,
        "candidates": [
            {"name": candidate.name, "places": _packed(places), **_curve(evidence, c)}
            for c, (candidate, places) in enumerate(
                zip(evidence.candidates, clipped(evidence), strict=True)
            )
        ],
        "stops": [
            {"ratio": [str(ratio.numerator), str(ratio.denominator)], **numbers.at_stop(alpha)}
            for alpha, ratio in zip(alphas, ratios, strict=True)
        ],
        "start": alphas.index(evidence.alpha),
        "right": numbers.count_right(evidence, 0),
        "unseen": evidence.unseen,
        "tail": numbers.TAIL,
        "band": numbers.band(evidence) if len(evidence.group_names) == 1 else None,
        "bins": numbers.bins(len(evidence.classes)),
        "matrix": len(evidence.classes) <= WIDEST_MATRIX,
        "examples": examples(evidence),
        "unwanted": _unwanted(evidence),
        "shrink": [] if evidence.shrink is None else np.flatnonzero(evidence.shrink > 1).tolist(),
    }


def _unwanted(evidence: Evidence) -> list[list[int]] | None:
    """Of each true class, the classes its sets should not hold."""
    if evidence.unwanted is None or not evidence.unwanted.any():
        return None
    return [np.flatnonzero(row).tolist() for row in evidence.unwanted]


def _curve(evidence: Evidence, candidate: int) -> dict[str, list[float]]:
    curve = numbers.curve(evidence, candidate)
    return {"sizes": curve.size.round(4).tolist(), "coverages": curve.coverage.round(5).tolist()}


def _packed(values: Integers) -> dict[str, str]:
    """Whole numbers in the narrowest type, compressed, as text."""
    narrow = np.ascontiguousarray(values, np.min_scalar_type(int(np.max(values, initial=0))))
    little = narrow.astype(narrow.dtype.newbyteorder("<"))
    squeezed = gzip.compress(little.tobytes(), mtime=0)
    return {"bits": str(8 * narrow.itemsize), "data": base64.b64encode(squeezed).decode()}
