"""Published numbers beside ours: read from records, by hand, and run where they are missing."""

import dataclasses
import io

import pytest
from rich.console import Console

from conftr.experiments import Store
from conftr.experiments.cluster_trials import run_all
from conftr.experiments.runner import Workspace
from conftr.machine.cluster import Here
from conftr.machine.table import draw
from conftr.paper import EXHIBITS
from conftr.paper.exhibit_table import table_of
from conftr.paper.exhibits import (
    ACCURACY,
    COVERAGE,
    INEFFICIENCY,
    Cell,
    Exhibit,
    Line,
    Quantity,
    our_number,
    runs,
)
from conftr.paper.remarks import Remark
from conftr.paper.results_page import write
from small_runs import small

PLAIN, LONGER = small(), dataclasses.replace(small(3), method="longer")
RESULT = {
    "score": "THR",
    "alpha": 0.1,
    "inefficiency": {"mean": 2.0, "std_trials": 0.25, "std_splits": 0.5},
    "coverage": {"mean": 0.9, "std_trials": None, "std_splits": None},
    "accuracy": {"mean": 0.875, "std_trials": None, "std_splits": None},
    "class_inefficiency": [1.0, 3.0, None],
    "coverage_confusion": [[0.5, 0.125], [0.25, 0.25]],
}


def record(specification, size=2.0, failed=0):
    result = RESULT | {"inefficiency": RESULT["inefficiency"] | {"mean": size}}
    return {
        "name": specification.name,
        "specification": specification.to_json(),
        "failed": failed,
        "results": [result],
    }


def thr(published, quantity=INEFFICIENCY):
    return Cell(published, quantity, alpha=0.1)


def test_numbers_are_found_by_score_alpha_and_path():
    stored = record(PLAIN)
    assert our_number(thr(None), stored)[:2] == (2.0, 0.25)
    assert our_number(thr(None, ACCURACY), stored)[:2] == (87.5, None)
    assert our_number(Cell(None, score="APS", alpha=0.1), stored).mean is None
    assert our_number(Cell(None, alpha=0.2), stored).mean is None


def test_a_quantity_may_be_a_sum_of_entries():
    both = Quantity("", (("coverage_confusion", 0, 1), ("coverage_confusion", 1, 0)), factor=100)
    assert our_number(thr(None, both), record(PLAIN)).mean == 37.5
    mean = Quantity("", (("class_inefficiency", 0), ("class_inefficiency", 1)), factor=1 / 2)
    assert our_number(thr(None, mean), record(PLAIN)).mean == 2
    absent = Quantity("", (("class_inefficiency", 0), ("class_inefficiency", 2)))
    assert our_number(thr(None, absent), record(PLAIN)).mean is None


def exhibit(*lines):
    return Exhibit(
        "some", "Some sizes", "Table 0", ("method",), ("set size",), lines, (Remark("Remark."),)
    )


def test_the_paper_ours_and_the_difference(tmp_path):
    store = Store(tmp_path)
    store.put(record(PLAIN))
    lines = Line(("plain",), PLAIN, (thr(1.75),)), Line(("longer",), LONGER, (thr(None),))
    table = table_of(exhibit(*lines), store)
    assert table.columns == [
        "method",
        "set size, paper",
        "ours",
        "difference",
        "trials x splits",
        "record",
    ]
    assert table.cells == [
        ["plain", "1.75", "2.00 ± 0.250", "+0.25", "2 x 3", PLAIN.name],
        ["longer", "–", "–", "–", "2 x 3", "–"],
    ]
    assert table.remarks == ["Remark."]


def test_a_remark_on_one_dataset_is_for_its_lines_alone():
    lines = Line(("plain",), PLAIN, (thr(1.75),)), Line(("longer",), LONGER, (thr(None),))
    both = Remark("Remark."), Remark("Letters alone.", "emnist-test")
    whole = dataclasses.replace(exhibit(*lines), remarks=both)
    assert whole.of(None).remarks == both
    assert whole.of(PLAIN.training.dataset).remarks == both[:1]


@pytest.mark.parametrize("dataset", ["fashion-mnist", "mnist", "winequality"])
def test_no_other_dataset_prints_the_remark_on_emnist(dataset):
    for shown_exhibit in EXHIBITS.values():
        assert not [
            text for text, _ in shown_exhibit.of(dataset).remarks if text.startswith("EMNIST is")
        ]
    assert EXHIBITS["table1"].of("emnist-test").remarks[0].text.startswith("EMNIST is")


@pytest.mark.parametrize(
    ("beginning", "dataset"),
    [
        ("On CIFAR10 confusion", "cifar10-resnet34-long"),
        ("Which pairs of MNIST", "mnist"),
        ("On Fashion-MNIST two classes", "fashion-mnist"),
    ],
)
def test_a_paragraph_on_one_dataset_is_printed_for_it_alone(beginning, dataset):
    result = [
        (key, name)
        for key, shown_exhibit in EXHIBITS.items()
        for text, name in shown_exhibit.remarks
        if text.startswith(beginning)
    ]
    assert [name for _, name in result] == [dataset]


@pytest.mark.parametrize("width", [60, 120])
def test_names_of_records_are_never_cut(tmp_path, width):
    """They are the names of files."""
    store = Store(tmp_path)
    store.put(record(PLAIN))
    line = Line((" ".join(["a long label"] * 9),), PLAIN, (thr(1.75),))
    console = Console(width=width, file=io.StringIO())
    console.print(draw(table_of(exhibit(line), store)))
    assert PLAIN.name in console.file.getvalue()


def test_a_run_against_another_shows_the_change(tmp_path):
    store = Store(tmp_path)
    store.put(record(PLAIN))
    store.put(record(LONGER, size=1.5, failed=1))
    table = table_of(exhibit(Line(("longer",), LONGER, (thr(None),), PLAIN)), store)
    assert table.columns[1:4] == ["set size, before", "after", "change"]
    assert table.cells == [
        ["longer", "2.00", "1.50 ± 0.250", "-25.0 %", "2 x 3, 1 failed", LONGER.name]
    ]


def test_a_run_beside_all_has_columns_of_its_own_but_for_coverage(tmp_path):
    store = Store(tmp_path)
    store.put(record(PLAIN))
    store.put(record(LONGER, size=1.5))
    cells = thr(1.75), thr(None, COVERAGE)
    shown_exhibit = Exhibit(
        "some",
        "Some sizes",
        "Table 0",
        ("method",),
        ("set size", "coverage %"),
        (Line(("plain",), PLAIN, cells),),
    ).with_beside("longer", {"digits": LONGER}.get)
    table = table_of(shown_exhibit, store)
    assert table.columns[1:6] == ["set size, paper", "ours", "difference", "longer", "coverage %"]
    assert table.cells[0][1:6] == ["1.75", "2.00 ± 0.250", "+0.25", "1.50", "90.00"]
    assert runs([shown_exhibit]) == [PLAIN, LONGER]
    assert {run.trials for run in runs([shown_exhibit.with_trials(1)])} == {1}


def test_every_run_is_needed_once_and_the_one_compared_with_first():
    lines = [Line((), LONGER, (), PLAIN), Line((), PLAIN, ()), Line((), LONGER, ())]
    assert runs([exhibit(*lines), exhibit(*lines)]) == [PLAIN, LONGER]


def test_fewer_trials_and_one_dataset():
    shown_exhibit = exhibit(Line((), LONGER, (), PLAIN))
    assert [run.trials for run in runs([shown_exhibit.with_trials(1)])] == [1, 1]
    assert shown_exhibit.with_trials(None) == shown_exhibit
    assert shown_exhibit.of("digits") == shown_exhibit
    assert shown_exhibit.of("mnist").lines == ()


def test_what_is_missing_is_run_and_a_page_made_of_it(workspace, tmp_path):
    shown_exhibit = exhibit(Line(("plain",), PLAIN, (thr(1.5),)))
    run_all(runs([shown_exhibit]), workspace)
    assert workspace.store.get(PLAIN) is not None
    write([shown_exhibit], workspace.store, tmp_path / "page.md")
    page, same = (tmp_path / "page.md").read_text(), (tmp_path / "page.html").read_text()
    assert f"[{PLAIN.name[:8]}](../results/records/digits/small-{PLAIN.name}.json)" in page
    assert f"<td>{PLAIN.name}</td>" in same
    assert "http" not in same.replace("http://www.w3.org/2000/svg", "")


def test_elsewhere_the_trials_of_a_dataset_are_trained_at_once_and_give_the_same(tmp_path):
    shown_exhibit = exhibit(Line(("plain",), PLAIN, (thr(1.5),)))
    records = []
    for name, executor in {"here": Here(), "there": Here(here=False)}.items():
        shop = Workspace(Store(tmp_path / name), tmp_path / name / "runs")
        run_all(runs([shown_exhibit]), shop, executor)
        records.append(shop.store.get(PLAIN)["results"])
    assert records[0] == records[1]


@pytest.mark.parametrize("text", ["<script>", "a & b"])
def test_text_is_escaped_in_the_page(workspace, tmp_path, text):
    write([exhibit(Line((text,), PLAIN, (thr(None),)))], workspace.store, tmp_path / "page.md")
    assert f"<td>{text}</td>" not in (tmp_path / "page.html").read_text()
