"""Values as plain data and back, and names that follow from the content."""

import dataclasses
from functools import partial

import numpy as np
import pytest

import conftr
from conftr.machine.plain_data import build, decode, describe, digest, encode, part

QUANTILE = conftr.SmoothSort(0.1, conftr.paper_position)
VALUES = [
    conftr.CrossEntropy(),
    conftr.ConfTr(0.05, quantile=QUANTILE, fraction=None, cross_entropy_weight=0.5),
    conftr.CoverTr(-0.1, score=partial(conftr.smooth_aps, dispersion=0.1)),
    conftr.Bel(0.01, size_weight=0.0),
    conftr.Nearest(0.02),
    conftr.thr,
    (1, 2.5, "text", None, True),
]


@dataclasses.dataclass(frozen=True)
class Weighed:
    """A value that is not conftr's."""

    weight: float = 1.0
    bias: float = 0.0
    limit: float | None = None


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_there_and_back_through_json(value):
    described = decode(encode(describe(value)))
    assert described == describe(value)
    assert describe(build(described)) == described


def test_a_part_has_the_fields_that_are_on():
    assert describe(Weighed()).fields == (("weight", 1.0),)
    assert dict(describe(Weighed(0, 2, 0)).fields) == {"weight": 0, "bias": 2, "limit": 0}
    # As version 0.1 wrote it, whose results keep their names.
    named = {name for name, _ in describe(conftr.ConfTr()).fields}
    unwritten = {"class_weights", "cross_entropy_weight", "set_loss"}
    assert named == {field.name for field in dataclasses.fields(conftr.ConfTr)} - unwritten


def test_arrays_are_plain_numbers():
    objective = conftr.ConfTr(loss_matrix=np.eye(2), class_weights=[1, 10])
    assert describe(objective)["loss_matrix"] == ((1, 0), (0, 1))
    assert np.array_equal(build(describe(objective)).class_weights, [1, 10])


def test_parts_become_the_values_they_name():
    assert build(part("thr")) is conftr.thr
    assert build(describe(QUANTILE)) == QUANTILE
    assert build(part("raps", penalty=0.5)).keywords == {"penalty": 0.5}
    assert build(describe(Weighed(2))) == Weighed(2)


def test_every_field_changes_the_digest():
    item = describe(conftr.ConfTr(0.01, quantile=QUANTILE))
    others = [
        item.replace(alpha=0.02),
        item.replace(fraction=None),
        item.replace(quantile=describe(conftr.Nearest(0.1))),
        part("CoverTr", alpha=0.01, quantile=item["quantile"]),
    ]
    assert len({digest(other) for other in [item, *others]}) == 5


def test_equal_settings_are_equal_however_they_were_typed():
    assert part("A", x=1, y=2) == part("A", y=2, x=1)
    assert digest(part("A", x=1.0)) == digest(part("A", x=1))
    assert digest(part("A", x=True)) != digest(part("A", x=1))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda logits: logits, "define it at the top of a file"),
        (object(), "cannot be found by a name"),
        (partial(conftr.raps, 0.1), "give the arguments of .* by their names"),
    ],
)
def test_what_has_no_name_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        describe(value)
