"""One model on several devices: each has a part of every batch, the threshold is the batch's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow  # trains in a process with several devices

SCRIPT = Path(__file__).with_name("sharded_run.py")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What a process with four simulated devices found."""
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-W", "error", SCRIPT, tmp_path_factory.mktemp("sharded")],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_losses_and_logits_are_those_of_one_device(outputs, count):
    item, several = outputs["0 devices"], outputs[f"{count} devices"]
    assert len(item["loss"]) == 3
    np.testing.assert_allclose(several["loss"], item["loss"], rtol=1e-5)
    np.testing.assert_allclose(several["logits"], item["logits"], atol=1e-4)


@pytest.mark.parametrize("batched", [False, True])
def test_trials_train_on_several_devices_too(outputs, batched):
    np.testing.assert_allclose(outputs[f"trials, {batched=}"], outputs["trials"], rtol=1e-5)


def test_a_run_goes_on_with_other_devices(outputs):
    np.testing.assert_allclose(outputs["taken up"], outputs["0 devices"]["loss"], rtol=1e-5)


def test_each_device_works_on_its_rows_and_sees_all_logits_once_a_step(outputs):
    assert "10" in outputs["hidden"]
    assert "40" not in outputs["hidden"]
    assert outputs["gathered"] == {"all-gather": 1}


def test_on_one_device_nothing_is_sent(outputs):
    assert not outputs["whole"]


def test_a_batch_must_divide_among_the_devices(outputs):
    assert "devices must be as many as divide the batch_size of 39" in outputs["refused"]
