"""A workshop in a folder of its own."""

import pytest
from small_runs import Steps

from conftr.experiments import Store
from conftr.experiments.runner import Workshop


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def workshop(tmp_path, steps):
    return Workshop(Store(tmp_path / "results"), tmp_path / "runs", watch=steps)
