"""The paper's settings and grid: copied right, buildable, and files like any other."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from conftr.experiments import Store
from conftr.experiments.comparison import Comparison
from conftr.experiments.sweeping import path_of
from conftr.machine.plain_data import build, part
from conftr.paper import runs
from conftr.paper.cifar import LINES
from conftr.paper.grid import thinned_grid, whole_grid
from conftr.paper.settings import FOLDER, settings_of
from conftr.paper.settings import path_of as file_of
from conftr.search.methods import METHODS, USUAL
from conftr.search.settings import read, toml, write
from conftr.search.space import configured
from conftr.search.sweeps import sweeps

RESULTS = Path(__file__).parents[2] / "results"
DATASETS = sorted(path.stem for path in FOLDER.glob("*.toml"))


def trained(dataset, method):
    file = settings_of(dataset)
    return configured(METHODS[method], file.only(method), file.alphas[0])


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_setting_can_be_built(dataset):
    for method in settings_of(dataset).by_method:
        _, objective, plan = trained(dataset, method)
        assert callable(build(objective))
        assert build(plan).epochs >= 1


def test_fashion_mnist_as_printed():
    model, objective, _ = trained("fashion-mnist", "conftr")
    assert model == part("MLP", hidden=(64, 64))
    plain = build(objective)
    assert (plain.alpha, plain.temperature, plain.size_weight) == (0.01, 0.1, 0.01)
    assert (plain.target_size, plain.loss_matrix) == (0, None)
    _, objective, plan = trained("fashion-mnist", "conftr-class")
    assert (objective["size_weight"], objective["target_size"]) == (0.5, 1)
    steps = build(plan)
    assert (steps.epochs, steps.batch_size, steps.optimiser.learning_rate) == (150, 100, 0.01)
    assert (steps.optimiser.momentum, steps.optimiser.weight_decay) == (0.9, 0.0005)


def test_camelyon_is_trained_at_its_own_alpha():
    assert trained("camelyon", "conftr").objective["alpha"] == 0.05


def test_a_comparison_with_the_papers_settings_has_the_papers_results():
    file = settings_of("mnist")
    store = Store(RESULTS)
    comparison = Comparison("mnist", file.names, settings=file)
    assert all(
        store.path(specification).exists() for specification in comparison.specifications(None)
    )


@pytest.mark.parametrize("dataset", ["mnist", "winequality", "camelyon"])
def test_the_thinned_grid_is_what_was_searched(dataset, tmp_path):
    write(tmp_path / "grid.toml", thinned_grid(dataset, ["bel"]), "")
    (sweep,) = sweeps(read(tmp_path / "grid.toml"), dataset, {}, alpha=0.5)
    assert path_of(sweep, Store(RESULTS)).exists()


@pytest.mark.parametrize("method", ["cross-entropy", "conftr"])
def test_heads_on_members_were_searched_on_training_sets_drawn_as_their_trials_are(method):
    (sweep,) = sweeps(thinned_grid("cifar10-members", [method]), "cifar10-members", {}, alpha=0.5)
    record = json.loads(path_of(sweep, Store(RESULTS)).read_text())
    assert sweep.resampled
    settings = settings_of("cifar10-members").only(method)
    assert record["chosen"].items() <= settings.items()


@pytest.mark.parametrize("method", ["cross-entropy", "conftr"])
@pytest.mark.parametrize("head", ["ensemble, MLP from the average", "ensemble, linear"])
def test_other_heads_on_members_train_with_what_was_chosen_for_them(head, method):
    (line,) = (
        line for line in LINES["cifar"] if line.labels[1:4] == (head, runs.METHODS[method], "THR")
    )
    model = {"ensemble, linear": "views:linear"}.get(head, "members:mlp:128x128")
    grid = thinned_grid("cifar10-members", [method])
    grid = replace(grid, shared={**grid.shared, "model": (model,)})
    (sweep,) = sweeps(grid, "cifar10-members", {}, alpha=0.5)
    chosen = json.loads(path_of(sweep, Store(RESULTS)).read_text())["chosen"]
    training = line.run.training
    expected = configured(METHODS[method], chosen, 0.01)
    assert training.model == expected.model
    assert training.plan == expected.plan
    different = {"size_weight"}  # which the log cancels
    for name, value in expected.objective.fields:
        assert name in different or training.objective[name] == value


def count(grid):
    return math.prod(len(values) for values in grid.values())


def test_the_papers_grid_is_its_cross_product(tmp_path):
    grid = whole_grid("mnist", USUAL)
    batches, rates, temperatures, weights, targets, taus = 3, 3, 4, 11, 2, 2
    assert {name: count(grid.of(name)) for name in grid.names} == {
        "cross-entropy": batches * rates,
        "bel": batches * rates * temperatures * weights,
        "covertr": batches * rates * temperatures * weights * targets * taus,
        "conftr": batches * rates * temperatures * targets,
        "conftr-class": batches * rates * temperatures * weights * targets,
    }
    batches = whole_grid("camelyon", ["conftr"]).of("conftr")["batch_size"]
    assert set(batches) == {80, 40, 20, 10}
    (tmp_path / "grid.toml").write_text(toml(grid, "All of it."))
    assert read(tmp_path / "grid.toml") == grid


def test_an_unknown_dataset_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"dataset must be one of camelyon, .*; got 'minst'"):
        file_of("minst")
