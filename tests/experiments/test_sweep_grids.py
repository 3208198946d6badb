"""Grids: the paper's cross product, the thinned one, and files that say what they want."""

import math

import pytest

from conftr.experiments import comparison, settings
from conftr.experiments.gridfile import read, wanted
from conftr.experiments.grids import GridError, Stage, coarse, halved, paper, settings_of
from conftr.experiments.sweep import asked

FILE = """
methods = ["baseline", "conftr-class"]
alpha = 0.05
score = "APS"

[grid]
model = "linear"
batch_size = [200, 100]
learning_rate = [0.05, 0.01]
temperature = [0.1, 1]

[grid.conftr-class]
learning_rate = 0.02
size_weight = [0.5, 1]
quantile = ["nearest:0.05", "order-statistic"]

[[stages]]
share = 0.5
keep = 2

[[stages]]
repeats = 3
"""


@pytest.fixture
def described(tmp_path):
    def write(text):
        path = tmp_path / "grid.toml"
        path.write_text(text)
        return path

    return write


def count(grid):
    return math.prod(len(values) for values in grid.values())


def test_the_papers_grid_is_its_cross_product():
    grids = paper("mnist", comparison.METHODS, 50_000).grids
    batches, rates, temperatures, weights, targets, taus = 3, 3, 4, 11, 2, 2
    assert {name: count(grid) for name, grid in grids.items()} == {
        "baseline": batches * rates,
        "bel": batches * rates * temperatures * weights,
        "covertr": batches * rates * temperatures * weights * targets * taus,
        "conftr": batches * rates * temperatures * targets,
        "conftr-class": batches * rates * temperatures * weights * targets,
    }
    assert set(paper("camelyon", ["conftr"], 190).grids["conftr"]["batch_size"]) == {80, 40, 20, 10}
    assert paper("mnist", ["conftr"], 300).grids["conftr"]["batch_size"] == (100,)


def test_what_is_built_in_can_be_asked_of_every_dataset():
    for dataset in ("digits", *settings.PAPER):
        setup = settings.setup(dataset)
        for grid in (paper(dataset, ["bel"], 1000), coarse(dataset, settings.METHODS, 1000, 50)):
            for one in asked(grid, dataset, setup):
                (first, *_) = one.entrants(one.configurations()[0], one.stages[0])
                assert first.training.pool.kind == "held_out"
                assert not first.training.resampled


def test_a_file_says_methods_values_and_stages(described):
    found = read(described(FILE))
    assert found.alpha == 0.05
    assert found.score == "APS"
    assert found.stages == (Stage(0.5, 1, 2), Stage(1.0, 3, 1))
    baseline, conformal = found.grids["baseline"], found.grids["conftr-class"]
    assert "temperature" not in baseline
    assert count(baseline) == 4
    assert conformal["learning_rate"] == (0.02,)
    assert count(conformal) == 2 * 1 * 2 * 2 * 2
    _, one = asked(found, "digits", settings.setup("digits"))
    (entrant,) = one.entrants(one.configurations()[0], one.stages[0])
    assert entrant.training.model == settings.LINEAR
    assert entrant.training.objective["quantile"].kind == "Nearest"
    assert entrant.evaluation.alphas == (0.05,)
    assert entrant.training.objective["alpha"] == 0.05
    assert entrant.epochs == settings.setup("digits").epochs // 2


def test_methods_of_a_file_can_be_chosen(described):
    path = str(described(FILE))
    assert list(wanted(path, "digits", ["baseline"], rows=100, epochs=1).grids) == ["baseline"]
    with pytest.raises(GridError, match="has values for baseline, conftr-class; got 'bel'"):
        wanted(path, "digits", ["bel"], rows=100, epochs=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("methods =", "methodes ="), "a grid may have methods, alpha, .* got 'methodes'"),
        (('"baseline"', '"base"'), "methods must be among baseline, .* got 'base'"),
        (("temperature =", "temprature ="), r"\[grid\] may have .* got 'temprature'"),
        (("size_weight =", "tau ="), r"\[grid.conftr-class\] may have .* got 'tau'"),
        (("[grid.conftr-class]", "[grid.bel]"), r"\[grid\] may have .* got 'bel'"),
        (("[0.1, 1]", "[]"), r"temperature must be one or more numbers; got \[\]"),
        (("[0.1, 1]", '["warm"]'), "temperature must be one or more numbers"),
        (('"linear"', "3"), "model must be one or more texts"),
        (("batch_size = [200, 100]", ""), "batch_size must be in the grid of baseline"),
        (("alpha = 0.05", "alpha = 5"), "alpha must lie strictly between 0 and 1; got 5"),
        (('"APS"', '"aps"'), "score must be one of THR, .* got 'aps'"),
        (("share = 0.5", "share = 2"), "a stage must have a share of the epochs"),
        (("keep = 2", "kept = 2"), "a stage may have share, repeats, keep; got 'kept'"),
        (("[[stages]]", "[[stages]"), "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_in_words(described, change, message):
    with pytest.raises(GridError, match=message):
        read(described(FILE.replace(*change, 1)))


def test_what_cannot_be_trained_is_refused_before_anything_is():
    wrong = coarse("digits", ["conftr"], 1000, 50)
    wrong.grids["conftr"]["temperature"] = (0.0,)
    with pytest.raises(ValueError, match="temperature must be"):
        asked(wrong, "digits", settings.setup("digits"))


def test_a_grid_that_is_no_file_is_refused():
    with pytest.raises(GridError, match="--grid must be paper, coarse or a file"):
        wanted("pepper", "digits", None, rows=100, epochs=1)


def test_successive_halving_keeps_a_third_for_three_times_as_long():
    grid = halved(paper("mnist", ["conftr"], 50_000), 2)
    assert [stage.keep for stage in grid.stages] == [24, 8, 1]
    assert [stage.share for stage in grid.stages] == pytest.approx([1 / 9, 1 / 3, 1])


def test_a_method_has_the_settings_that_matter_to_it():
    assert "tau" in settings_of("covertr")
    assert "quantile" in settings_of("conftr")
    assert "temperature" not in settings_of("baseline")
    assert "tau" not in settings_of("conftr")
