"""A run as a value: what is to be trained, checked once, and how far it has come.

A trial is a key, the rows it trains on and its own settings. Its shuffles depend on its key and
the epoch alone, so a run can be taken up at any epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.sharding import Mesh

from conftr.conformal import checks
from conftr.machine.rows_on_disk import RowsOnDisk
from conftr.training import optimisers
from conftr.training.augmentation import Augmentation
from conftr.training.checkpoints import Arrays, Description, describe
from conftr.training.epochs import (
    Batch,
    Carry,
    Objective,
    Program,
    Trainable,
    TrainingSet,
    fields,
    mesh_of,
    named_leaves,
    on_all,
    stack,
    start,
)
from conftr.training.models import Array, Key, Model, outline
from conftr.training.optimisers import SGD, Optimiser
from conftr.training.programs import on_device, shared

Rows: TypeAlias = npt.NDArray[np.int32]
Losses: TypeAlias = npt.NDArray[np.float32]

_SHUFFLE, _RESAMPLE = 1, 2  # streams of random numbers that one key gives; 3 is augmentation's


@dataclass(frozen=True)
class Plan:
    """How to train.

    Attributes:
        epochs: Passes over the rows, shuffled anew for each.
        batch_size: Rows of a step. In each epoch the rows that do not fill a batch are left out;
            the shuffle gives every row the same chance of that.
        optimiser: `SGD` settings, or any optax.GradientTransformation.
        trainable: Which parameters to train, by their path ("logits/weight"); None: all. Running
            statistics follow the model's `apply` in any case.
        augmentation: What is done to the examples of a step before they are normalised, as
            `conftr.training.Flip()`; None: nothing. Prediction knows nothing of it.
    """

    epochs: int
    batch_size: int
    optimiser: Optimiser = SGD()  # noqa: RUF009 (immutable)
    trainable: Trainable = None
    augmentation: Augmentation | None = None

    def __post_init__(self) -> None:
        """Refuse counts below one."""
        for name in ("epochs", "batch_size"):
            checks.number(getattr(self, name), name, at_least=1)
            if not isinstance(getattr(self, name), int):
                raise TypeError(f"{name} must be an integer; got {getattr(self, name)!r}.")


class Trial(NamedTuple):
    """One model to be trained."""

    key: Key
    words: tuple[int, ...]  # the key as integers
    rows: Rows
    settings: dict[str, Array]  # numbers of the objective and the optimiser, by field


@dataclass(frozen=True)
class Run:
    """What `fit` was asked to do."""

    model: Model
    objective: Objective
    plan: Plan
    data: TrainingSet
    trials: list[Trial]
    mesh: Mesh | None = None
    abreast: int = 1

    @property
    def program(self) -> Program:
        """What has to be compiled, the same for runs that differ in numbers and schedule."""
        optimiser = self.plan.optimiser
        if isinstance(optimiser, SGD):
            optimiser = SGD(nesterov=optimiser.nesterov)
        return Program(
            self.model,
            self.objective,
            optimiser,
            self.plan.trainable,
            self.mesh,
            self.plan.augmentation,
        )

    @property
    def classes(self) -> int:
        """How many logits the model gives."""
        return outline(self.model, np.shape(self.data.x)[1:]).classes

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return len(self.trials[0].rows) // self.plan.batch_size

    def batches(self, trial: Trial, epoch: int) -> Batch:
        """The shuffled rows of an epoch (steps, batch_size), learning-rate factors and numbers."""
        plan, steps = self.plan, np.arange(self.steps) + epoch * self.steps
        # Shuffled here and not in the program, where XLA would sort random numbers, slowly: for a
        # linear model that takes a quarter of the epoch.
        order = np.random.default_rng([_SHUFFLE, *trial.words, epoch]).permutation(trial.rows)
        rows = order[: self.steps * plan.batch_size].reshape(self.steps, plan.batch_size)
        factors = optimisers.factors(plan.optimiser, steps, self.steps * plan.epochs)
        return Batch(rows, factors, steps.astype(np.int32))

    @property
    def is_on_disk(self) -> bool:
        """Whether inputs are on disk, of which a step reads its own."""
        return isinstance(self.data.x, RowsOnDisk)

    def for_steps(self) -> TrainingSet:
        """The data as `of_rows` takes them: on disk, or where programs find them."""
        if not self.is_on_disk or self.mesh is not None:
            return self.on_device()
        x, y, shift, scale = self.data
        numbers = on_device(shift, np.float32), on_device(scale, np.float32)
        return TrainingSet(x, np.asarray(y, np.int32), *numbers)

    def on_device(self) -> TrainingSet:
        """The data where programs find them, all of them in memory."""
        x, y, shift, scale = self.data
        numbers = on_device(shift, np.float32), on_device(scale, np.float32)
        data = TrainingSet(on_device(x), on_device(y, np.int32), *numbers)
        return on_all(self.mesh, data)


class Reached(NamedTuple):
    """A run after some epochs: each trial, and the mean losses (trials,) of each epoch."""

    carries: list[Carry]
    losses: list[Losses]

    @property
    def failed(self) -> npt.NDArray[np.int32]:
        """The step at which each trial failed, or -1."""
        return np.array([carry.failed_step for carry in self.carries], np.int32)

    def finished(self, plan: Plan) -> bool:
        """Whether nothing is left to train."""
        return len(self.losses) == plan.epochs or bool(np.all(self.failed >= 0))


def trial_keys(seed: int, trials: int) -> Key:
    """Keys. Each depends on the seed and its number alone, not on how many there are.

    Args:
        seed: Of all trials.
        trials: How many.

    Returns:
        JAX keys, (trials,).
    """
    operands = jax.random.key(seed), np.arange(trials, dtype=np.int32)
    return shared(_folded, (), *operands)(*operands)


def _folded(key: Key, numbers: Array) -> Key:
    """A key for each number."""
    return jax.vmap(partial(jax.random.fold_in, key))(numbers)


def resample(keys: Key, n: int, copies: int = 5) -> Rows:
    """The training sets of the paper's trials: n rows drawn from copies of n, none put back.

    Args:
        keys: One for each trial, as of `trial_keys`, or one.
        n: Training examples.
        copies: Of each example.

    Returns:
        Indices (trials, n) for keys (trials,), and (n,) for one key.
    """
    keys = typed(keys)
    drawn = [
        np.random.default_rng([_RESAMPLE, *_words(key)]).permutation(copies * n)[:n] % n
        for key in keys.reshape(-1)
    ]
    return np.asarray(drawn, np.int32).reshape(*keys.shape, n)


def prepare(
    model: Model,
    objective: Objective,
    plan: Plan,
    data: TrainingSet,
    *,
    key: Key,
    rows: Any,
    vary: Mapping[str, Any],
    devices: Sequence[Any] | None = None,
    abreast: int = 1,
) -> Run:
    """A run of one trial for each key, refused in words where it cannot be trained."""
    keys = typed(key).reshape(-1)
    _check_hashable(model, objective, plan.trainable, plan.augmentation)
    _check_data(data)
    _check_labels(model, data)
    chosen = np.arange(len(data.y)) if rows is None else np.asarray(rows)
    _check_rows(chosen, len(keys), len(data.y), plan.batch_size)
    chosen = np.broadcast_to(chosen.astype(np.int32), (len(keys), chosen.shape[-1]))
    mesh = _mesh(devices, plan.batch_size)
    settings = on_all(mesh, _settings(objective, plan.optimiser, vary, len(keys)))
    trials = [Trial(k, _words(k), r, s) for k, r, s in zip(keys, chosen, settings, strict=True)]
    if abreast > 1:
        _check_alike(trials)
    return Run(model, objective, plan, data, trials, mesh, abreast)


def begin(run: Run) -> Reached:
    """A run before its first epoch."""
    classes = run.classes
    return Reached([start(run.program, trial.key, classes) for trial in run.trials], [])


def pack(reached: Reached) -> Arrays:
    """A run as named arrays, with a first axis over trials; `loss` is (epochs, trials)."""
    trials = [named_leaves(carry)[0] for carry in reached.carries]
    arrays = {name: np.stack([_plain(leaves[name]) for leaves in trials]) for name in trials[0]}
    return arrays | {"loss": np.stack(reached.losses)}


def unpack(run: Run, arrays: Arrays) -> Reached:
    """The run that was packed into these arrays."""
    begin_trial = partial(start, run.program, classes=run.classes)
    template = jax.eval_shape(begin_trial, run.trials[0].key)
    leaves, structure = named_leaves(template)
    carries = [
        structure.unflatten(_like(leaf, arrays[name][i]) for name, leaf in leaves.items())
        for i in range(len(run.trials))
    ]
    return Reached(carries, list(arrays["loss"]))


def description(run: Run) -> Description:
    """The specification and the data of a run, to tell it from others."""
    described = {
        "format": 1,  # of `pack`
        "model": run.model,
        "objective": run.objective,
        "plan": run.plan,
        "data": run.data,
        "keys": [trial.words for trial in run.trials],
        "rows": np.stack([trial.rows for trial in run.trials]),
        "settings": stack([trial.settings for trial in run.trials]),
    }
    return describe(described | ({"abreast": run.abreast} if run.abreast > 1 else {}))


def typed(key: Key) -> Key:
    """A new-style key array, from one of either style."""
    if not hasattr(key, "dtype"):
        raise TypeError(f"key must be a JAX key; got {key!r}. jax.random.key(seed) makes one.")
    return key if is_key(key) else jax.random.wrap_key_data(on_device(key))


def _words(key: Key) -> tuple[int, ...]:
    return tuple(int(word) for word in np.ravel(jax.random.key_data(key)))


def is_key(leaf: Any) -> bool:
    """Whether an array holds random keys, which NumPy does not have."""
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _plain(leaf: Array) -> npt.NDArray[Any]:
    return np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)


def _like(leaf: Any, saved: npt.NDArray[Any]) -> Array:
    value = on_device(saved)
    return jax.random.wrap_key_data(value) if is_key(leaf) else value


def _settings(
    objective: Objective, optimiser: Optimiser, vary: Mapping[str, Any], trials: int
) -> list[dict[str, Array]]:
    """The numbers of each trial: those of SGD, and what `vary` gives."""
    legal = [*optimisers.numbers(optimiser), *fields(objective)]
    values = {name: np.asarray(value, np.float32) for name, value in vary.items()}
    for name, value in values.items():
        if name not in legal:
            raise ValueError(f"vary must name fields of the objective or SGD, {legal}; got {name}.")
        if value.shape[:1] != (trials,):
            raise ValueError(
                f"vary[{name!r}] must have {trials} entries along its first axis, one for each "
                f"trial; got shape {value.shape}."
            )
    rates = optimisers.numbers(optimiser)
    common = {name: on_device(value, np.float32) for name, value in rates.items()}
    by_trial = [
        {name: on_device(value[i]) for name, value in values.items()} for i in range(trials)
    ]
    return [common | settings for settings in by_trial]


def _mesh(devices: Sequence[Any] | None, batch_size: int) -> Mesh | None:
    if devices is None:
        return None
    if not len(devices) or batch_size % len(devices):
        raise ValueError(
            f"devices must be as many as divide the batch_size of {batch_size}, so that each has "
            f"as many rows of a batch; got {len(devices)}."
        )
    return mesh_of(devices)


def _check_alike(trials: Sequence[Trial]) -> None:
    first = trials[0]
    for i, trial in enumerate(trials):
        if trial.words != first.words or not np.array_equal(trial.rows, first.rows):
            raise ValueError(
                f"trials abreast must have the same key and rows, as they share every batch; trial "
                f"{i} has others than trial 0."
            )


def _check_hashable(*values: Any) -> None:
    try:
        hash(values)
    except TypeError as error:
        raise TypeError(
            f"model, objective, trainable and augmentation must be hashable, so that equal ones "
            f"share a program: "
            f"{error}. A frozen dataclass that holds arrays needs eq=False, and "
            f"@conftr.conformal.values.by_content above that."
        ) from None


def _check_data(data: TrainingSet) -> None:
    """Finite inputs, and an integer label for each."""
    x, y = data.x if isinstance(data.x, RowsOnDisk) else np.asarray(data.x), np.asarray(data.y)
    if y.dtype.kind not in "iu" or y.shape != x.shape[:1]:
        raise ValueError(
            f"y must hold one integer for each of the {len(x)} rows of x; got shape {y.shape} of "
            f"type {y.dtype}."
        )
    if x.dtype.kind != "f":
        return
    first = 0
    for block in x.blocks() if isinstance(x, RowsOnDisk) else [x]:
        if not np.isfinite(block).all():
            row = first + np.argwhere(~np.isfinite(block))[0, 0]
            raise ValueError(f"x must be finite; row {row} is not.")
        first += len(block)


def _check_labels(model: Model, data: TrainingSet) -> None:
    """Labels below the number of logits that the model gives."""
    classes, y = outline(model, np.shape(data.x)[1:]).classes, np.asarray(data.y)
    if y.size and not (y.min() >= 0 and y.max() < classes):
        raise ValueError(
            f"y must lie in 0..{classes - 1}, for the {classes} logits of the model; got "
            f"{y.min()}..{y.max()}."
        )


def _check_rows(rows: npt.NDArray[Any], trials: int, n: int, batch_size: int) -> None:
    m = rows.shape[-1] if rows.ndim else 0
    if rows.dtype.kind not in "iu" or rows.shape not in {(m,), (trials, m)}:
        raise ValueError(
            f"rows must be integers of shape (m,) or ({trials}, m), so many for each trial; got "
            f"shape {rows.shape} of type {rows.dtype}."
        )
    if batch_size > m:
        raise ValueError(f"batch_size must be at most the {m} rows of a trial; got {batch_size}.")
    if not (rows.min() >= 0 and rows.max() < n):
        raise ValueError(f"rows must lie in 0..{n - 1}; got {rows.min()}..{rows.max()}.")
