"""What may vary, read off the values themselves."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest

import conftr
from conftr.machine.plain_data import build, describe
from conftr.search import space
from conftr.search.attempts import Attempt, Evaluation, Training, bundled, vary
from conftr.search.methods import METHODS, objective_of
from conftr.training import SGD, Plan, optimisers

RUN = {"model": "linear", "epochs": 2, "batch_size": 50}


@dataclass(frozen=True)
class Focal:
    """An objective of which conftr knows nothing."""

    gamma: Any = 2.0
    floor: float = 0.1
    alpha: float = 0.5

    def __call__(self, logits, labels):
        return self.gamma * logits.mean()


def test_a_method_has_the_settings_that_matter_to_it():
    assert "tau" in space.names(METHODS["covertr"])
    assert {"quantile", "score", "cross_entropy_weight"} < set(space.names(METHODS["conftr"]))
    assert "temperature" not in space.names(METHODS["cross-entropy"])
    assert "tau" not in space.names(METHODS["conftr"])
    assert set(space.names(Focal())) == {
        *RUN,
        "augmentation",
        *space.SGD,
        "gamma",
        "floor",
        "alpha",
    }


def test_the_settings_of_sgd_are_its_fields():
    assert set(space.SGD) == {field.name for field in dataclasses.fields(SGD)}
    default = build(space.configured(Focal(), RUN, 0.1).plan)
    assert default == Plan(2, 50, SGD(schedule=optimisers.cosine))


def test_settings_become_fields():
    settings = {"temperature": 0.5, "quantile": "nearest:0.1", "score": "thr_probs"}
    rates = {"learning_rate": 0.1, "momentum": 0.5, "schedule": "constant"}
    _, objective, plan = space.configured(METHODS["conftr"], RUN | settings | rates, 0.2)
    made = build(objective)
    assert (made.alpha, made.temperature, made.quantile) == (0.2, 0.5, conftr.Nearest(0.1))
    assert made.score is conftr.thr_probs
    assert build(plan).optimiser == SGD(0.1, 0.5, schedule=optimisers.constant)
    assert build(space.configured(Focal(), RUN | {"gamma": 1}, 0.2).objective) == Focal(1, 0.1, 0.2)


def test_an_objective_may_be_trained_for_another_alpha_than_it_is_measured_at():
    _, objective, _ = space.configured(METHODS["conftr"], RUN | {"alpha": 0.05}, 0.01)
    assert build(objective).alpha == 0.05


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("temperature", "warm", "temperature must be a number; got 'warm'"),
        ("score", 3, "score must be a text; got 3"),
        ("score", "no_score", "no class or function 'no_score' in conftr"),
        ("model", 3, "model must be a text; got 3"),
        ("learning_rate", "fast", "learning_rate must be a number; got 'fast'"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused(setting, value, message):
    with pytest.raises(ValueError, match=message):
        space.check(METHODS["conftr"], setting, value)


def attempt(method, **settings):
    parts = space.configured(objective_of(method), RUN | settings, 0.1)
    return Attempt(Training("digits", *parts), Evaluation((0.1,), scores=(("THR", conftr.thr),)))


def test_numbers_that_may_be_traced_share_a_program():
    same = [
        attempt("conftr", temperature=0.5),
        attempt("conftr", temperature=1.0, size_weight=3.0, target_size=0),
        attempt("conftr", learning_rate=0.1, momentum=0.5, weight_decay=0.0),
    ]
    assert len({tried_attempt.program for tried_attempt in same}) == 1
    assert vary(same)["temperature"] == [0.5, 1.0, 1.0]
    others = [
        attempt("conftr", fraction=0.3),
        attempt("conftr", cross_entropy_weight=0.1),
        attempt("conftr", quantile="nearest:0.1"),
        attempt("conftr", batch_size=10),
    ]
    assert len({tried_attempt.program for tried_attempt in [*same, *others]}) == 5
    assert len(bundled([*same, *others], 2)) == 6


def test_weights_of_cross_entropy_share_a_program_but_for_none():
    weights = [attempt("conftr", cross_entropy_weight=weight) for weight in (0, 0.1, 1)]
    none, some, more = (tried_attempt.program for tried_attempt in weights)
    assert none != some == more
    assert "cross_entropy_weight" not in weights[0].numbers


def test_a_number_of_an_unknown_objective_is_traced_where_it_may_be():
    first, second, third = (
        attempt(Focal, **settings) for settings in ({}, {"gamma": 3}, {"floor": 0.2})
    )
    assert first.program == second.program != third.program
    assert first.numbers["gamma"] == 2.0
    assert "floor" not in first.numbers


@dataclass(frozen=True)
class Powered:
    """A loss on sets of which conftr knows nothing."""

    power: Any = 1.0
    temperature: float = 7.0  # that of conformal training goes before

    def __call__(self, sets, labels):
        return (sets.sum(axis=1) ** self.power).mean()


def test_a_loss_on_sets_has_its_fields_as_settings():
    objective = objective_of(Powered)
    assert space.names(objective)[-1] == "power"
    assert "dispersion" not in space.names(objective)  # a quantile is a text
    space.check(objective, "power", 2)
    with pytest.raises(ValueError, match="power must be a number; got 'two'"):
        space.check(objective, "power", "two")
    described = attempt(Powered, power=2, temperature=0.5).training.objective
    assert build(described) == dataclasses.replace(
        objective, alpha=build(described).alpha, set_loss=Powered(2), temperature=0.5
    )


def test_fields_of_what_another_takes_the_place_of_are_left_out():
    objective = objective_of(Powered)
    settings = {**RUN, "set_loss": "size_loss", "power": 2}
    described = space.configured(objective, settings, 0.1).objective
    assert build(described).set_loss is conftr.size_loss


def test_around_an_unknown_objective():
    given, other = space.around(Focal(), SGD(0.1), 2, 0)
    assert given == {"learning_rate": 0.1, "weight_decay": 0.0005, "gamma": 2.0}
    assert 0.2 <= other["gamma"] <= 20
    assert describe(Focal(other["gamma"]))["gamma"] == other["gamma"]
