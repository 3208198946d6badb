"""What tests of stacks share."""

import pytest

from conftr.classifier import matrices


@pytest.fixture(scope="module")
def short_training_of_heads():
    """Train heads for a tenth of their steps: enough where how well they learn is not tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "_STEPS", 40)
        yield
