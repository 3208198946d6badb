"""The command line as a person uses it."""

import json
import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import processes
from conftr import training
from conftr.cli import app
from conftr.experiments import runner as running
from conftr.search import held_out
from conftr.search.settings import read

QUICK = ["--trials", "2", "--splits", "2", "--epochs", "2", "--model", "linear", "--alpha", "0.1"]


@pytest.fixture
def conftr(tmp_path, monkeypatch):
    """Run `conftr ARGUMENTS` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    # Where compiled programs are kept is a setting of the whole process.
    monkeypatch.setattr(training, "use_compilation_cache", lambda: None)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_compare_ends_with_a_table_and_a_store(conftr, tmp_path, monkeypatch):
    done = conftr("compare", "digits", "--methods", "cross-entropy,conftr-class", *QUICK)
    assert done.exit_code == 0, done.stderr
    assert "cross-entropy" in done.stdout
    assert "cross-entropy: its settings are defaults, not searched." in done.stdout
    assert "THR size" in done.stdout
    assert "digits conftr-class: 2 of 2" in done.stderr
    (file,) = (tmp_path / "results" / "comparisons").iterdir()
    assert f"conftr table {file.relative_to(tmp_path)}" in done.stderr

    def refuse(*args, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(running, "fit", refuse)
    again = conftr("compare", "digits", "--methods", "cross-entropy,conftr-class", *QUICK)
    assert again.exit_code == 0, again.stderr
    assert again.stdout == done.stdout
    assert conftr("table", str(file)).stdout == done.stdout
    rows = json.loads(conftr("table", str(file), "--format", "json").stdout)
    assert {row["method"] for row in rows} == {"cross-entropy", "conftr-class"}
    assert conftr("table", str(file), "--format", "csv").stdout.startswith("dataset,method,")
    assert "| cross-entropy |" in conftr("table", str(file), "--format", "markdown").stdout


def test_json_is_all_that_is_printed(conftr):
    done = conftr("compare", "digits", "--methods", "bel", "--json", *QUICK)
    rows = json.loads(done.stdout)
    assert [row["score"] for row in rows] == ["THR", "THRL", "APS", "RAPS"]
    assert all(row["trials"] == 2 and row["splits"] == 2 for row in rows)
    assert done.stderr == ""


GRID = """
methods = ["cross-entropy", "bel"]
[settings]
model = "linear"
batch_size = 400
learning_rate = [0.1, 0.05]
epochs = 1
"""


def test_sweep_says_its_cost_shows_the_best_and_is_done_once(conftr, tmp_path, monkeypatch):
    (tmp_path / "grid.toml").write_text(GRID)
    command = ["sweep", "digits", "--grid", "grid.toml", "--methods", "cross-entropy"]
    dry = conftr(*command, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert dry.stdout.startswith("2 configurations, 1 compiled programs, 2 epochs: about")
    assert not (tmp_path / "results").exists()
    done = conftr(*command)
    assert done.exit_code == 0, done.stderr
    assert "held-out training data" in done.stdout
    assert "2 configurations, 1 compiled programs" in done.stderr
    assert "best of 2 of 2 configurations so far: method cross-entropy" in done.stderr
    (file,) = (tmp_path / "results" / "sweeps").iterdir()
    assert f"Results: {file.relative_to(tmp_path)}" in done.stderr

    def refuse(*args, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(held_out, "fit", refuse)
    again = conftr(*command, "--json")
    assert again.stderr == ""
    (content,) = json.loads(again.stdout)
    assert content["method"] == "cross-entropy"
    assert content["file"] == str(file.relative_to(tmp_path))
    assert f"conftr compare digits --settings {content['settings']}" in done.stderr
    settings = read(tmp_path / content["settings"]).only("cross-entropy")
    assert settings == content["chosen"] | {"model": "linear", "epochs": 1, "batch_size": 400}


def test_what_is_typed_stands_before_what_a_grid_says(conftr, tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    command = ["sweep", "digits", "--grid", "grid.toml", "--methods", "cross-entropy"]
    typed = conftr(*command, "--model", "mlp:4", "--epochs", "2", "--json")
    assert typed.exit_code == 0, typed.stderr
    (content,) = json.loads(typed.stdout)
    settings = read(tmp_path / content["settings"]).only("cross-entropy")
    assert (settings["model"], settings["epochs"], settings["batch_size"]) == ("mlp:4", 2, 400)


def test_the_papers_settings_are_a_file_that_compare_takes(conftr, tmp_path):
    printed = conftr("reproduce", "--settings", "digits").stdout
    (tmp_path / "digits.toml").write_text(printed)
    quick = ["--trials", "1", "--splits", "2", "--epochs", "1", "--json"]
    command = ["compare", "digits", "--settings", "digits.toml", "--methods", "conftr,covertr-thr"]
    done = conftr(*command, *quick)
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {(row["method"], row["settings"]) for row in rows} == {
        ("conftr", "digits.toml"),
        ("covertr-thr", "defaults"),
    }
    grid = conftr("reproduce", "--grid", "mnist", "--thinned").stdout
    assert "[settings.conftr-class]\nbatch_size = [500, 100]\n" in grid
    assert "[settings.cross-entropy-tuned]\n" in grid


METHOD = """
from dataclasses import dataclass
from typing import Any

@dataclass(frozen=True)
class Smoothed:
    share: Any = 0.1

    def __call__(self, logits, labels):
        import jax.numpy as jnp
        from jax.nn import log_softmax, one_hot

        logs = log_softmax(logits)
        told = (1 - self.share) * one_hot(labels, logits.shape[1]) + self.share / logits.shape[1]
        return -jnp.mean(jnp.sum(told * logs, axis=1))

def bits(sets, labels):
    import jax.numpy as jnp
    return jnp.mean(jnp.log2(1 + jnp.sum(sets, axis=1)))

def margin(logits):
    import array_api_compat
    xp = array_api_compat.array_namespace(logits)
    ordered = xp.sort(logits, axis=1)
    return logits - xp.where(logits == ordered[:, -1:], ordered[:, -2:-1], ordered[:, -1:])
"""


def test_a_file_of_ones_own_takes_part_in_everything(conftr, tmp_path):
    """As an objective, a loss on sets, a score in training and at test, and in a sweep."""
    (tmp_path / "mine.py").write_text(METHOD)
    methods = "cross-entropy,mine.py:Smoothed,mine.py:bits,mine.py:margin"
    command = ["compare", "digits", "--methods", methods, "--scores", "thr,mine.py:margin", *QUICK]
    done = conftr(*command, "--json")
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {(row["method"], row["score"]) for row in rows} == {
        (method, score)
        for method in ("cross-entropy", "Smoothed", "bits", "margin")
        for score in ("THR", "margin")
    }
    records = sorted(tmp_path.glob("results/records/digits/*.json"))
    assert conftr(*command, "--json").stdout == done.stdout
    record = next(path for path in records if path.name.startswith("Smoothed-"))
    kind = json.loads(record.read_text())["specification"]["training"]["objective"]["kind"]
    assert kind.startswith("mine.py:Smoothed@")
    (tmp_path / "mine.py").write_text(METHOD + "# another text\n")
    conftr(*command)
    assert len(list(tmp_path.glob("results/records/digits/*.json"))) == len(records) + 4
    (tmp_path / "grid.toml").write_text(
        '[settings]\nmodel = "linear"\nepochs = 1\n'
        '[settings."mine.py:Smoothed"]\nshare = [0.05, 0.2]\n'
    )
    swept = json.loads(conftr("sweep", "digits", "--grid", "grid.toml", "--json").stdout)
    assert swept[0]["chosen"]["share"] in (0.05, 0.2)
    again = conftr("compare", "digits", "--settings", swept[0]["settings"], *QUICK[:4], "--json")
    assert {row["method"] for row in json.loads(again.stdout)} == {"Smoothed"}


def test_data_list_and_fetch(conftr):
    listed = conftr("data", "list").stdout
    assert "digits          ships with scikit-learn" in listed
    assert "mnist" in listed
    assert conftr("data", "fetch", "digits").stdout == "digits: ships with scikit-learn\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "minst"], "name must be one of the datasets digits, mnist"),
        (["compare", "digits", "--methods", "bell"], "methods must be among cross-entropy"),
        (["compare", "digits", "--alpha", "2"], "alpha must lie strictly between 0 and 1; got 2"),
        (["compare", "digits", "--model", "big"], "model must be linear, mlp:64x64"),
        (["compare", "digits", "--quantile", "mean"], "quantile must be order-statistic,"),
        (["compare", "mnist", "--data-dir", "nowhere"], "data_dir must name an existing folder"),
        (["table", "nothing.json"], "There is no results file nothing.json"),
        (["data", "fetch", "minst"], "name must be one of the datasets digits, mnist"),
        (["sweep", "digits", "--methods", "bell"], "methods must be among cross-entropy"),
        (["sweep", "digits", "--grid", "pepper"], "The settings pepper cannot be read"),
    ],
)
def test_errors_are_one_sentence_on_standard_error(conftr, arguments, message):
    done = conftr(*arguments)
    assert done.exit_code == 1
    assert done.stderr.startswith("conftr: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_wrong_usage_exits_with_2(conftr):
    assert conftr("compare", "--no-such-option").exit_code == 2
    assert conftr("compare", "digits", "--trials", "0").exit_code == 2


def test_version(conftr):
    assert conftr("--version").stdout.startswith("conftr 0.")


def test_help_is_light():
    code = (
        "import sys\nfrom conftr.cli import main\nsys.argv = ['conftr', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('jax', 'torch', 'sklearn', 'equinox', 'optax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "compare" in done.stdout
    assert done.stdout.endswith("[]\n")


# A process started in the background, as in many a CI, ignores Ctrl-C, and so do its children.
INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from conftr.cli import main
main()
"""


@pytest.mark.slow  # starts programs that import JAX
def test_interrupted_and_taken_up(tmp_path):
    """Ctrl-C says that the same command goes on, and it does."""
    command = [
        sys.executable,
        "-c",
        INTERRUPTIBLE,
        "compare",
        "digits",
        "--methods",
        "cross-entropy",
    ]
    command += ["--trials", "1", "--splits", "2", "--model", "linear", "--epochs"]
    settings = {
        "cwd": tmp_path,
        "env": os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    with subprocess.Popen([*command, "100000"], **settings) as child:
        assert any(": 1 of" in line for line in child.stderr)
        child.send_signal(signal.SIGINT)
        try:
            _, printed = child.communicate(timeout=processes.PATIENCE)
        finally:
            child.kill()  # or leaving would wait for it for ever
    assert child.returncode == 1
    assert "The same command goes on where it was" in printed
    assert "Traceback" not in printed
    done = subprocess.run([*command, "3"], check=False, **settings)
    assert done.returncode == 0, done.stderr
