"""The programs of docs/serving.md, run where what they need is installed."""

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "serving.md").read_text()
pytestmark = pytest.mark.skipif(
    not find_spec("onnxruntime"), reason="files are made and compared with onnxruntime"
)


def block(heading):
    """The program below a heading of the page."""
    return re.search(rf"^## {heading}\n.*?^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the file of the page, and its sets of two rows."""
    folder = tmp_path_factory.mktemp("serving")
    first = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    script = (
        'asked = pd.DataFrame({"length": [1.2, 3.1], "weight": [np.nan, -2.0], '
        '"site": ["river", None]})\n'
        "import json\n"
        'json.dump(clf.predict_labels(asked), open("expected.json", "w"))\n'
    )
    (folder / "make.py").write_text(first + script)
    subprocess.run([sys.executable, "make.py"], cwd=folder, check=True)
    return folder


def expected(place):
    return [
        sorted(names_in_set) for names_in_set in json.loads((place / "expected.json").read_text())
    ]


def node_has(package):
    program = shutil.which("node")
    code = f"require.resolve({package!r})"
    return program and subprocess.run([program, "-e", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("known", [["1", "2"], ["1.0", "2.0"]])
def test_cells_of_pandas_are_spelled_as_the_file_knows_them(known):
    names = {}
    exec(re.search(r"^def spelled.*?^$", PAGE, re.MULTILINE | re.DOTALL)[0], names)
    numbers = pd.Series([1.0, None, 2.0, 3.0])
    for cells in (numbers, numbers.astype("category"), numbers.astype("Int64")):
        texts = names["spelled"](cells, known)
        assert texts[:3] == [known[0], "", known[1]]
        assert texts[3] not in known
    assert names["spelled"](pd.Series([" 1 ", "2"]), known) == known


@pytest.mark.slow  # starts Node.js and loads a runtime there
@pytest.mark.parametrize("package", ["onnxruntime-node", "onnxruntime-web"])
def test_node(place, package):
    if not node_has(package):
        pytest.skip(f"needs node and its package {package}")
    (place / "fish.js").write_text(
        block("Node and the browser").replace("onnxruntime-node", package)
    )
    done = subprocess.run(
        ["node", "fish.js", "fish.onnx"], cwd=place, capture_output=True, text=True, check=True
    )
    assert [line.split() for line in done.stdout.splitlines()] == expected(place)


def test_fastapi(place, monkeypatch):
    pytest.importorskip("fastapi", reason="needs FastAPI")
    monkeypatch.chdir(place)
    names = {}
    exec(block("FastAPI"), names)
    assert "/sets" in {route.path for route in names["app"].routes}
    rows = [{"length": 1.2, "site": "river"}, {"length": 3.1, "weight": -2.0}]
    assert [sorted(row_set) for row_set in names["sets"](rows)] == expected(place)


@pytest.mark.slow  # imports MLflow, which asks a process of its own what the model needs
@pytest.mark.filterwarnings("ignore")  # of its own, about type hints
def test_mlflow(place, monkeypatch):
    pytest.importorskip("mlflow", reason="needs MLflow")
    monkeypatch.chdir(place)
    # A database takes packages that the light distribution, mlflow-skinny, comes without.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (place / "mlruns").as_uri())
    names = {
        "numbers": np.array([[1.2, np.nan], [3.1, -2.0]]),
        "categories": np.array([["river"], [""]], object),
    }
    exec(block("MLflow"), names)
    classes = ["bream", "perch", "roach"]
    result = [
        [name for name, inside in zip(classes, row, strict=True) if inside]
        for row in names["answer"]["sets"]
    ]
    assert result == expected(place)


def test_the_page_is_shown_with_the_others():
    assert "serving.md" in (Path(__file__).parents[1] / "mkdocs.yml").read_text()
