"""The paper's settings: copied right, complete, and buildable."""

import json

import pytest

from conftr.experiments import settings
from conftr.experiments.settings import Row, Wish
from conftr.machine.plain_data import build, part

DATASETS = ["digits", *settings.PAPER]


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("method", settings.METHODS)
def test_every_method_has_settings_everywhere(dataset, method):
    training = settings.training(dataset, method)
    assert callable(build(training.objective))
    assert build(training.plan).epochs >= 1


def test_fashion_mnist_as_printed():
    plain = settings.training("fashion-mnist", "conftr")
    with_class = settings.training("fashion-mnist", "conftr-class")
    assert plain.model == part("MLP", hidden=(64, 64))
    objective = build(plain.objective)
    assert (objective.alpha, objective.temperature, objective.size_weight) == (0.01, 0.1, 0.01)
    assert (objective.target_size, objective.loss_matrix) == (0, None)
    objective = build(with_class.objective)
    assert (objective.size_weight, objective.target_size) == (0.5, 1)
    plan = build(with_class.plan)
    assert (plan.epochs, plan.batch_size, plan.optimiser.learning_rate) == (150, 100, 0.01)
    assert (plan.optimiser.momentum, plan.optimiser.weight_decay) == (0.9, 0.0005)


def test_camelyon_is_trained_at_its_own_alpha():
    assert build(settings.training("camelyon", "conftr").objective).alpha == 0.05


def test_wishes_come_first():
    wish = Wish(
        model=part("MLP", hidden=(8,)),
        epochs=3,
        alpha=0.2,
        quantile=part("OrderStatistic"),
        seed=5,
        resampled=False,
    )
    training = settings.training("mnist", "conftr", wish)
    assert training.model == part("MLP", hidden=(8,))
    assert training.plan["epochs"] == 3
    assert training.objective["alpha"] == 0.2
    assert training.objective["quantile"] == part("OrderStatistic")
    assert (training.seed, training.resampled) == (5, False)


def test_where_settings_come_from(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "CHOSEN", tmp_path / "chosen.json")
    settings.CHOSEN.write_text("{}")
    assert settings.choose("mnist", "conftr").origin == "paper"
    assert settings.choose("mnist", "bel").origin == "stand-in, not searched"
    settings.adopt("mnist", "bel", {"batch_size": 500, "learning_rate": 0.005, "temperature": 0.1})
    assert settings.choose("mnist", "bel") == (Row(500, 0.005, 0.1), "search")
    assert list(json.loads(settings.CHOSEN.read_text())) == ["mnist"]


@pytest.mark.parametrize(
    ("dataset", "method", "message"),
    [
        ("minst", "bel", r"dataset must be one of digits, mnist, .*; got 'minst'"),
        ("mnist", "bell", r"methods must be among baseline, .*; got 'bell'"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(dataset, method, message):
    with pytest.raises(ValueError, match=message):
        settings.training(dataset, method)
