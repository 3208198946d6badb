"""Settings as values: equal where they hold the same."""

import dataclasses

import jax
import numpy as np
import pytest

import conftr
from conftr.conformal.values import by_content

WEIGHTS = [1.0, 2.0, 3.0]


def conftr_with(**changes):
    settings = {"loss_matrix": np.eye(3), "class_weights": WEIGHTS, "quantile": conftr.Nearest(0.2)}
    return conftr.ConfTr(0.1, **(settings | changes))


def test_objectives_made_of_the_same_are_equal():
    assert conftr_with() == conftr_with()
    assert hash(conftr_with()) == hash(conftr_with())
    first, other = (conftr.CoverTr(-1.0, class_weights=WEIGHTS) for _ in range(2))
    assert first == other
    assert len({conftr_with(), conftr_with(), conftr_with(temperature=2.0)}) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"temperature": 0.5},
        {"loss_matrix": np.diag([1.0, 1.0, 2.0])},
        {"loss_matrix": np.eye(3, dtype=np.float32)},
        {"loss_matrix": conftr.identity},
        {"loss_matrix": None},
        {"class_weights": np.ones((3, 1))},
        {"quantile": conftr.Nearest(0.3)},
        {"score": conftr.aps},
    ],
)
def test_objectives_that_differ_in_one_field_do_not(changes):
    assert conftr_with() != conftr_with(**changes)


def test_an_objective_equals_nothing_of_another_class():
    assert conftr.ConfTr(0.1) != 0.1
    assert conftr.CoverTr(-1.0) != conftr.ConfTr(0.1)


def test_a_field_that_was_changed_in_place_counts_as_it_is_now():
    matrix = np.eye(3)
    before = conftr_with(loss_matrix=matrix)
    matrix[0, 1] = 5
    assert before != conftr_with()
    assert before == conftr_with(loss_matrix=matrix.copy())


def test_traced_fields_are_equal_only_to_themselves():
    def equal(temperature):
        item = conftr_with(temperature=temperature)
        other = conftr_with(temperature=temperature * 1)
        return np.array([item == dataclasses.replace(item), item == other])

    assert jax.jit(equal)(1.0).tolist() == [True, False]


def test_a_dataclass_of_the_users_can_be_a_value_too():
    @by_content
    @dataclasses.dataclass(frozen=True, eq=False)
    class Own:
        table: np.ndarray

    assert Own(np.arange(3)) == Own(np.arange(3)) != Own(np.arange(4))
