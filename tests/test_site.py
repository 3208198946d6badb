"""The documentation is a site: built without a warning, complete, and in need of nobody else."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import conftr
import processes

pytestmark = pytest.mark.slow  # builds the site and draws its pictures

ROOT = Path(__file__).parents[1]
# What a browser fetches by itself, not where a reader may go.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?([^\s\">]+)"
    r"|<link(?![^>]*rel=\"?canonical)[^>]*\shref=\"?([^\s\">]+)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=processes.PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_public_name_is_explained(site):
    listed = (site / "api" / "index.html").read_text()
    for name in conftr.__all__:
        assert re.search(rf'href="?\S+#conftr\.[\w.]*\b{name}(_of_logits)?"?>', listed), name


def test_pages_fetch_nothing_from_elsewhere(site):
    result = [
        (page, a or b)
        for page in site.rglob("*.html")
        for a, b in FETCHED.findall(page.read_text())
    ]
    assert result
    assert not [(page, address) for page, address in result if re.match(r"(?:\w+:)?//", address)]
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:|@import", style.read_text()), style


def test_files_that_pages_point_to_come_along(site):
    records = re.findall(r'href="?([^\s">]+\.json)', (site / "results" / "index.html").read_text())
    assert records
    assert all((site / "results" / record).exists() for record in records)


def test_pictures_are_drawn_by_conftr(tmp_path):
    script = ROOT / "docs" / "making" / "pictures.py"
    subprocess.run(
        [sys.executable, script, tmp_path, "idea-2", "idea-5"],
        check=True,
        timeout=processes.PATIENCE,
    )
    words = {p.stem: set(ET.parse(p).getroot().itertext()) for p in tmp_path.iterdir()}
    assert "below the threshold: 9 of 500" in words["idea-2"]  # floor(.02 * 501) - 1
    assert {"cross-entropy", "conformal training"} <= words["idea-5"]
