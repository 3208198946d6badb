"""The command line as a person uses it."""

import json
import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from conftr import training
from conftr.cli import app
from conftr.experiments import runner as running
from conftr.experiments import settings
from conftr.search import tuning

QUICK = ["--trials", "2", "--splits", "2", "--epochs", "2", "--model", "linear", "--alpha", "0.1"]


@pytest.fixture
def conftr(tmp_path, monkeypatch):
    """Run `conftr ARGUMENTS` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    # Where compiled programs are kept is a setting of the whole process.
    monkeypatch.setattr(training, "use_compilation_cache", lambda: None)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_compare_ends_with_a_table_and_a_store(conftr, tmp_path, monkeypatch):
    done = conftr("compare", "digits", "--methods", "baseline,conftr-class", *QUICK)
    assert done.exit_code == 0, done.stderr
    assert "baseline" in done.stdout
    assert "THR size" in done.stdout
    assert "digits conftr-class: epoch 2 of 2" in done.stderr
    (file,) = (tmp_path / "results" / "comparisons").iterdir()
    assert f"conftr table {file.relative_to(tmp_path)}" in done.stderr

    def refuse(*args, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(running, "fit", refuse)
    again = conftr("compare", "digits", "--methods", "baseline,conftr-class", *QUICK)
    assert again.exit_code == 0, again.stderr
    assert again.stdout == done.stdout
    assert conftr("table", str(file)).stdout == done.stdout
    rows = json.loads(conftr("table", str(file), "--format", "json").stdout)
    assert {row["method"] for row in rows} == {"baseline", "conftr-class"}
    assert conftr("table", str(file), "--format", "csv").stdout.startswith("dataset,method,")
    assert "| baseline |" in conftr("table", str(file), "--format", "markdown").stdout


def test_json_is_all_that_is_printed(conftr):
    done = conftr("compare", "digits", "--methods", "bel", "--json", *QUICK)
    rows = json.loads(done.stdout)
    assert [row["score"] for row in rows] == ["THR", "THRL", "APS", "RAPS"]
    assert all(row["trials"] == 2 and row["splits"] == 2 for row in rows)
    assert done.stderr == ""


GRID = """
methods = ["baseline", "bel"]
[grid]
model = "linear"
batch_size = 400
learning_rate = [0.1, 0.05]
epochs = 1
"""


def test_sweep_says_its_cost_shows_the_best_and_is_done_once(conftr, tmp_path, monkeypatch):
    (tmp_path / "grid.toml").write_text(GRID)
    asked = ["sweep", "digits", "--grid", "grid.toml", "--methods", "baseline"]
    dry = conftr(*asked, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert dry.stdout.startswith("2 configurations, 1 compiled programs, 2 epochs: about")
    assert not (tmp_path / "results").exists()
    done = conftr(*asked)
    assert done.exit_code == 0, done.stderr
    assert "held-out training data" in done.stdout
    assert "2 configurations, 1 compiled programs" in done.stderr
    assert "best of 2 of 2 configurations so far: method baseline" in done.stderr
    (file,) = (tmp_path / "results" / "sweeps").iterdir()
    assert f"Results: {file.relative_to(tmp_path)}" in done.stderr

    def refuse(*args, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(tuning, "fit", refuse)
    again = conftr(*asked, "--json")
    assert again.stderr == ""
    (found,) = json.loads(again.stdout)
    assert found["method"] == "baseline"
    assert found["file"] == str(file.relative_to(tmp_path))
    adopted = []
    monkeypatch.setattr(settings, "adopt", lambda *args: adopted.append(args))
    assert conftr(*asked, "--adopt").exit_code == 0
    assert adopted == [("digits", "baseline", found["chosen"])]


def test_data_list_and_fetch(conftr):
    listed = conftr("data", "list").stdout
    assert "digits          ships with scikit-learn" in listed
    assert "mnist" in listed
    assert conftr("data", "fetch", "digits").stdout == "digits: ships with scikit-learn\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "minst"], "dataset must be one of digits, mnist"),
        (["compare", "digits", "--methods", "bell"], "methods must be among baseline"),
        (["compare", "digits", "--alpha", "2"], "alpha must lie strictly between 0 and 1; got 2"),
        (["compare", "digits", "--model", "big"], "model must be linear, mlp:64x64"),
        (["compare", "digits", "--quantile", "mean"], "quantile must be one of"),
        (["compare", "mnist", "--data-dir", "nowhere"], "data_dir must name an existing folder"),
        (["table", "nothing.json"], "There is no results file nothing.json"),
        (["data", "fetch", "minst"], "name must be one of the datasets digits, mnist"),
        (["sweep", "digits", "--methods", "bell"], "methods must be among baseline"),
        (["sweep", "digits", "--grid", "pepper"], "--grid must be paper, coarse or a file"),
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


def test_interrupted_and_taken_up(tmp_path):
    """Ctrl-C says that the same command goes on, and it does."""
    command = [sys.executable, "-c", INTERRUPTIBLE, "compare", "digits", "--methods", "baseline"]
    command += ["--trials", "1", "--splits", "2", "--model", "linear", "--epochs"]
    settings = {
        "cwd": tmp_path,
        "env": os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    with subprocess.Popen([*command, "100000"], **settings) as child:
        assert any("epoch 1 of" in line for line in child.stderr)
        child.send_signal(signal.SIGINT)
        try:
            _, said = child.communicate(timeout=60)
        finally:
            child.kill()  # or leaving would wait for it for ever
    assert child.returncode == 1
    assert "The same command goes on where it was" in said
    assert "Traceback" not in said
    done = subprocess.run([*command, "3"], check=False, **settings)
    assert done.returncode == 0, done.stderr
