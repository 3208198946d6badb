"""The house: imports point one way, the base is light, the public names are all there."""

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

import conftr

SOURCE = Path(conftr.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "design.md"
# Reading order: a room may import only from those above it, a file of these rooms only from the
# files above it.
ROOMS = [
    "conformal",
    "machine",
    "training",
    "search",
    "data",
    "features",
    "members",
    "classifier",
    "exporting",
    "report",
    "monitoring",
    "jobs",
    "experiments",
    "paper",
    "cli",
]
FILES = {
    "conformal": [
        "arrays",
        "values",
        "shown_names",
        "checks",
        "sorting",
        "quantile",
        "masses",
        "scores",
        "batch",
        "stateful",
        "direct",
        "sets",
        "p_values",
        "weighted",
        "cross",
        "martingale",
        "losses",
        "shaping",
        "objectives",
        "metrics",
        "trials",
    ],
    "conformal/later": [
        "focal",
        "label_smoothing",
        "rwce",
        "dpsm",
        "information",
        "fano",
        "model_fano",
        "dpi",
        "uncertainty_aware",
        "cact",
        "confts",
    ],
    "training": [
        "compilation",
        "models",
        "resnets",
        "words",
        "heads",
        "augmentation",
        "autoaugment",
        "optimisers",
        "programs",
        "epochs",
        "checkpoints",
        "runs",
        "fitting",
    ],
    "machine": [
        "cores",
        "threads",
        "disk",
        "rows_on_disk",
        "digests",
        "versions",
        "table",
        "progress",
        "names",
        "plain_data",
        "cluster",
    ],
    "search": [
        "text",
        "methods",
        "space",
        "settings",
        "grids",
        "held_out",
        "attempts",
        "measurements",
        "sweeps",
        "stages",
        "cost",
        "tuning",
    ],
    "experiments": [
        "specification",
        "store",
        "pooling",
        "defaults",
        "statistics",
        "runner",
        "cluster_trials",
        "comparison",
        "comparison_table",
        "sweeping",
        "user_file",
        "ensembles",
        "averages",
    ],
}
HEAVY = ["jax", "torch", "sklearn", "altair", "scipy", "polars", "equinox", "typer"]
PUBLIC = {
    "Avoid",
    "Bel",
    "CaCT",
    "CalibrationWarning",
    "ConfTr",
    "ConformalClassifier",
    "CoverTr",
    "CrossEntropy",
    "DPI",
    "DPSM",
    "Fano",
    "Focal",
    "Kernel",
    "LabelSmoothing",
    "ModelFano",
    "Nearest",
    "OrderStatistic",
    "RWCE",
    "Separate",
    "Shape",
    "SmoothSort",
    "UncertaintyAware",
    "accuracy",
    "aps",
    "calibrate",
    "class_coverage",
    "class_inefficiency",
    "class_loss",
    "confts",
    "coverage",
    "coverage_confusion",
    "coverage_law",
    "coverage_loss",
    "cross_p_values",
    "cross_predict_set",
    "cross_promise",
    "evaluate",
    "exact_position",
    "export",
    "group_coverage",
    "group_inefficiency",
    "identity",
    "inefficiency",
    "load",
    "logits_from_probs",
    "miscoverage",
    "p_values",
    "paper_position",
    "predict_set",
    "raps",
    "report",
    "save",
    "size_histogram",
    "size_loss",
    "size_stratified_coverage",
    "small_sets_scorer",
    "smooth_aps",
    "smooth_calibrate",
    "smooth_predict_set",
    "thr",
    "thr_logits",
    "thr_probs",
    "torch_member",
    "weighted_calibrate",
}


def imports_of(path):
    """Modules, and names that may be modules, as dotted text."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def inside(path, depth):
    """The rooms (depth 1) or files of rooms (depth 2) that a file imports from."""
    result = (name.split(".") for name in imports_of(path))
    return {tuple(parts[1 : depth + 1]) for parts in result if parts[0] == "conftr"}


def test_the_house_is_all_there():
    result = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert result == set(ROOMS)
    assert {p.name for p in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", [*ROOMS, "data/user_files"])
def test_the_page_on_the_house_names_every_file(room):
    table = table_of(room.partition("/")[0])
    files = {path.name for path in (SOURCE / room).glob("*.py") if "__" not in path.name}
    assert {file for file in files if f"`{file}`" not in table} == set()


@pytest.mark.parametrize("room", [room for room in FILES if "/" not in room])
def test_the_page_on_the_house_names_files_in_their_order(room):
    assert re.findall(r"`(\w+)\.py`", table_of(room)) == FILES[room]


def test_the_page_on_the_house_names_rooms_in_their_order():
    first_table = PAGE.read_text().partition("| room | what |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)/`", first_table, re.MULTILINE) == ROOMS
    tables = re.findall(r"^\| `(\w+)/` \| what \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(tables, key=ROOMS.index) == tables


def table_of(room):
    return PAGE.read_text().partition(f"| `{room}/` | what |")[2].partition("\n\n")[0]


def test_no_file_has_the_name_of_two_others():
    files = (path for path in SOURCE.rglob("*.py") if "__" not in path.name)
    counts = Counter(path.name for path in files)
    assert {name: n for name, n in counts.items() if n > 2} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_upwards(room):
    allowed = ROOMS[: ROOMS.index(room) + 1]
    for path in (SOURCE / room).rglob("*.py"):
        rooms = {parts[0] for parts in inside(path, 1) if parts}
        assert rooms & set(ROOMS) <= set(allowed), path


@pytest.mark.parametrize("room", FILES)
def test_within_a_room_imports_point_upwards(room):
    assert {p.stem for p in (SOURCE / room).glob("*.py")} == {"__init__", *FILES[room]}
    for place, name in enumerate(FILES[room]):
        depth = len(Path(room).parts)
        read = inside(SOURCE / room / f"{name}.py", depth + 1)
        result = {parts[depth] for parts in read if parts[depth:]}
        assert result & set(FILES[room]) <= set(FILES[room][:place]), name


def test_what_came_after_the_paper_stands_on_it():
    for name in FILES["conformal"]:
        read = inside(SOURCE / "conformal" / f"{name}.py", 2)
        assert ("conformal", "later") not in read, name


@pytest.mark.parametrize(
    "name", [*FILES["conformal"], *(f"later/{name}" for name in FILES["conformal/later"])]
)
def test_only_arrays_knows_the_array_libraries(name):
    result = imports_of(SOURCE / "conformal" / f"{name}.py")
    outside = {m.split(".")[0] for m in result} - {"conftr"}
    foreign = outside - set(sys.stdlib_module_names) - {"numpy"}
    assert foreign <= ({"array_api_compat", "jax", "torch"} if name == "arrays" else set())


def test_the_paper_is_for_the_verb_reproduce_alone():
    outside = [path for path in SOURCE.rglob("*.py") if "paper" not in path.parts]
    users = {path for path in outside if ("paper",) in inside(path, 1)}
    assert users == {SOURCE / "cli" / "reproduce.py"}


def test_no_two_classes_have_one_name():
    names = [name for room in ROOMS for name in classes_of(room)]
    assert [name for name in names if names.count(name) > 1] == []


def classes_of(room):
    for path in (SOURCE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield node.name


def test_the_machine_does_without_jax():
    result = {name for path in (SOURCE / "machine").glob("*.py") for name in imports_of(path)}
    assert not [name for name in result if name.split(".")[0] in ("jax", "equinox", "optax")]


def test_equinox_stays_with_the_models():
    users = {path.stem for path in SOURCE.rglob("*.py") if "equinox" in set(imports_of(path))}
    assert users <= {"models", "resnets"}


def test_the_public_names_are_there_and_documented():
    assert set(conftr.__all__) == PUBLIC
    for name in PUBLIC:
        value = getattr(conftr, name)
        assert value.__doc__, name
        if inspect.isfunction(value):
            assert [s for s in ("Args:", "Returns:") if s not in value.__doc__] == [], name
        elif is_dataclass(value) and fields(value):
            assert "Attributes:" in value.__doc__, name


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_is_light():
    result = run(
        "import sys, conftr, numpy as np\n"
        "E = conftr.aps(np.zeros((5, 3)))\n"
        "conftr.calibrate(E, np.zeros(5, int), .5)\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert result.strip() == "[]"


def test_asking_for_help_is_light():
    result = run(
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from conftr.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print([m for m in ['jax', 'torch', 'sklearn'] if m in sys.modules])"
    )
    assert result.strip() == "[]"


def test_importing_adds_little_to_numpy_and_the_array_api():
    before = "import sys, numpy, array_api_compat.numpy; before = {*sys.modules}"
    added = run(f"{before}; import conftr; print(*{{*sys.modules}} - before)").split()
    assert len([name for name in added if name.split(".")[0] != "conftr"]) < 40, added


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


@pytest.mark.slow  # a process that imports everything else
def test_without_jax_the_estimator_says_what_to_install():
    done = without(
        "jax",
        "import numpy as np, conftr\n"
        "conftr.ConformalClassifier().fit(np.eye(100), np.arange(100) % 2)\n",
    )
    assert "ImportError: Training takes jax, which is not here: pip install" in done.stderr


def test_the_version_is_that_of_the_package():
    assert conftr.__version__ == version("conftr")
