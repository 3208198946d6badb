"""A file of the user's own as the data of a sweep, and what the sweep found back to `conftr fit`.

With the same seed, `conftr fit` never tests or calibrates on the rows of a sweep, whatever its
alpha and the share of its test rows: what chose a model's settings must not calibrate or test it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from conftr.classifier import labels
from conftr.classifier.division import Rows, order, seed_of
from conftr.data import Dataset, Normalisation
from conftr.data.user_files import UserData
from conftr.machine.digests import of_arrays
from conftr.machine.plain_data import build
from conftr.members.network import normalisation, seen_rows
from conftr.search.methods import objective_of
from conftr.search.settings import SettingsFile
from conftr.search.space import SGD, configured


def dataset_of(
    given: UserData, file: str, *, seed: int, texts: Sequence[str] | None = None
) -> Dataset:
    """The rows to learn from, encoded, in a dataset named by the file and its content.

    Args:
        given: All rows.
        file: Where they come from.
        seed: As in `conftr fit`.
        texts: The columns that hold texts; None recognises them.
    """
    mine = given.take(rows_to_learn_from(given, seed=seed))
    classes, y = labels.learn(mine.y)
    _, encoding, x = seen_rows(mine.X, texts)
    shift, scale = (np.asarray(value, np.float32) for value in normalisation(encoding))
    return Dataset(
        f"{Path(file).stem}-{of_arrays(x, y)[:8]}",
        *(x, y, x[:0], y[:0], x[:0], y[:0]),
        tuple(str(name) for name in classes.tolist()),
        {},
        Normalisation(shift, scale),
    )


class Chosen(NamedTuple):
    """An alpha, and arguments of `ConformalClassifier` that say how to train for it."""

    alpha: float
    training: dict[str, Any]


def chosen_for_fit(
    file: SettingsFile,
    given: UserData,
    name: str,
    *,
    alpha: float | None,
    seed: int,
    texts: Sequence[str] | None = None,
) -> Chosen:
    """How `conftr fit` trains with the first method of a settings file.

    Args:
        file: settings of which there is one value each.
        given: the rows that it is given.
        name: of their file.
        alpha: what was asked for; None for that of the settings, else 0.1.
        seed, texts: as in `conftr fit`.

    Returns:
        What `conftr.jobs.fitting.FitTask` takes.

    Raises:
        ValueError: the settings were searched on other rows than those to learn from, of which
            some may calibrate now; or ask for what `ConformalClassifier` cannot do.
    """
    alpha = (file.alphas or (0.1,))[0] if alpha is None else alpha
    rows = dataset_of(given, name, seed=seed, texts=texts).name
    searched = str(file.searched.get("data", rows))
    if searched.rpartition("-")[2] != rows.rpartition("-")[2]:  # the digests of the rows
        raise ValueError(
            f"the settings were searched on other rows or columns ({searched}) than this fit would "
            f"learn from ({rows}): some of them would calibrate or be tested on. Fit the same file "
            f"as in the sweep, with its --seed, --drop and --text; or, if the two share no rows, "
            f"remove [searched] from the settings."
        )
    return Chosen(alpha, _training(file, alpha))


def _training(file: SettingsFile, alpha: float) -> dict[str, Any]:
    method = file.names[0]
    settings = file.only(method)
    fixed = {name: value for name, value in SGD.items() if name != "learning_rate"}
    for name, value in fixed.items():
        if settings.get(name, value) != value:
            raise ValueError(f"`conftr fit` trains with {name} = {value}; got {settings[name]!r}.")
    network, objective, plan = configured(objective_of(method), settings, alpha)

    def model(inputs: tuple[int, ...], classes: int) -> Any:
        return build(network, inputs=inputs, classes=classes)

    return {
        "method": build(objective),
        "model": network["hidden"] if network.kind == "MLP" else model,
        "epochs": plan["epochs"],
        "batch_size": plan["batch_size"],
        "learning_rate": plan["optimiser"]["learning_rate"],
    }


def rows_to_learn_from(given: UserData, *, seed: int) -> Rows:
    """The rows that `conftr fit` with this seed never tests or calibrates on."""
    return order(given.X, seed_of(seed), given.y).never_held_out
