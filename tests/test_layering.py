"""The house: imports point one way, the base is light, the public names are all there."""

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import conftr

SOURCE = Path(conftr.__file__).parent
# Reading order: a file or folder may import only from those above it.
CORE = [
    "arrays",
    "checks",
    "sorting",
    "quantile",
    "masses",
    "scores",
    "direct",
    "sets",
    "losses",
    "shaping",
    "objectives",
    "metrics",
    "trials",
]
TRAINING = [
    "machine",
    "threads",
    "models",
    "optimisers",
    "epochs",
    "checkpoints",
    "runs",
    "training",
    "tuning",
    "cluster",
]
WORLD = [
    "data",
    "features",
    "evidence",
    "labels",
    "calibration",
    "outside",
    "learning",
    "estimator",
    "packing",
    "artefact",
    "report",
    "jobs",
    "experiments",
    "cli",
]
HOUSE = [*CORE, *TRAINING, *WORLD]
HEAVY = ["jax", "torch", "sklearn", "altair", "scipy", "polars", "equinox", "typer"]
PUBLIC = {
    "Avoid",
    "Bel",
    "CalibrationWarning",
    "ConfTr",
    "ConformalClassifier",
    "CoverTr",
    "CrossEntropy",
    "Kernel",
    "Nearest",
    "OrderStatistic",
    "Separate",
    "Shape",
    "SmoothSort",
    "accuracy",
    "aps",
    "calibrate",
    "class_coverage",
    "class_inefficiency",
    "class_loss",
    "coverage",
    "coverage_confusion",
    "coverage_law",
    "coverage_loss",
    "evaluate",
    "exact_position",
    "group_coverage",
    "group_inefficiency",
    "identity",
    "inefficiency",
    "load",
    "miscoverage",
    "paper_position",
    "predict",
    "raps",
    "save",
    "size_histogram",
    "size_loss",
    "size_stratified_coverage",
    "smooth_aps",
    "smooth_calibrate",
    "smooth_predict",
    "thr",
    "thr_logits",
    "thr_probs",
}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "conftr":
                yield from (f"conftr.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def files_of(name):
    folder = SOURCE / name
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [SOURCE / f"{name}.py"]


def test_the_house_is_all_there():
    found = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert found - {"__init__", "__main__"} == set(HOUSE)


@pytest.mark.parametrize("name", HOUSE)
def test_imports_point_upwards(name):
    allowed = {"conftr", *HOUSE[: HOUSE.index(name) + 1]}
    for path in files_of(name):
        inside = [m.split(".") for m in imports_of(path) if m.split(".")[0] == "conftr"]
        rooms = {parts[1] if len(parts) > 1 else "conftr" for parts in inside}
        assert rooms & set(HOUSE) <= allowed, path


@pytest.mark.parametrize("name", CORE)
def test_only_arrays_knows_the_array_libraries(name):
    outside = {m.split(".")[0] for m in imports_of(SOURCE / f"{name}.py")} - {"conftr"}
    foreign = outside - set(sys.stdlib_module_names) - {"numpy"}
    assert foreign <= ({"array_api_compat", "jax", "torch"} if name == "arrays" else set())


def test_equinox_stays_with_the_models():
    users = {n for n in HOUSE for p in files_of(n) if "equinox" in set(imports_of(p))}
    assert users <= {"models"}


def test_the_public_names_are_there_and_documented():
    assert set(conftr.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(conftr, name).__doc__, name


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_is_light():
    found = run(
        "import sys, conftr, numpy as np\n"
        "E = conftr.aps(np.zeros((5, 3)))\n"
        "conftr.calibrate(E, np.zeros(5, int), .5)\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert found.strip() == "[]"


def test_asking_for_help_is_light():
    found = run(
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from conftr.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print([m for m in ['jax', 'torch', 'sklearn'] if m in sys.modules])"
    )
    assert found.strip() == "[]"


def test_importing_takes_less_than_half_a_second():
    # Of the processor's time, which other processes on the machine do not add to.
    code = "import time; t = time.process_time(); import conftr; print(time.process_time() - t)"
    assert min(float(run(code)) for _ in range(5)) < 0.5


def without(package, code):
    """Run code as if a package were not installed."""
    hide = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {package!r}:\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    return subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True)


def test_without_its_packages_the_program_says_what_to_install():
    program = "from conftr.__main__ import main\nsys.argv = ['conftr', 'fit']\nmain()"
    done = without("typer", program)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "The command line needs a package that is not here (typer). "
        "Install them all: pip install 'conftr[cli]'"
    )
    done = without("typer", program.replace("fit", "--version"))
    assert done.stdout.strip() == f"conftr {conftr.__version__}"


def test_without_jax_the_estimator_says_what_to_install():
    done = without(
        "jax",
        "import numpy as np, conftr\n"
        "conftr.ConformalClassifier().fit(np.eye(100), np.arange(100) % 2)\n",
    )
    assert "ImportError: Training takes jax, which is not here: pip install" in done.stderr


def test_the_version_is_that_of_the_package():
    assert conftr.__version__ == version("conftr")
