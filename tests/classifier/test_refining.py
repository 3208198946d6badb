"""`tune`: settings searched on training examples alone, and what is said of it."""

import json

import jax
import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner

import conftr
from conftr import ConformalClassifier, training
from conftr.classifier import artefact
from conftr.classifier.choosing import CONFORMAL, CROSS_ENTROPY, WISHED
from conftr.classifier.division import calibration_size, held_out, order, seed_of
from conftr.cli import app
from conftr.data.user_files import UserData
from conftr.jobs import fitting

NAMES = np.array(["cat", "dog", "eel"])
TASK = fitting.FitTask(ConformalClassifier(method="cross-entropy", tune=4, random_state=3))
SMALL = {"model": (), "epochs": 2, "random_state": 0}


def blobs(n, seed=0):
    """Three classes that overlap, in four features."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 4)) + 1.5 * np.eye(3, 4)[labels]
    return x.astype(np.float32), NAMES[labels]


X, Y = blobs(1100)


def tuned(**changes):
    return ConformalClassifier(**({"tune": 3, **SMALL} | changes)).fit(X, Y)


def silent(*_):
    pass


@pytest.fixture(scope="module")
def wished():
    """Conformal training with wishes and without."""
    return tuned(method="conftr", shape=conftr.Shape(avoid=[("cat", "eel")]))


def test_neither_calibration_nor_test_labels_have_a_say():
    parts = fitting.divided(order(X, seed_of(TASK.seed)), TASK)
    calibrating = parts.drawn.places < calibration_size(parts.drawn.examples, TASK.clf.alpha)
    others = np.concatenate([parts.test, parts.rest[calibrating]])
    assert len(others) == 220 + 176
    wrong = Y.copy()
    wrong[others] = np.roll(NAMES, 1)[np.searchsorted(NAMES, Y[others])]
    first, other = (fitting.fit(UserData(X, y, None, {}), TASK, silent).clf for y in (Y, wrong))
    assert first.tuning_ == other.tuning_
    assert first.tuning_["found"][CROSS_ENTROPY]["learning_rate"] > 0
    assert first.tried_ == other.tried_
    assert first.why_ == other.why_
    networks = [clf.candidates_[0].stack.members[0].models[0] for clf in (first, other)]
    params = [jax.tree.leaves(network.fitted[0].params) for network in networks]
    assert all(np.array_equal(a, b) for a, b in zip(*params, strict=True))
    assert first.thresholds_ != other.thresholds_


@pytest.mark.slow  # a search for each kind
def test_each_kind_of_training_is_searched_and_what_was_found_is_trained(wished):
    account = wished.tuning_
    assert account["settings"] == 3
    assert list(account["found"]) == [WISHED, CONFORMAL, CROSS_ENTROPY]
    better = [
        result
        for result in account["found"].values()
        if result["measure"] < result["measure_before"]
    ]
    assert better
    plain = tuned(method="conftr", shape=wished.shape, tune=None)
    assert plain.tuning_ is None
    assert len(wished.tried_) == len(plain.tried_) + len(better)
    assert set(plain.tried_) < set(wished.tried_)
    for result in better:
        rate = (
            f"learning rate {result['learning_rate']:g}, weight decay {result['weight_decay']:g};"
        )
        assert any(rate in candidate.words for candidate in wished.tried_)
    sentence = f"3 settings ({WISHED}, {CONFORMAL}, {CROSS_ENTROPY}) were compared on"
    assert sentence in wished.why_


def test_an_account_of_the_search_is_saved(wished, tmp_path):
    artefact.save(wished, tmp_path / "model")
    loaded = artefact.load(tmp_path / "model")
    assert loaded.tuning_ == wished.tuning_
    assert loaded.tune == 3


def test_an_objective_of_ones_own_is_tuned_where_nothing_else_can_choose():
    objective = conftr.ConfTr(0.1, quantile=conftr.OrderStatistic(), loss_matrix=conftr.identity)
    clf = tuned(method=objective)
    result = clf.tuning_["found"]["ConfTr"]
    assert clf.n_validation_ == 0
    assert result["measure"] < result["measure_before"]
    assert clf.learning_rate_ == result["learning_rate"] != 0.01
    assert f"temperature {result['temperature']:g}" in clf.candidates_[0].words
    assert clf.why_.endswith("held-out training examples; those chosen were found there.")


def test_what_cannot_be_searched_is_said():
    few = ConformalClassifier(method="cross-entropy", tune=3, **SMALL).fit(X[:300], Y[:300])
    assert "No settings were searched: there are too few training examples" in few.why_
    late = tuned(method="cross-entropy", time_limit=0)
    assert late.why_.endswith("No search for settings was over within 0 s.")
    assert late.tuning_["found"] == {}


def test_a_batch_of_nearly_all_examples_is_searched_with_what_there_is():
    clf = tuned(method="cross-entropy", batch_size=640)
    assert clf.batch_size_ == 640
    assert clf.tuning_["found"][CROSS_ENTROPY]["learning_rate"] > 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"tune": 1}, "tune must be"),
        ({"tune": 2.5}, "tune must be"),
        ({"members": GaussianNB()}, "is a setting of a single network, and members are given"),
    ],
)
def test_what_makes_no_search_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        tuned(**wrong)


def test_examples_held_out_are_of_every_class_and_leave_the_others():
    labels = np.searchsorted(NAMES, Y)
    rows, held = held_out(labels, alpha=0.1, seed=0)
    assert np.array_equal(np.sort([*rows, *held]), np.arange(len(Y)))
    assert len(held) == 220
    assert set(labels[held]) == {0, 1, 2}


@pytest.mark.slow  # a whole search in a process
def test_the_command_line_tells_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "use_compilation_cache", lambda: None)
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(X, schema=list("abcd")).with_columns(kind=pl.Series(Y)).write_csv("rows.csv")
    command = ["fit", "rows.csv", "--target", "kind", "--method", "cross-entropy", "--tune", "2"]
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    content = json.loads(done.stdout)
    assert content["tuning"]["settings"] == 2
    assert "2 settings (cross-entropy) were compared on 106 held-out training ex" in content["why"]
    assert "tuning · found · cross-entropy" in (tmp_path / content["report"]).read_text()
    assert artefact.evidence("rows-conftr").provenance["tuning"] == content["tuning"]
    done = CliRunner().invoke(app, [*command, "--overwrite", "--quiet"])
    assert "2 settings (cross-entropy) were compared" in done.stdout.replace("\n          ", " ")
    assert done.stderr == ""
