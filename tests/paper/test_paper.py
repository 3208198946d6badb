"""The paper as data: every run can be made, published numbers are the paper's, the page is true."""

from pathlib import Path

import pytest

from conftr.experiments import Store
from conftr.machine.plain_data import build, describe, digest
from conftr.paper import EXHIBITS
from conftr.paper.exhibits import our_number, runs
from conftr.paper.figures import figures
from conftr.paper.reproduction import choose, progress
from conftr.paper.results_page import as_markdown

ROOT = Path(__file__).parents[2]
ALL = list(EXHIBITS.values())
# Where our sets do not shrink, which the page says.
PARTED = {("F-MNIST", "7", "10"), ("F-MNIST", "9", "10")}


def published(key, *labels):
    (line,) = [
        candidate_line for candidate_line in EXHIBITS[key].lines if candidate_line.labels == labels
    ]
    return [cell.published for cell in line.cells]


def test_published_numbers_as_printed():
    assert published("table1", "F-MNIST", "ConfTr + L_class", "THR")[0] == 1.67
    assert published("table1", "EMNIST (test split)", "Bel", "THR")[0] == 3.48
    assert published("ablation", "temperature", "0.01") == [2.39, 88.54]
    assert published("miscoverage", "MNIST", "even / odd", "L[K1, K0] = 1") == [2.09, 44.3, 26.08]
    assert published("trials", "training trials", "ConfTr")[3:] == [2.18, 0.025]
    ensemble = "CIFAR10", "ensemble, MLP", "ConfTr", "THR", "0.01"
    assert published("cifar", *ensemble) == [2.35, 85.88]
    apart = "CIFAR100", "human-made / natural", "L[K0, K1] = 1"
    assert published("miscoverage", *apart) == [16.5, 15.77, 70.26]


@pytest.mark.parametrize("key", EXHIBITS)
def test_every_line_has_its_labels_and_cells(key):
    exhibit = EXHIBITS[key]
    for line in exhibit.lines:
        assert len(line.labels) == len(exhibit.headings)
        assert len(line.cells) == len(exhibit.columns)
        for cell in line.cells:
            assert cell.alpha in line.run.evaluation.alphas
            assert cell.score in [name for name, _ in line.run.evaluation.scores]


def test_every_run_can_be_made_and_has_a_name_of_its_own():
    needed = runs(ALL)
    for specification in needed:
        assert callable(build(specification.training.objective))
        build(specification.training.plan)
    assert len({specification.name for specification in needed}) == len(needed)


def test_values_are_written_as_the_stored_results_have_them():
    """What a program makes of these data is described as the same data."""
    for exhibit in runs(ALL):
        for part in (exhibit.training.objective, exhibit.training.plan):
            assert digest(describe(build(part))) == digest(part)


def test_a_shaped_run_differs_from_the_plain_one_in_its_wish_alone():
    for key in ("sizes", "confusion", "wine"):
        for line in EXHIBITS[key].lines:
            plain, shaped = (
                build(specification.training.objective)
                for specification in (line.against, line.run)
            )
            changed = {
                name
                for name in vars(plain)
                if str(getattr(plain, name)) != str(getattr(shaped, name))
            }
            assert changed in ({"class_weights"}, {"loss_matrix"}), line.labels
            assert line.against.training.plan == line.run.training.plan


def test_exhibits_are_chosen_by_name_and_dataset():
    (exhibit,) = choose(["table1"], "mnist", 2)
    assert {run.training.dataset for run in runs([exhibit])} == {"mnist"}
    assert {run.trials for run in runs([exhibit])} == {2}
    assert len(choose([], None, None)) == len(EXHIBITS)
    with pytest.raises(ValueError, match="there is no 'table9'; choose among table1"):
        choose(["table9"], None, None)
    with pytest.raises(ValueError, match="nothing there is on 'letters'; the datasets are mnist"):
        choose([], "letters", None)


def test_progress_counts_runs(tmp_path):
    (line,) = progress([EXHIBITS["table2"]], Store(tmp_path))
    assert line.startswith("table2             0 of   3 runs")


def test_the_results_page_is_made_from_the_results():
    """conftr reproduce --stored --page docs/results.md makes it anew."""
    store = Store(ROOT / "results")
    drawn = {exhibit.key: figures(exhibit, store) for exhibit in ALL}
    assert (ROOT / "docs/results.md").read_text() == as_markdown(ALL, store, drawn)
    for name in (name for charts in drawn.values() for name in charts):
        assert (ROOT / "docs/figures" / f"{name}.svg").exists()


def test_conformal_training_is_within_the_papers_numbers():
    """What the results page must show: Table 1 with THR, and coverage everywhere."""
    store = Store(ROOT / "results")
    for line in EXHIBITS["table1"].lines:
        data, method, score = line.labels
        record = store.get(line.run)
        if record is None or not data.endswith("MNIST") or data.startswith("E"):
            continue
        size, coverage = (our_number(cell, record).mean for cell in line.cells)
        assert abs(coverage - 99) < 0.3, line.labels
        if score == "THR" and method.startswith("ConfTr"):
            assert abs(size - line.cells[0].published) < 0.08, line.labels


def change(line, cell, store):
    before, after = (our_number(cell, store.get(run)).mean for run in (line.against, line.run))
    return after / before - 1


def test_wishes_do_what_the_paper_reports():
    """Fewer confusions and smaller sets where that was asked for, on what has been run."""
    store = Store(ROOT / "results")
    heavier = [line for line in EXHIBITS["confusion"].lines if float(line.labels[2]) >= 0.5]
    for line in (*heavier, *EXHIBITS["sizes"].lines):
        if all(map(store.get, line.runs())) and line.labels not in PARTED:
            assert change(line, line.cells[0], store) < 0, line.labels
    lines = EXHIBITS["miscoverage"].lines
    for same, out, back in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        for heavier, cell in ((out, 1), (back, 2)):
            before, after = (
                our_number(line.cells[cell], store.get(line.run)).mean for line in (same, heavier)
            )
            assert after < before - 2, heavier.labels
