"""A sweep on a file of one's own: the rows that fit would learn from, and none of the others."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner

from conftr import ConformalClassifier, training
from conftr.classifier import artefact, estimator_fitting
from conftr.classifier.division import order, seed_of
from conftr.cli import app
from conftr.cli.sweep import _next
from conftr.data import DataError
from conftr.data.user_files import Roles, read
from conftr.experiments.user_file import chosen_for_fit, dataset_of, rows_to_learn_from
from conftr.jobs import fitting
from conftr.members.network import seen_rows
from conftr.search.settings import SettingsFile
from small_texts import messages

GRID = """
methods = ["cross-entropy"]
[settings]
epochs = 10
batch_size = 20
learning_rate = [0.1, 1e-6]
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Wines as a table, with their class as a word."""
    wine = load_wine(as_frame=True)
    table = wine.frame.assign(kind=np.array(["red", "rosy", "white"])[wine.target])
    path = tmp_path_factory.mktemp("own") / "wine.csv"
    table.drop(columns="target").to_csv(path, index=False)
    return path


def held_out(given_rows, task, monkeypatch):
    """The rows that `conftr fit` tests and calibrates on, as it divides them itself."""
    seen = []

    def look(*args, **named):
        seen.append(divide(*args, **named))
        raise KeyboardInterrupt

    divide = estimator_fitting.divide
    with monkeypatch.context() as patch:
        patch.setattr(estimator_fitting, "divide", look)
        with pytest.raises(KeyboardInterrupt):
            fitting.fit(given_rows, task, lambda *_: None)
    parts = fitting.divided(order(given_rows.X, seed_of(task.seed), given_rows.y), task)
    return {*parts.test, *parts.rest[seen[0].calibration]}


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.02])
@pytest.mark.parametrize("share", [None, 0.05, 0.3])
@pytest.mark.parametrize("seed", [0, 5])
def test_no_fit_with_the_same_seed_holds_out_what_was_swept(file, monkeypatch, alpha, share, seed):
    given_rows = read(file, Roles("kind"))
    ours = set(rows_to_learn_from(given_rows, seed=seed))
    task = fitting.FitTask(ConformalClassifier(alpha, random_state=seed), test_share=share)
    assert len(ours) == 71
    assert not ours & held_out(given_rows, task, monkeypatch)


def test_a_fit_that_would_is_refused(file):
    task = fitting.FitTask(test_share=0.45)
    with pytest.raises(DataError, match="--test-share is too large: with the 32 rows that calib"):
        fitting.fit(read(file, Roles("kind")), task, lambda *_: None)


def test_nor_does_the_estimator(file, monkeypatch):
    """Which takes up by hand what a sweep has found; from a table of any library."""
    given_rows, seen = read(file, Roles("kind")), []
    frame = pd.read_csv(file).drop(columns="kind")
    monkeypatch.setattr(
        estimator_fitting, "calibrate", lambda _, X, *__: seen.append(np.asarray(X))
    )
    for X in (given_rows.X, frame):
        ConformalClassifier(members=GaussianNB(), random_state=0).fit(X, given_rows.y)
    np.testing.assert_array_equal(*seen)
    ours = given_rows.take(rows_to_learn_from(given_rows, seed=0))
    assert not set(map(tuple, seen[0])) & set(ours.X.rows())


def test_other_content_is_another_dataset(file):
    given_rows = read(file, Roles("kind"))
    first, other = (dataset_of(given_rows, str(file), seed=seed) for seed in (0, 1))
    assert first.name.startswith("wine-")
    assert first.name != other.name
    assert first.name == dataset_of(given_rows, str(file), seed=0).name
    assert first.classes == ("red", "rosy", "white")
    assert len(first.y_cal) == len(first.y_test) == 0


def test_the_command_sweeps_a_table(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "use_compilation_cache", lambda: None)
    (tmp_path / "grid.toml").write_text(GRID)
    command = ["sweep", str(file), "--target", "kind", "--grid", "grid.toml", "--model", "linear"]
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.stderr
    (content,) = json.loads(done.stdout)
    assert content["alpha"] == 0.1
    assert content["chosen"]["learning_rate"] == 0.1
    assert content["inefficiency"] < 2
    fit = ["fit", str(file), "--target", "kind", "--settings", content["settings"], "--json"]
    fitted = CliRunner().invoke(app, fit)
    assert fitted.exit_code == 0, fitted.stderr
    assert json.loads(fitted.stdout)["model"] == "wine-conftr"
    assert artefact.load(tmp_path / "wine-conftr").method_ == "CrossEntropy"
    again = CliRunner().invoke(app, command)
    assert f"Next: conftr {' '.join(fit[:-1])}\n" in again.stderr  # nothing is typed again
    other = CliRunner().invoke(app, [*fit, "--seed", "1", "--overwrite"])
    assert "some of them would calibrate or be tested on" in other.stderr
    assert "remove [searched] from the settings" in other.stderr
    wrong = CliRunner().invoke(app, command[:2])
    assert "say with --target which column" in wrong.stderr


def test_the_next_command_has_all_that_divides_the_rows():
    roles = Roles("my y", drop=("id", "day"), categories=("zip",), texts=("said",))
    assert _next("a b.csv", roles, 3) == (
        "conftr fit 'a b.csv' --target 'my y' --seed 3 --drop id --drop day --category zip "
        "--text said"
    )


def test_texts_are_read_as_fit_reads_them(tmp_path):
    messages(240).write_csv(tmp_path / "messages.csv")
    given_rows = read(tmp_path / "messages.csv", Roles("kind"))
    dataset = dataset_of(given_rows, "messages.csv", seed=0)
    mine = given_rows.take(rows_to_learn_from(given_rows, seed=0))
    _, _, seen = seen_rows(mine.X, ["said"])
    np.testing.assert_array_equal(dataset.x_train, seen)
    assert np.isfinite(dataset.x_train).all()
    as_names = mine.X.select(pl.col("said").cast(pl.Categorical))
    assert seen_rows(as_names).inputs.shape != seen.shape


def test_a_fit_trains_as_the_settings_say(file):
    given_rows = read(file, Roles("kind"))
    settings = {"model": "mlp:8", "epochs": 3, "batch_size": 20, "learning_rate": 0.2}
    item = {name: (value,) for name, value in {**settings, "temperature": 0.5}.items()}
    result = SettingsFile(by_method={"conftr-class": item}, alphas=(0.2,))
    alpha, training = chosen_for_fit(result, given_rows, str(file), alpha=None, seed=0)
    clf = ConformalClassifier(alpha, random_state=0, **training).fit(given_rows.X, given_rows.y)
    assert (clf.epochs_, clf.batch_size_, clf.learning_rate_) == (3, 20, 0.2)
    assert clf.model_.hidden == (8,)
    assert (training["method"].alpha, training["method"].temperature) == (0.2, 0.5)
    slow = SettingsFile(by_method={"conftr-class": item | {"weight_decay": (0.0,)}})
    with pytest.raises(ValueError, match=r"trains with weight_decay = 0.0005; got 0.0"):
        chosen_for_fit(slow, given_rows, str(file), alpha=None, seed=0)
