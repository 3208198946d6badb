"""Every Python block of the documents runs, in order, and the examples do what they say."""

import os
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from pydoc import locate

import pytest
from typer.main import get_command

import processes
from conftr.cli import app
from conftr.features import frozen_pictures
from printed import agree

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "docs" / "making"))
import stories  # noqa: E402

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
# A block of Python, and after it what the page says it prints.
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n+^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


SLOW = {"animals.md"}  # a frozen network reads 900 pictures
WITH_PYTHON = [
    pytest.param(page, marks=[pytest.mark.slow] * (page.name in SLOW), id=page.name)
    for page in PAGES
    if BLOCK.search(page.read_text())
]

# TorchCP imports all of its parts at once. What its graphs and language models, and one loss that
# no page mentions, want for that is gigabytes; no block calls into it.
WITHOUT = """
import sys, types, warnings
for names in (
    "torchsort soft_rank soft_sort",
    "transformers set_seed StoppingCriteria StoppingCriteriaList",
    "torch_geometric nn loader utils",
    "torch_geometric.nn GCNConv",
    "torch_geometric.loader NeighborLoader",
    "torch_geometric.utils.convert to_networkx",
):
    module, *imported = names.split()
    sys.modules[module] = types.ModuleType(module)
    vars(sys.modules[module]).update({name: type(name, (), {}) for name in imported})
warnings.filterwarnings("ignore", "The 'temperature' parameter is deprecated")
# What is compiled when it is first imported warns of texts in TorchCP.
warnings.filterwarnings("ignore", "invalid escape sequence")
"""


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_python_blocks_run_and_print_what_is_shown(page, tmp_path):
    blocks = BLOCK.findall(page.read_text())
    script = tmp_path / "document.py"
    pieces = [f"{code}\nprint(end='\\f')\n" for code, _ in blocks]
    if page.name == "texts.md" and not _has_messages():
        pytest.skip("the messages of BANKING77 are not in the folder CONFTR_DATA")
    if page.name == "animals.md" and not _has_photographs():
        pytest.skip("CIFAR-10 is not in the folder CONFTR_DATA, or conftr[images] is not here")
    if page.name == "peers.md":
        pytest.importorskip("mapie", reason="MAPIE's code is run where MAPIE is")
        if not find_spec("torchcp"):
            pytest.skip("TorchCP's code is run where TorchCP is")
        pieces.insert(0, WITHOUT)
    script.write_text("".join(pieces))
    done = processes.run(script, cwd=tmp_path)
    assert done.code == 0, done.stderr
    for (_, shown), printed in zip(blocks, done.stdout.split("\f"), strict=False):
        assert not shown or agree(shown, printed), printed


def _has_messages():
    folder = os.environ.get("CONFTR_DATA")
    here = find_spec("wordllama") and find_spec("tokenizers")
    return bool(folder and here and Path(folder, "banking77", "train.csv").exists())


def _has_photographs():
    folder = os.environ.get("CONFTR_DATA")
    return bool(folder and Path(folder, "cifar10").is_dir() and frozen_pictures.are_readable())


def test_no_python_is_only_shown():
    for page in PAGES:
        kinds = re.findall(r"^ *```(\w+)", page.read_text(), re.MULTILINE)
        assert set(kinds) <= {"python", "text", "console", "toml", "math"}, page.name


def test_the_demo_keeps_its_promise(tmp_path):
    done = processes.run(processes.CONFTR, "demo", "--out", tmp_path / "demo", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "which agrees with the promise." in " ".join(done.stdout.split())  # lines may fold
    assert f"Open {tmp_path / 'demo' / 'report.html'} in a browser" in done.stdout
    assert (tmp_path / "demo" / "report.html").exists()


def commands_of(page):
    """The commands of a page: lines of its blocks that begin with `conftr`, behind a $ or not."""
    fences = re.findall(r"^```(?:console)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = [line for fence in fences for line in fence.replace("\\\n", "").splitlines()]
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?conftr [a-z]", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_such_as_the_program_takes(page):
    for line in commands_of(page.read_text()):
        command, context = get_command(app), None
        words = shlex.split(line, comments=True)
        while hasattr(command, "resolve_command"):
            context = command.make_context(words[0], words[1:2], parent=context)
            name, command, words = command.resolve_command(context, words[1:])
            words = [name, *words]
        command.make_context(words[0], words[1:], parent=context)


@pytest.mark.slow  # runs a whole story
def test_commands_print_what_is_shown(tmp_path):
    """Of the one story that trains nothing, and so ends nearly the same everywhere."""
    page = (ROOT / "docs" / "own-data.md").read_text()
    shown = dict(stories.sections(page))["Probabilities of another system"]
    retold = stories.retold(shown, tmp_path)
    assert agree(shown, retold), retold


def test_the_readme_says_what_was_measured():
    page = (ROOT / "docs" / "own-data.md").read_text()
    row = re.search(r"^\| clothes, alpha 0.05 \|.*$", page, re.MULTILINE)[0]
    cells = row.split("|")[3:6]
    mixed, _, sizes = ([number.strip() for number in re.split("[,;]", cell)] for cell in cells)
    readme = " ".join((ROOT / "README.md").read_text().split())
    # Of each of two seeds without the wish and with it.
    shares = [share.removesuffix(" %") for share in mixed]
    from_, to = f"{shares[0]} and {shares[2]} %", f"{shares[1]} and {shares[3]} %"
    assert f"from {from_} to {to} (two seeds)" in readme
    plain, *wished = (f"{float(sizes[i]):.2f}" for i in (0, 1, 3))
    assert f"{float(sizes[2]):.2f}" == plain
    assert f"the mean set from {plain} to {' and '.join(wished)} classes" in readme


# A module of the reference, and the names of it that the page explains, if not all.
EXPLAINED = re.compile(
    r"^::: (\S+)\n(?: +options:\n +members:([\s\S]*?)\n(?=\n|\Z))?", re.MULTILINE
)


def test_names_in_the_documents_are_those_of_the_code():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/api/*.md")]:
        names = {*re.findall(r"`(conftr(?:\.\w+)+)", page.read_text())} - {"conftr.name"}
        for module, members in EXPLAINED.findall(page.read_text()):
            names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", members))}
        assert {name for name in names if locate(name) is None} == set(), page.name


def test_links_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(((?!http)[^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{target} in {page.name}"
