"""Tables from records written by hand."""

import csv
import io

import pytest

from conftr.experiments import comparison_table as tables
from conftr.machine.table import markdown


def record(method, sizes, *, failed=0, settings="paper", alphas=(0.01,)):
    """Mean set sizes by (score, alpha)."""
    return {
        "name": f"name of {method}",
        "specification": {
            "method": method,
            "trials": 3,
            "training": {"dataset": "digits"},
            "evaluation": {"splits": 10, "alphas": list(alphas)},
        },
        "failed": failed,
        "settings": settings,
        "results": [
            {
                "score": score,
                "alpha": alpha,
                "inefficiency": {"mean": mean, "std_trials": 0.05, "std_splits": 0.1},
                "coverage": {"mean": 0.9912},
                "accuracy": {"mean": 0.875},
                "consistent": 1.0,
            }
            for (score, alpha), mean in sizes.items()
        ],
    }


BASELINE = record(
    "baseline", {("THR", 0.01): 2.0, ("APS", 0.01): 4.0, ("THR", 0.1): 1.0}, alphas=(0.01, 0.1)
)
OTHER = record(
    "bel", {("THR", 0.01): 1.5, ("APS", 0.01): 5.0, ("THR", 0.1): 1.0}, alphas=(0.01, 0.1)
)


def test_rows_by_hand():
    rows = tables.rows([BASELINE, OTHER])
    assert len(rows) == 6
    assert [row["change"] for row in rows] == [0, 0, 0, -0.25, 0.25, 0]
    assert (rows[3]["method"], rows[3]["score"], rows[3]["alpha"]) == ("bel", "THR", 0.01)
    assert rows[3]["record"] == "name of bel"


def test_without_cross_entropy_there_is_no_change():
    assert {row["change"] for row in tables.rows([OTHER])} == {None}
    (table, _) = tables.tables([OTHER])
    assert table.cells[0][3] == "1.500 ± 0.050"
    assert table.title.endswith("± deviation over trials")
    (table, _) = tables.tables([BASELINE, OTHER])
    assert table.title.endswith("± deviation over trials; change to cross-entropy")


def test_a_table_for_each_alpha_by_hand():
    first, second = tables.tables([BASELINE, OTHER])
    assert "digits, alpha 0.01" in first.title
    assert "3 training trials x 10 splits" in first.title
    assert first.columns == ["method", "accuracy %", "coverage %", "THR size", "APS size"]
    assert first.cells == [
        ["cross-entropy", "87.50", "99.12", "2.000 ± 0.050", "4.000 ± 0.050"],
        ["bel", "87.50", "99.12", "1.500 ± 0.050\n-25.0 %", "5.000 ± 0.050\n+25.0 %"],
    ]
    assert "alpha 0.1" in second.title
    assert second.columns[3:] == ["THR size"]


def test_one_trial_has_no_deviation():
    lone = record("bel", {("THR", 0.01): 1.5})
    lone["results"][0]["inefficiency"]["std_trials"] = None
    assert tables.tables([lone])[0].cells[0][3] == "1.500"


def test_failures_and_defaults_are_said():
    failed = record("bel", {("THR", 0.01): 1.5}, failed=2)
    lost = record("conftr", {}, failed=3, settings="defaults")
    (table,) = tables.tables([failed, lost])
    assert table.cells[1] == ["conftr", "failed", "failed", "failed"]
    assert table.remarks == [
        "bel: 2 of 3 trials failed and are left out.",
        "conftr: 3 of 3 trials failed and are left out.",
        "conftr: its settings are defaults, not searched.",
    ]


def test_a_comparison_in_which_every_trial_failed_still_has_a_table():
    (table,) = tables.tables([record("conftr", {}, failed=3)])
    assert table.cells == [["conftr", "failed", "failed"]]


def test_markdown():
    text = markdown(tables.tables([BASELINE, OTHER])[0])
    assert "| bel | 87.50 | 99.12 | 1.500 ± 0.050, -25.0 % | 5.000 ± 0.050, +25.0 % |" in text


def test_csv_holds_the_rows():
    result = list(csv.DictReader(io.StringIO(tables.as_csv([BASELINE, OTHER]))))
    assert len(result) == 6
    assert float(result[3]["change"]) == pytest.approx(-0.25)
