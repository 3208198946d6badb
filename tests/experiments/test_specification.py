"""Specifications: data there and back, and names that follow from the content."""

import dataclasses
import json
from functools import partial

import conftr
from conftr.experiments import Evaluation, Specification, Store, Training, digest, part
from conftr.machine.plain_data import build, describe
from conftr.search.text import schedule
from conftr.training import SGD, Plan, StepDecay
from conftr.training.models import MLP

SMOOTH_SORT = part("SmoothSort", dispersion=0.1, position=part("paper_position"))
STEPS = part(
    "SGD",
    learning_rate=0.01,
    momentum=0.9,
    nesterov=True,
    weight_decay=0.0005,
    schedule=schedule("steps"),
)
TRAINING = Training(
    "mnist",
    part("MLP", hidden=(64, 64)),
    part("ConfTr", alpha=0.01, quantile=SMOOTH_SORT, loss_matrix=part("identity")),
    part("Plan", epochs=50, batch_size=100, optimiser=STEPS),
)
SPECIFICATION = Specification("conftr-class", TRAINING, Evaluation((0.01, 0.05)), trials=3)


def test_the_digest_of_a_specification_does_not_change_between_versions_and_machines():
    assert SPECIFICATION.name == "261351c77fde2f43"


def changed(value):
    """The same value with one field changed, for each field."""
    others = {str: "other", int: 7, float: 0.3, bool: False, tuple: (0.2,)}
    for field in dataclasses.fields(value):
        old = getattr(value, field.name)
        if dataclasses.is_dataclass(old) and not isinstance(old, type(part("thr"))):
            for new in changed(old):
                yield dataclasses.replace(value, **{field.name: new})
        else:
            new = part("thr") if isinstance(old, type(part("thr"))) else others[type(old)]
            yield dataclasses.replace(value, **{field.name: new})


def test_every_field_changes_the_digest():
    others = list(changed(SPECIFICATION))
    assert len(others) == 2 + 8 + 5
    assert (
        len({digest(specification) for specification in [SPECIFICATION, *others]})
        == len(others) + 1
    )


def test_there_and_back_through_json():
    text = json.dumps(SPECIFICATION.to_json())
    assert Specification.from_json(json.loads(text)) == SPECIFICATION


def test_parts_become_the_values_they_name():
    model = build(TRAINING.model, inputs=(28, 28, 1), classes=10)
    assert model == MLP((28, 28, 1), 10, (64, 64))
    expected = SGD(0.01, 0.9, 0.0005, StepDecay(0.1, (2 / 5, 3 / 5, 4 / 5)))
    assert build(TRAINING.plan) == Plan(50, 100, expected)
    objective = build(TRAINING.objective)
    assert isinstance(objective, conftr.ConfTr)
    assert objective.loss_matrix is conftr.identity


def test_values_may_be_given_and_are_kept_as_data():
    quantile = conftr.SmoothSort(0.1, conftr.paper_position)
    objective = conftr.ConfTr(0.01, quantile=quantile, loss_matrix=conftr.identity)
    plan = Plan(50, 100, SGD(0.01))
    given = Training("mnist", partial(MLP, hidden=(64, 64)), objective, plan)
    assert given.model == TRAINING.model
    assert given.plan == TRAINING.plan
    assert given.objective == describe(objective)
    scores = Evaluation(scores=(("RAPS", partial(conftr.raps, penalty=0.01, free_rank=1)),)).scores
    assert scores == Evaluation().scores[3:]


def test_results_of_cross_entropy_keep_the_names_of_version_0_1(tmp_path):
    specification = dataclasses.replace(SPECIFICATION, method="cross-entropy")
    assert specification.to_json()["method"] == "baseline"
    assert Specification.from_json(specification.to_json()) == specification
    assert Store(tmp_path).path(specification).name.startswith("baseline-")
