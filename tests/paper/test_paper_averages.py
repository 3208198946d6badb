"""The section on averages of five: lines from the store, and what is still to be run."""

from pathlib import Path

from test_paper_later import result

from conftr.experiments.store import Store, read, write
from conftr.paper.averages import TITLES, entries, missing, tables
from conftr.paper.results_page import as_markdown

RECORD = {
    "results": [result("THR", 2.1, 0.01), result("APS", 2.5, 0.02)],
    "average": [result("THR", 2.0, 0.03), result("APS", 2.2, 0.04)],
    "head": [result("THR", 1.9, 0.05), result("APS", 2.1, 0.06)],
}


def stored(root, dataset):
    write(root / "records/one-0123456789abcdef.json", RECORD)
    chosen = {"epochs": 30, "schedule": "steps", "learning_rate": 0.02, "weight_decay": 0.0005}
    chosen["augmentation"] = "crop:1"
    record = "records/one-0123456789abcdef.json"
    entry = {"method": "baseline-tuned", "chosen": chosen, "record": record}
    write(root / "averages" / f"{dataset}.json", {"dataset": dataset, "entries": [entry]})


def test_a_line_has_single_networks_averages_and_a_head(tmp_path):
    stored(tmp_path, "mnist")
    (table,) = tables(Store(tmp_path), lambda path: path.stem)
    (line,) = table.cells
    assert line[0] == "cross-entropy-tuned"
    assert line[1::2][:3] == ["2.100 ± 0.010", "2.000 ± 0.030", "1.900 ± 0.050"]
    told = "30 epochs, steps, learning rate 0.02, weight decay 0.0005, crop:1"
    assert line[-3:] == ["99.00", told, "one-0123456789abcdef"]
    assert len(table.columns) == len(line)


def test_what_has_not_been_run_is_said(tmp_path):
    stored(tmp_path, "mnist")
    assert missing(Store(tmp_path)) == [name for name in TITLES if name != "mnist"]
    assert (
        "Not run yet: winequality-grades, fashion-mnist, emnist-test. `python benchmarks/aver"
        in (as_markdown([], Store(tmp_path), {}))
    )


def test_every_entry_that_is_stored_has_its_record():
    store = Store(Path(__file__).parents[2] / "results")
    for dataset in TITLES:
        for entry in entries(store, dataset):
            assert read(store.root / entry["record"])["name"] in entry["record"]
