"""Settings for a dataset of which nothing is known: what `conftr fit` would begin with."""

from __future__ import annotations

from typing import Any

from conftr.classifier import recipes
from conftr.data import Dataset
from conftr.training.models import MLP


def default_settings(dataset: Dataset, alpha: float, rows: int | None = None) -> dict[str, Any]:
    """A network, epochs and a batch size that suit a dataset.

    Args:
        dataset: whose training examples are looked at.
        alpha: what is trained for.
        rows: how many examples train; None for the whole training split.

    Returns:
        Settings, as a settings file has them.
    """
    n, inputs = rows or len(dataset.y_train), dataset.x_train.shape[1:]
    model = recipes.model_for(None, inputs, len(dataset.classes), n)
    assert isinstance(model, MLP)
    batch_size = recipes.batch_size_for(n, alpha)
    return {
        "model": f"mlp:{'x'.join(map(str, model.hidden))}" if model.hidden else "linear",
        "epochs": recipes.epochs_for(n, batch_size, model, inputs),
        "batch_size": batch_size,
    }
