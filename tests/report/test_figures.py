"""Figures as files, and the page beside them."""

from xml.etree import ElementTree

import numpy as np
import pytest
import showcase
from PIL import Image

import conftr
from conftr.conformal.shown_names import apart
from conftr.report import write
from conftr.report.figures import NAMES, figures, unwanted_shares


def rows_of(chart):
    """The rows of data of a chart, those of its layers and parts together."""
    described = chart.to_dict()
    return [row for rows in described["datasets"].values() for row in rows]


def test_a_report_is_a_page_and_its_figures(tmp_path):
    evidence = showcase.wished()
    path = write(evidence, tmp_path / "deep" / "folder")
    assert path == tmp_path / "deep" / "folder" / "report.html"
    files = {file.name for file in (path.parent / "figures").iterdir()}
    assert files == {f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")}
    with Image.open(path.parent / "figures" / "trade_off.png") as picture:
        assert picture.width > 2 * 460
    assert "promised coverage" in (path.parent / "figures" / "trade_off.svg").read_text()


def test_figures_of_an_earlier_report_do_not_stay(tmp_path):
    stale = tmp_path / "figures" / "wishes.png"
    stale.parent.mkdir()
    stale.write_bytes(b"old")
    picture = tmp_path / "figures" / "mine.png"
    picture.write_bytes(b"the user's")
    write(showcase.two(), tmp_path)
    assert not stale.exists()
    assert picture.exists()


def test_names_that_cannot_be_printed_are_drawn_escaped_cut_and_apart(tmp_path):
    write(showcase.unprintable(), tmp_path)
    files = {file.name: file for file in (tmp_path / "figures").iterdir()}
    assert set(files) == {f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")}
    for name in NAMES:
        with Image.open(files[f"{name}.png"]) as picture:
            assert picture.width < 2500
    drawn = ElementTree.parse(files["classes.svg"])
    texts = {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert set(apart(showcase.UNPRINTABLE, 32)) <= texts


@pytest.mark.parametrize(
    ("evidence", "names"),
    [
        (showcase.wine(), {"trade_off", "coverage", "set_sizes", "classes", "confusion"}),
        (showcase.digits("class"), {"trade_off", "coverage", "set_sizes", "classes", "confusion"}),
        (showcase.many(40, 500), {"trade_off", "coverage", "set_sizes", "classes"}),
        (showcase.nasty(), set(NAMES)),
    ],
    ids=["wine", "class", "many", "nasty"],
)
def test_figures_that_would_be_empty_are_left_out(evidence, names):
    assert set(figures(evidence)) == names


def test_figures_show_the_metrics():
    evidence = showcase.wished()
    sets, labels, drawn = evidence.sets(), evidence.labels, figures(evidence)
    histogram = conftr.size_histogram(sets)
    shown = rows_of(drawn["set_sizes"])
    for size in range(11):
        assert sum(row["sets"] for row in shown if row["size"] == str(size)) == histogram[size]
    coverages = {
        row["class"]: row["coverage"] for row in rows_of(drawn["classes"]) if "class" in row
    }
    np.testing.assert_array_equal(
        [coverages[name] for name in evidence.classes], conftr.class_coverage(sets, labels)
    )
    diagonal = [r["share"] for r in rows_of(drawn["confusion"]) if r["truth"] == r["other"]]
    np.testing.assert_allclose(diagonal, conftr.class_coverage(sets, labels))


def test_unwanted_shares_are_miscoverage():
    evidence = showcase.wished()
    shown = unwanted_shares(evidence, 1)
    assert shown[4] == conftr.miscoverage(evidence.sets(1), evidence.labels, [4], [9])
    assert shown[9] == conftr.miscoverage(evidence.sets(1), evidence.labels, [9], [4])
    assert np.isnan(shown[[0, 1, 2, 3, 5, 6, 7, 8]]).all()
