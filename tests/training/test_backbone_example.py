"""The example that trains backbones: a killed run goes on and ends with the same bits."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("killable_backbone.py")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="needs torch"),
]


def weights(folder):
    (path,) = folder.glob("*.safetensors")
    return path.read_bytes()


def start(folder):
    command = [sys.executable, str(SCRIPT), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_backbone_ends_with_the_same_bits(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with start(whole) as process:
        process.communicate()
    with start(killed) as process:
        assert "epoch 1 " in process.stdout.readline()
        process.kill()
    assert not list(killed.glob("*.safetensors"))
    with start(killed) as process:
        printed, _ = process.communicate()
    assert "epoch 1 " not in printed
    assert "epoch 4 " in printed
    assert weights(whole) == weights(killed)


def test_a_run_after_another_starts_from_its_weights(tmp_path):
    from killable_backbone import backbone, options, tiny  # which needs torch

    first = backbone.train(options(tmp_path, epochs=1), tiny())
    second = options(tmp_path, epochs=2, seed=1, after=first)
    before, settings = backbone.load(first)
    weights = backbone.Training(second, tiny()).network.state_dict()
    assert all(weights[name].equal(value) for name, value in before.state_dict().items())
    written = backbone.train(second, tiny())
    assert written.name == "cifar10-resnet34-w2-s4-e2-seed1-after1-held20.safetensors"
    assert backbone.load(written)[1] == settings | {
        "after": first.stem,
        "seed": 1,
        "epochs": 2,
        "accuracy": backbone.load(written)[1]["accuracy"],
    }
