"""conftr fit and predict on files whose names act on a terminal or fill it."""

import json

import numpy as np
import polars as pl
import pytest

from commands import run

NAMES = ["y\x1b[31mes\x07", "n\0o", "b" * 20_000 + "\ufffe"]


def harmless(text):
    return len(text) < 6000 and not set(text) & set("\0\x07\x1b\ufffe")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    k = np.arange(240) % 3
    file = tmp_path_factory.mktemp("names") / "rows.csv"
    pl.DataFrame(
        {
            "x\x1b": rng.normal(size=240) + 2 * k,
            "w": rng.choice(["u\x07", "v" * 5000], 240),
            "site\x1b[2J": rng.choice(["north\x07", "south"], 240),
            "class": [NAMES[i] for i in k],
        }
    ).write_csv(file)
    return file


def test_fit_and_predict_say_names_that_cannot_be_printed(table, tmp_path):
    model = tmp_path / "model"
    options = ["--target", "class", "--group-by", "site\x1b[2J", "--method", "cross-entropy"]
    done = run("fit", table, *options, "--shrink", f"{NAMES[0]}=2", "--out", model)
    assert done.exit_code == 0, done.output
    assert r"in each group of 'site\x1b[2J'" in done.output
    assert harmless(done.output)
    assert len(list((model / "figures").iterdir())) == 10
    answers = tmp_path / "sets.jsonl"
    done = run("predict", model, table, "--out", answers)
    assert done.exit_code == 0, done.output
    assert harmless(done.output)
    first = json.loads(answers.read_text().splitlines()[0])
    assert first["likeliest"] in NAMES  # data keep their names


@pytest.mark.parametrize(
    "arguments",
    [
        ["--target", "none\x1b[2J"],
        ["--target", "class", "--shrink", "none\x1b[2J"],
        ["--target", "class", "--drop", "z" * 100_000],
    ],
)
def test_errors_say_names_that_cannot_be_printed(table, tmp_path, arguments):
    done = run("fit", table, *arguments, "--out", tmp_path / "model")
    assert done.exit_code == 1
    assert harmless(done.output)
