"""Settings in files: what a sweep tries, what it found, and what is refused."""

import math
from dataclasses import replace

import pytest

import conftr
from conftr.machine.plain_data import build
from conftr.search.grids import coarse, equal_budget
from conftr.search.methods import LATER, METHODS, USUAL
from conftr.search.settings import SettingsError, SettingsFile, Stage, halved, read, toml
from conftr.search.sweeps import sweeps

FILE = """
methods = ["cross-entropy", "conftr-class"]
alpha = 0.05
score = "aps"

[settings]
model = "linear"
batch_size = [200, 100]
learning_rate = [0.05, 0.01]
temperature = [0.1, 1]

[settings.conftr-class]
learning_rate = 0.02
size_weight = [0.5, 1]
cross_entropy_weight = [0, 0.1]
quantile = ["nearest:0.05", "order-statistic"]

[[stages]]
share = 0.5
keep = 2

[[stages]]
repeats = 3
"""
BASE = {"model": "mlp:32", "epochs": 50, "batch_size": 64}
OWN = """
from dataclasses import dataclass
from typing import Any

@dataclass(frozen=True)
class Focal:
    gamma: Any = 2.0

    def __call__(self, logits, labels):
        return self.gamma * logits.mean()
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


def test_a_file_says_methods_values_and_stages(described):
    file = read(described(FILE))
    assert file.alphas == (0.05,)
    assert file.score == "aps"
    assert file.stages == (Stage(0.5, 1, 2), Stage(1.0, 3, 1))
    plain, conformal = file.of("cross-entropy"), file.of("conftr-class")
    assert "temperature" not in plain
    assert count(plain) == 4
    assert conformal["learning_rate"] == (0.02,)
    assert count(conformal) == 2 * 1 * 2 * 2 * 2 * 2
    _, sweep = sweeps(file, "digits", BASE, alpha=0.3)
    (attempt,) = sweep.attempts(sweep.configurations()[0], sweep.stages[0])
    assert attempt.training.model["hidden"] == ()
    assert attempt.training.objective["quantile"].kind == "Nearest"
    assert attempt.evaluation.alphas == (0.05,)
    assert attempt.evaluation.scores[0][0] == "APS"
    assert attempt.training.objective["alpha"] == 0.05
    assert attempt.epochs == BASE["epochs"] // 2


def test_what_a_file_does_not_say_has_defaults(described):
    file = read(described("[settings]\nlearning_rate = [0.1, 0.01]\n"))
    assert file.names == USUAL
    first, *_ = sweeps(file, "digits", BASE, alpha=0.3)
    (attempt,) = first.attempts(first.configurations()[0], Stage())
    assert attempt.training.plan["batch_size"] == 64
    assert attempt.evaluation.alphas == (0.3,)


def test_methods_of_a_file_can_be_chosen(described):
    file = read(described(FILE))
    assert file.with_methods(["conftr-class"]).names == ("conftr-class",)
    with pytest.raises(SettingsError, match="there are values for conftr-class; got 'bel'"):
        file.with_methods(["bel"])


def test_a_file_there_and_back(described):
    file = read(described(FILE))
    assert read(described(toml(file, "A comment\nof two lines."))) == file
    result = SettingsFile(
        by_method={"my_method.py:Focal": {"gamma": (1.5,)}},
        methods=("my_method.py:Focal",),
        searched={"data": "wine-12", "seed": 0},
    )
    assert '[settings."my_method.py:Focal"]\ngamma = 1.5\n' in toml(result, "")


def test_a_method_that_is_a_value_is_not_written():
    with pytest.raises(SettingsError, match=r"must be a name or FILE.py:NAME.*; got Bel\("):
        toml(SettingsFile(methods=(conftr.Bel(0.1),)), "")


def test_an_objective_of_ones_own_has_its_fields_in_a_file(tmp_path, monkeypatch, described):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    text = '[settings."mine.py:Focal"]\ngamma = [1, 2]\nlearning_rate = 0.1\n'
    file = read(described(text))
    (sweep,) = sweeps(file, "digits", BASE, alpha=0.3)
    assert [settings["gamma"] for settings in sweep.configurations()] == [1, 2]
    assert sweep.title == "Focal"
    with pytest.raises(SettingsError, match=r"may have model, .*, gamma; got 'temperature'"):
        read(described(text.replace("gamma", "temperature")))
    grid = coarse(["mine.py:Focal"], rows=1000, epochs=50).of("mine.py:Focal")
    assert grid["gamma"] == (0.2, 2.0, 20.0)


def test_one_value_of_each_is_what_trains(described):
    file = read(described(FILE))
    with pytest.raises(SettingsError, match="batch_size of conftr-class has several values"):
        file.only("conftr-class")
    changed = file.changed(batch_size=10, learning_rate=0.3, temperature=1, epochs=None)
    assert changed.only("cross-entropy") == {
        "model": "linear",
        "batch_size": 10,
        "learning_rate": 0.3,
    }
    assert changed.of("conftr-class")["learning_rate"] == (0.3,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("methods =", "methodes ="), "settings may have methods, alpha, .* got 'methodes'"),
        (('"cross-entropy"', '"base"'), "methods must be among cross-entropy, .* got 'base'"),
        (("temperature =", "temprature ="), r"\[settings\] may have .* got 'temprature'"),
        (("size_weight =", "tau ="), r"\[settings.conftr-class\] may have .* got 'tau'"),
        (("[settings.conftr-class]", "[settings.conf]"), "methods must be among .* got 'conf'"),
        (("[0.1, 1]", "[]"), r"a setting must have one or more values; got \[\]"),
        (("[0.1, 1]", '["warm"]'), "temperature must be a number; got 'warm'"),
        (('"linear"', "3"), "model must be a text; got 3"),
        (("alpha = 0.05", "alpha = 5"), "alpha must lie strictly between 0 and 1; got 5"),
        (('"aps"', '"aps"\nresampled = 1'), "resampled must be true or false; got 1"),
        (('"aps"', '"APS"'), "score must be one of thr, .* got 'APS'"),
        (("share = 0.5", "share = 2"), "a stage must have a share of the epochs"),
        (("keep = 2", "kept = 2"), "a stage may have share, repeats, keep; got 'kept'"),
        (("[[stages]]", "[[stages]"), "are not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_in_words(described, change, message):
    with pytest.raises(SettingsError, match=message):
        read(described(FILE.replace(*change, 1)))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"pepper.toml cannot be read \(No such file"):
        read(tmp_path / "pepper.toml")


def test_what_cannot_be_trained_is_refused_before_anything_is():
    wrong = SettingsFile(by_method={"conftr": {"temperature": (0.0,)}})
    with pytest.raises(ValueError, match="temperature must be"):
        sweeps(wrong, "digits", BASE, alpha=0.1)
    wrong = replace(wrong, by_method={"conftr": {"learning_rate": (-1,)}})
    with pytest.raises(ValueError, match="learning_rate must be"):
        sweeps(wrong, "digits", BASE, alpha=0.1)


def test_the_thinned_grid_can_be_asked_of_every_method():
    for sweep in sweeps(coarse(list(METHODS), rows=1000, epochs=50), "digits", BASE, alpha=0.1):
        (attempt, *_) = sweep.attempts(sweep.configurations()[0], sweep.stages[0])
        assert attempt.training.pool.kind == "held_out"
        assert not attempt.training.resampled
        assert callable(build(attempt.training.objective))


def test_a_file_may_have_training_sets_drawn_as_trials_draw_theirs(described):
    file = read(described("resampled = true" + FILE))
    assert read(described(toml(file, ""))) == file
    for given in (file, halved(file, 1)):
        for sweep in sweeps(given, "digits", BASE, alpha=0.1):
            (attempt, *_) = sweep.attempts(sweep.configurations()[0], sweep.stages[0])
            assert attempt.training.resampled
            assert attempt.training.pool.kind == "held_out"
    drawn, whole = (sweeps(f, "digits", BASE, alpha=0.1)[0] for f in (file, read(described(FILE))))
    assert drawn.name != whole.name


def test_batches_larger_than_the_data_are_left_out():
    assert coarse(["bel"], rows=300, epochs=50).of("bel")["batch_size"] == (100,)
    assert coarse(["bel"], rows=40, epochs=50).of("bel")["batch_size"] == (10,)


def test_successive_halving_keeps_a_third_for_three_times_as_long():
    values = {"batch_size": (1, 2, 3), "learning_rate": (1, 2, 3), "temperature": tuple(range(8))}
    file = halved(SettingsFile(by_method={"conftr": values}), 2)
    assert [stage.keep for stage in file.stages] == [24, 8, 1]
    assert [stage.share for stage in file.stages] == pytest.approx([1 / 9, 1 / 3, 1])


def test_an_equal_budget_gives_every_method_as_many_configurations():
    methods = ("cross-entropy-tuned", "conftr", "conftr-class", *LATER)
    file = equal_budget(methods, (5, 10), alpha=0.05)
    made = sweeps(file, "digits", BASE, alpha=0.05)
    assert {len(sweep.configurations()) for sweep in made} == {8}
    assert {sweep.alpha for sweep in made} == {0.05}
    assert all(
        {settings["epochs"] for settings in sweep.configurations()} == {5, 10} for sweep in made
    )


@pytest.mark.parametrize("method", LATER)
def test_later_methods_have_a_grid_by_default(method):
    file = coarse([method], rows=10_000, epochs=10)
    (sweep,) = sweeps(file, "digits", BASE, alpha=0.1)
    assert 2 <= len(sweep.configurations()) <= 200


def test_a_method_of_a_file_has_an_equal_budget_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    made = sweeps(
        equal_budget(("mine.py:Focal", "bel"), (1, 2), alpha=0.1), "digits", BASE, alpha=0.1
    )
    assert [len(sweep.configurations()) for sweep in made] == [8, 8]
