"""Every example runs as a user runs it, and its sets keep the promise as exactly as they must."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import conftr
import processes

EXAMPLES = Path(__file__).parents[1] / "examples"
# The libraries it needs, then calibration and test examples, alpha, and how many sets it prints.
EXPECTED = {
    "boosted_trees.py": (["sklearn"], 700, 597, 0.05, 3),
    "equinox_loop.py": (["equinox", "optax"], 400, 497, 0.05, 1),
    "flax_nnx.py": (["flax", "optax"], 400, 497, 0.05, 1),
    "lightning_style.py": (["torch"], 400, 497, 0.05, 1),
    "pytorch.py": (["torch"], 400, 497, 0.02, 2),
    "pytorch_last_layer.py": (["torch"], 400, 497, 0.05, 4),
    "sklearn_posthoc.py": (["sklearn"], 600, 597, 0.1, 2),
}
WARNINGS = "default" if find_spec("lightning") else "error"  # Lightning has some of its own
SAID = re.compile(r"covers ([\d.]+)%, mean size ([\d.]+)$", re.MULTILINE)
TAIL = 1e-4  # how improbable a coverage may be


def test_every_example_is_here():
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix == ".py"} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_example_runs_and_keeps_its_promise(name, tmp_path):
    needed, n_cal, n_test, alpha, count = EXPECTED[name]
    missing = [library for library in needed if find_spec(library) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    done = processes.run(EXAMPLES / name, cwd=tmp_path, warnings=WARNINGS)
    assert done.code == 0, done.stderr
    printed = SAID.findall(done.stdout)
    assert len(printed) == count, done.stdout
    law = conftr.coverage_law(n_cal, n_test, alpha)
    for covered, size in printed:
        hits = round(float(covered) / 100 * n_test)
        assert TAIL < law[hits] < 1 - TAIL, covered
        assert 1 - alpha - 0.1 < float(size) < 2  # 10 classes, and none of the models is poor
