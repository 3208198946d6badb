"""A real Ray cluster of several nodes: the same results, whoever is killed and whoever joins."""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest
from typer.testing import CliRunner

from conftr import ConformalClassifier, training
from conftr.classifier import artefact
from conftr.cli import app
from conftr.experiments import Store
from conftr.experiments.comparison import Comparison, compare
from conftr.experiments.runner import Workspace
from conftr.experiments.sweeping import run_sweeps
from conftr.jobs import predicting
from conftr.machine import cluster
from conftr.machine.cluster import HERE, Cluster, ClusterError, connect, spread
from conftr.search.settings import SettingsFile, Stage
from conftr.search.sweeps import Sweep
from processes import PATIENCE

pytestmark = [
    # Nodes are started by forking; JAX warns of that wherever it runs.
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),
    # Ray leaves the logs of its client's server open.
    pytest.mark.filterwarnings("ignore:unclosed file .*ray_client_server:ResourceWarning"),
]

# Nodes take ten seconds to start, and each of their workers imports JAX anew.
on_nodes = pytest.mark.slow

NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}
SWEEP = Sweep(
    "digits",
    "cross-entropy",
    {"batch_size": (400,), "learning_rate": (0.1, 0.05, 0.02, 0.01), "weight_decay": (0, 5e-4)},
    {"model": "linear", "epochs": 50},
    (Stage(0.04, 1, 3), Stage(0.04, 2, 1)),
)


@pytest.fixture(scope="module")
def client_port():
    """Where the cluster is to take clients."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="module")
def surroundings():
    """A worker that is killed while it writes a compiled program leaves half of it behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
        # Ray forks what serves a client; with gRPC's handlers of forks that dies now and then.
        patch.setenv("GRPC_ENABLE_FORK_SUPPORT", "0")
        yield


@pytest.fixture(scope="module")
def nodes(surroundings, client_port):
    """A cluster of two nodes, on which this process is connected."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    # Workers that Ray starts before there is a task have not the environment of ours.
    head = NODE | {
        "include_dashboard": False,
        "ray_client_server_port": client_port,
        "_system_config": {"prestart_worker_first_driver": False, "enable_worker_prestart": False},
    }
    result = Nodes(initialize_head=True, head_node_args=head)
    try:
        result.add_node(**NODE)
        with connect(result.address):
            yield result
        assert not ray.is_initialized()
    finally:
        result.shutdown()


@pytest.fixture
def machines(nodes):
    return Cluster(most=1)


def shop(place):
    return Workspace(Store(place / "results"), place / "runs")


def stored(place):
    """All that was measured and recorded, but for times."""
    files = [*(place / "results").rglob("*.json"), *(place / "runs").rglob("*.json")]
    content = {str(file.relative_to(place)): json.loads(file.read_text()) for file in files}
    return {name: {k: v for k, v in item.items() if k != "made"} for name, item in content.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the sweep gives in this process."""
    place = tmp_path_factory.mktemp("here")
    run_sweeps([SWEEP], shop(place))
    return stored(place)


def busy_workers(nodes):
    """The processes that are doing a task."""
    raylets = [node.all_processes["raylet"][0].process.pid for node in nodes.list_all_nodes()]
    children = [child for raylet in raylets for child in psutil.Process(raylet).children()]
    return [child for child in children if is_busy(child)]


def is_busy(process):
    with suppress(psutil.Error):
        return "ray::_perform" in " ".join(process.cmdline())
    return False


@contextmanager
def killing(nodes, count):
    """Kill so many workers, the first as soon as it has a task, others at random moments of one."""
    killed, over, chance = [], threading.Event(), random.Random(7)

    def kill():
        while not over.wait(0.02) and len(killed) < count:
            for worker in busy_workers(nodes)[:1]:
                over.wait(chance.uniform(0, 1.5) if killed else 0)
                if is_busy(worker):
                    worker.kill()
                    killed.append(worker.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join(PATIENCE)


def test_where_there_is_no_cluster_it_says_how_to_start_one():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            with (
                pytest.raises(ClusterError, match=r"There is no Ray cluster at .*ray start --head"),
                connect(address),
            ):
                pass


@pytest.mark.parametrize(("aborted", "reached"), [(0, True), (2, True), (3, False)])
def test_a_connection_that_is_aborted_is_made_again(aborted, reached):
    attempts = iter([ConnectionAbortedError("Starting Ray client server failed.")] * aborted)

    class Ray:
        connected = False

        def init(self, *_, **__):
            for fault in attempts:
                raise fault
            self.connected = True

    ray = Ray()
    with nullcontext() if reached else pytest.raises(ClusterError, match="client server failed"):
        cluster._connect(ray, "auto")
    assert ray.connected == reached


@pytest.fixture(scope="module")
def asked_about(tmp_path_factory):
    """A saved model, and a file of rows to answer."""
    place, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3)).round(3), rng.integers(0, 3, 400)
    table = pl.DataFrame(x + np.eye(3)[y], schema=list("abc")).with_columns(kind=pl.Series(y))
    fitted = ConformalClassifier(method="cross-entropy", model=(), epochs=1, random_state=0)
    artefact.save(fitted.fit(table.drop("kind"), y), place / "model")
    table.write_csv(place / "rows.csv")
    return place


@on_nodes
def test_sets_are_the_same_here_and_there_and_whoever_is_killed(
    nodes, asked_about, tmp_path, monkeypatch
):
    # First of all: the first task of a fresh worker takes it long enough to be killed.
    monkeypatch.chdir(tmp_path)
    command = ["predict", *(str(asked_about / name) for name in ("model", "rows.csv"))]
    command += ["--target", "kind"]
    here = CliRunner().invoke(app, [*command, "--out", "here.csv"])
    monkeypatch.setattr(predicting, "CELLS", 90)  # of a block: 13 of them
    with killing(nodes, 1) as killed:
        done = CliRunner().invoke(app, [*command, "--out", "there.csv", "--ray", nodes.address])
    assert done.exit_code == 0, done.stderr
    assert killed
    assert done.stderr.endswith(here.stderr)  # after what Ray says of the worker
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    printed = CliRunner().invoke(app, [*command, "--ray", nodes.address]).stdout
    assert printed == (tmp_path / "here.csv").read_text()


@on_nodes
def test_whoever_is_killed_standard_output_is_json(nodes, asked_about, tmp_path):
    """Ray tells of repeated deaths as it disconnects."""
    command = [sys.executable, "-m", "conftr", "predict", asked_about / "model"]
    command += [asked_about / "rows.csv", "--target", "kind", "--out", tmp_path / "sets.csv"]
    with killing(nodes, 2) as killed:
        done = subprocess.run(
            [*command, "--json", "--ray", nodes.address],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
    assert len(killed) == 2
    assert json.loads(done.stdout)["rows"] == 400
    assert "Task _perform failed" in done.stderr


@on_nodes
def test_results_come_as_they_are_ready_and_can_be_put_in_order(machines, tmp_path):
    def task(i):
        begun = time.monotonic()
        while i == 0 and not (tmp_path / "go").exists() and time.monotonic() < begun + PATIENCE:
            time.sleep(0.05)
        return i * i

    drawn = []
    results = machines.run(task, (drawn.append(i) or i for i in range(9)))
    first = next(results)
    (tmp_path / "go").touch()
    assert first[0] != 0
    assert len(drawn) <= 2 * machines.cores() + 1
    result = dict([first, *results])
    assert result == {i: i * i for i in range(9)}


@on_nodes
def test_blocks_are_spread_and_come_back_in_order(machines):
    def task(i):
        time.sleep(0.1 * (i % 3 == 0))
        return i * i

    expected = [(i, i * i) for i in range(9)]
    assert list(spread(task, range(9), machines)) == expected
    assert list(spread(task, range(9))) == expected


@on_nodes
def test_no_block_is_drawn_far_ahead_of_the_first_that_is_not_done(machines, tmp_path):
    go = tmp_path / "go"

    def task(i):
        begun = time.monotonic()
        while i == 0 and not go.exists() and time.monotonic() < begun + PATIENCE:
            time.sleep(0.02)

    drawn, done = [], set()
    for number, _ in machines.run(
        task, (drawn.append(go.exists()) or i for i in range(6)), ahead=3
    ):
        done.add(number)
        if done == {1, 2}:
            go.touch()
    assert done == set(range(6))
    assert drawn == [False] * 3 + [True] * 3


def test_blocks_are_drawn_as_they_are_needed():
    drawn = []
    pairs = spread(abs, (drawn.append(i) or -i for i in range(9)))
    assert [next(pairs), next(pairs)] == [(0, 0), (-1, 1)]
    assert drawn == [0, 1]


@on_nodes
def test_what_a_task_encloses_is_sent_once_and_arrives_whole(machines):
    large = np.arange(1_000_000)
    totals = machines.run(lambda i: int(large[i:].sum()), range(3))
    assert dict(totals) == {i: int(large[i:].sum()) for i in range(3)}


@on_nodes
def test_an_error_of_a_task_is_the_same_error_here(machines):
    def task(i):
        raise ValueError(f"item {i} is wrong")

    with pytest.raises(ValueError, match="item 0 is wrong"):
        list(machines.run(task, [0]))


def test_machines_with_other_versions_are_refused():
    other = cluster.packages() | {"jax": "0.0.1"}
    with pytest.raises(ClusterError, match="Every machine must have the versions"):
        cluster._perform((abs, {}), -1, other)
    assert cluster._perform((abs, {}), -1, cluster.packages()) == 1


@on_nodes
def test_a_worker_has_the_threads_of_this_process_and_one_core(machines):
    def task(_):
        from conftr.machine.cores import cores

        return cores(), os.environ["PJRT_NPROC"], os.environ["JAX_PLATFORMS"]

    assert dict(machines.run(task, [0])) == {0: (1, str(HERE.cores()), "cpu")}


DRIVER = """
import sys
from pathlib import Path
from test_cluster import SWEEP, shop
from conftr.machine.cluster import Cluster, connect
from conftr.experiments.sweeping import run_sweeps
from conftr.search.measurements import Measurements
keep = Measurements.keep
def told(self, sizes):
    keep(self, sizes)
    print("entered", flush=True)
Measurements.keep = told
with connect(sys.argv[2]):
    run_sweeps([SWEEP], shop(Path(sys.argv[1])), Cluster(most=1))
"""


def killed_driver(place, address):
    """Another process sweeps, as Ray's client, and is killed once something was measured."""
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", DRIVER, str(place), address]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths}, **pipes) as driver:
        late = threading.Timer(PATIENCE, driver.kill)
        late.start()
        printed = driver.stdout.readline()
        late.cancel()
        driver.kill()
        assert printed == "entered\n", driver.stderr.read()


@on_nodes
def test_whoever_is_killed_the_store_ends_as_if_nobody_was(
    nodes, client_port, machines, undisturbed, tmp_path
):
    killed_driver(tmp_path, f"ray://127.0.0.1:{client_port}")
    assert 1 <= len(stored(tmp_path)) < len(undisturbed)
    assert not (tmp_path / "results").exists()
    with killing(nodes, 2) as killed:
        run_sweeps([SWEEP], shop(tmp_path), machines)
    assert killed
    assert stored(tmp_path) == undisturbed


@on_nodes
def test_a_node_that_joins_late_is_used(nodes, machines):
    def where(_):
        import ray

        time.sleep(0.3)
        return ray.get_runtime_context().get_node_id()

    seen, late, items = set(), None, iter(range(10**6))
    begun = time.monotonic()
    for _, node in machines.run(where, items):
        seen.add(node)
        if late is None:
            late = nodes.add_node(**NODE)
        if late.node_id in seen or time.monotonic() - begun > PATIENCE:
            break
    try:
        assert late.node_id in seen
    finally:
        nodes.remove_node(late)


METHOD = """
from dataclasses import dataclass
from conftr import CrossEntropy

@dataclass(frozen=True)
class Sharp:
    factor: float = 2.0

    def __call__(self, logits, labels):
        return CrossEntropy()(self.factor * logits, labels)
"""


@on_nodes
def test_a_comparison_is_the_same_here_and_there(machines, tmp_path):
    (tmp_path / "mine.py").write_text(METHOD)
    settings = SettingsFile({"model": ("linear",), "epochs": (2,), "batch_size": (200,)})
    methods = ("cross-entropy", f"{tmp_path / 'mine.py'}:Sharp")
    comparison = Comparison("digits", methods, (0.1,), 2, 2, settings)
    here, there = shop(tmp_path / "here"), shop(tmp_path / "there")
    compare(comparison, here)
    compare(comparison, there, machines)
    assert stored(tmp_path / "here") == stored(tmp_path / "there")
    trials = [sorted(place.runs.rglob("*.npz")) for place in (here, there)]
    assert len(trials[0]) == 4
    for first, other in zip(*trials, strict=True):
        with np.load(first) as a, np.load(other) as b:
            assert all(a[name].tobytes() == b[name].tobytes() for name in a)


@on_nodes
def test_the_command_line_goes_to_the_cluster(nodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "use_compilation_cache", lambda: None)
    (tmp_path / "grid.toml").write_text(
        'methods = ["cross-entropy"]\n[settings]\nmodel = "linear"\nepochs = 2\nbatch_size = 400\n'
        "learning_rate = [0.1, 0.05]\n"
    )
    command = ["sweep", "digits", "--grid", "grid.toml", "--ray", nodes.address]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.stderr
    assert "on 2 cores" in done.stderr or "on 3 cores" in done.stderr
    assert len(list((tmp_path / "runs/sweeps/measured").iterdir())) == 2
