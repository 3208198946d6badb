"""The section after the paper: lines from the store, and what is still to be run."""

from pathlib import Path

from conftr.experiments.store import Store, write
from conftr.paper.later import LONG_TAIL, TITLES, entries, missing, tables
from conftr.paper.results_page import as_markdown


def result(score, mean, std=None):
    return {
        "score": score,
        "inefficiency": {"mean": mean, "std_trials": std},
        "coverage": {"mean": 0.99},
        "accuracy": {"mean": 0.9},
        "class_inefficiency": [1.0, 3.0],
        "class_coverage": [0.99, 0.8],
    }


RECORD = {
    "failed": 1,
    "specification": {"trials": 3},
    "results": [result("THR", 2.1, 0.01), result("APS", 2.5, 0.02)],
    "average": [result("THR", 2.0), result("APS", 2.2)],
    "head": [result("THR", 1.9), result("APS", 2.1)],
    "temperature": [result("APS", 2.4, 0.02)],
    "by_class": [
        {
            "score": "THR",
            "inefficiency": 2.6,
            "class_inefficiency": [2.0, 2.9],
            "class_coverage": [0.95, 0.94],
        }
    ],
}


def stored(root, dataset):
    write(root / "records/one-0123456789abcdef.json", RECORD)
    entry = {
        "method": "baseline-tuned",
        "sweep": "sweeps/two-fedcba9876543210.json",
        "record": "records/one-0123456789abcdef.json",
    }
    write(root / "later" / f"{dataset}.json", {"dataset": dataset, "entries": [entry]})


def test_a_line_has_single_networks_their_average_and_a_head(tmp_path):
    stored(tmp_path, "mnist")
    (table,) = tables(Store(tmp_path), lambda path: path.stem)
    (line,) = table.cells
    assert line == [
        "cross-entropy-tuned (1 of 3 failed)",
        "2.100 ± 0.010",
        "2.500 ± 0.020",
        "2.400 ± 0.020",
        "2.000",
        "2.200",
        "1.900",
        "2.100",
        "99.00",
        "one-0123456789abcdef",
        "two-fedcba9876543210",
    ]
    assert len(table.columns) == len(line)


def test_a_long_tail_shows_the_worst_class(tmp_path):
    stored(tmp_path, LONG_TAIL)
    (table,) = tables(Store(tmp_path), lambda path: path.stem)
    (line,) = table.cells
    assert line[1:7] == ["2.10", "3.00", "80.0", "2.60", "2.90", "94.0"]
    assert len(table.columns) == len(line)


def test_what_has_not_been_run_is_said(tmp_path):
    stored(tmp_path, "mnist")
    assert missing(Store(tmp_path)) == [name for name in TITLES if name != "mnist"]
    page = as_markdown([], Store(tmp_path), {})
    assert "Not run yet: winequality-grades, fashion-mnist" in page
    assert "[01234567](../results/records/one-0123456789abcdef.json)" in page


def test_a_table_names_the_methods_that_it_lacks(tmp_path):
    stored(tmp_path, "emnist-test")
    (table,) = tables(Store(tmp_path), lambda path: path.stem)
    remark = table.remarks[-1]
    assert remark.startswith("Not run here: conftr, conftr-class, label-smoothing, focal, ")
    assert "emnist-test --methods conftr,conftr-class,label-smoothing,focal," in remark
    assert "cross-entropy-tuned" not in remark


def test_every_entry_that_is_stored_has_its_files():
    store = Store(Path(__file__).parents[2] / "results")
    for dataset in TITLES:
        for entry in entries(store, dataset):
            assert (store.root / entry.sweep).exists()
            assert entry.record["name"] in entry.path.stem
