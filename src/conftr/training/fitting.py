"""fit: one pure function from keys and data to trained models, many trials at once (app. F).

On a CPU each core trains a trial of its own, so a trial is the same to the last bit whatever runs
beside it; on an accelerator all trials are one batched program.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from conftr.machine.cores import cores
from conftr.machine.threads import in_rounds, in_threads
from conftr.training import checkpoints as store
from conftr.training.checkpoints import Checkpoints
from conftr.training.compilation import use_compilation_cache
from conftr.training.epochs import (
    Carry,
    Objective,
    TrainingSet,
    normalised,
    of_rows,
    on_all,
    pieces,
    train,
    train_together,
)
from conftr.training.models import Array, Key, Model, Params, State, outline
from conftr.training.optimisers import SGD, StepDecay, constant, cosine
from conftr.training.programs import on_device, shared
from conftr.training.runs import (
    Losses,
    Plan,
    Reached,
    Run,
    Trial,
    begin,
    description,
    is_key,
    pack,
    prepare,
    resample,
    trial_keys,
    typed,
    unpack,
)

__all__ = [
    "SGD",
    "Checkpoints",
    "Fitted",
    "Plan",
    "Progress",
    "StepDecay",
    "TrainingSet",
    "TrainingWarning",
    "constant",
    "cosine",
    "fit",
    "predict_logits",
    "resample",
    "trial_keys",
    "use_compilation_cache",
]

_Trained: TypeAlias = tuple[Carry, Any]  # a trial after an epoch, and the epoch's loss
_Advance: TypeAlias = Callable[[Sequence[Trial], int, list[_Trained]], list[_Trained]]


class TrainingWarning(UserWarning):
    """A trial had to stop."""


class Progress(NamedTuple):
    """Where a run stands.

    Attributes:
        epoch: How many epochs are done.
        epochs: Of how many.
        loss: The mean loss of each trial in the last of them.
        elapsed: Seconds since the beginning.
    """

    epoch: int
    epochs: int
    loss: Losses
    elapsed: float


class Fitted(NamedTuple):
    """Trained parameters and state. Each leaf, and the rest, has a trial axis if the key had one.

    Attributes:
        params: Parameters, a tree of arrays.
        state: What training changed without a gradient, such as running statistics.
        loss: (epochs, trials) mean objective of each epoch, without weight decay; nan after a
            failure, and fewer epochs if all trials failed.
        failed_step: The first step whose loss or gradient was not finite, or -1. The parameters are
            those before that step.
        objective_state: What the objective carried from step to step, if it has state.
    """

    params: Params
    state: State
    loss: Losses
    failed_step: npt.NDArray[np.int32]
    objective_state: Any = ()

    @property
    def failures(self) -> int:
        """How many trials had to stop."""
        return int(np.sum(self.failed_step >= 0))

    def trial(self, i: int) -> Fitted:
        """Trial `i` alone.

        Args:
            i: Its number.

        Returns:
            The same without the trial axis.
        """
        changing = self.params, self.state, self.objective_state
        params, state, carried = jax.tree.map(partial(_entry, i), changing)
        return Fitted(params, state, self.loss[:, i], self.failed_step[i], carried)


def fit(
    key: Key,
    model: Model,
    data: TrainingSet,
    objective: Objective,
    plan: Plan,
    *,
    rows: Any = None,
    vary: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoints: Checkpoints | None = None,
    batched: bool | None = None,
    devices: Sequence[Any] | None = None,
    abreast: int = 1,
) -> Fitted:
    """Train a model, or one for each of several keys.

    Equal calls on one machine give equal bits. A trial whose loss or gradient is not finite stops
    there with a `TrainingWarning`; the others go on.

    Args:
        key: One key, or keys (trials,) as `trial_keys` makes them.
        model: What is trained, such as `MLP`.
        data: What it is trained on.
        objective: (logits (n, K), labels (n,)) -> a scalar, as those of `conftr`; one that has
            state (see `conftr.conformal.stateful`) has it carried from step to step, in each trial
            its own.
        plan: Epochs, batch size and optimiser.
        rows: What each trial trains on, indices (trials, m) or (m,), as `resample` makes them.
        vary: Fields of the objective or of `SGD` that differ between trials: name -> (trials, ...).
        progress: Called after every epoch.
        checkpoints: Where to keep the run. A killed run goes on where it was and ends in the same
            bits; a finished one is not trained again; one of another specification is refused.
        batched: One program for all trials (True, and the default on accelerators) or one for each.
        devices: JAX devices that share every batch, for a model that keeps one of them busy too
            long; as many as divide the batch size. Each works on its rows, the threshold is one
            quantile of the whole batch, and the losses are those of one device but for rounding.
            Trials then train one after the other, unless batched.
        abreast: On a CPU, how many trials of the same key and rows share a program and its batches,
            which is quicker for linear models. What a trial gives depends on this number in its
            last bits, and not on the other trials: programs are filled up with copies.

    Returns:
        Parameters, losses, and which trials failed.

    Raises:
        ValueError: If shapes or numbers do not fit, naming the argument.
        CheckpointMismatchError: If the checkpoints belong to another run.
    """
    started = time.monotonic()
    run = prepare(
        model,
        objective,
        plan,
        data,
        key=key,
        rows=rows,
        vary=vary or {},
        devices=devices,
        abreast=abreast,
    )
    keeper = _Keeper(checkpoints, run) if checkpoints else None
    reached = (keeper and keeper.load()) or begin(run)
    for now in _epochs(run, reached, batched):
        reached = now
        _warn_of_failures(run, reached)
        if progress:
            elapsed = time.monotonic() - started
            progress(Progress(len(reached.losses), plan.epochs, reached.losses[-1], elapsed))
        if keeper:
            keeper.save(reached)
    return _fitted(run, reached, alone=typed(key).ndim == 0)


def predict_logits(
    model: Model, fitted: Fitted, x: Any, *, shift: Any = 0.0, scale: Any = 1.0, block: int = 2048
) -> npt.NDArray[np.float32]:
    """Logits (n, K) of all rows of x (n, ...), or (trials, n, K), computed in blocks of rows.

    Args:
        model: As in `fit`.
        fitted: What `fit` gave.
        x: Inputs (n, ...), as stored.
        shift: As in the `TrainingSet` that the model was trained on.
        scale: As in the `TrainingSet` that the model was trained on.
        block: Rows that are computed at a time.

    Returns:
        In float32.
    """
    of_trial = partial(_logits, model, x=x, normalise=(shift, scale), block=block)
    if np.ndim(fitted.failed_step) == 0:
        return of_trial(fitted)
    first, *others = (fitted.trial(i) for i in range(len(fitted.failed_step)))
    compiled_by_first = of_trial(first)
    return np.stack([compiled_by_first, *in_threads(of_trial, others, cores())])


def _epochs(run: Run, reached: Reached, batched: bool | None) -> Iterator[Reached]:
    """Train on from where the run stands; where it stands after each epoch."""
    if reached.finished(run.plan):
        return
    reached = reached._replace(carries=on_all(run.mesh, reached.carries))
    if batched is None:
        batched = jax.default_backend() != "cpu"
    for trained in (_as_one_program if batched else _side_by_side)(run, reached):
        carries, losses = zip(*trained, strict=True)
        reached = Reached(list(carries), [*reached.losses, np.asarray(losses, np.float32)])
        yield reached
        if reached.finished(run.plan):
            return


def _as_one_program(run: Run, reached: Reached) -> Iterator[list[_Trained]]:
    """All trials in one batched program; an epoch each time."""
    data, carries = run.on_device(), reached.carries
    settings = [trial.settings for trial in run.trials]
    for epoch in range(len(reached.losses), run.plan.epochs):
        batches = [run.batches(trial, epoch) for trial in run.trials]
        epoch_of_all = shared(train_together, (run.program,), data, settings, carries, batches)
        carries, losses = epoch_of_all(data, settings, carries, batches)
        yield list(zip(carries, losses, strict=True))


def _side_by_side(run: Run, reached: Reached) -> Iterator[list[_Trained]]:
    """Each team of trials in a program of its own, as many at once as there are cores.

    An epoch each time; the next one is under way while the caller reports or writes a checkpoint.
    """
    starts = range(0, len(run.trials), run.abreast)
    teams = [run.trials[i : i + run.abreast] for i in starts]
    known = [[(carry, None) for carry in reached.carries[i : i + run.abreast]] for i in starts]
    advance = (_together if run.abreast > 1 else _alone)(run, reached.carries[0])
    left = range(len(reached.losses), run.plan.epochs)
    # Devices that share a batch wait for each other: two such programs at once could do so forever.
    threads = 1 if run.mesh else cores()

    def epoch(team: int, number: int, before: list[_Trained]) -> list[_Trained]:
        return advance(teams[team], number, before)

    with contextlib.closing(in_rounds(epoch, known, left, threads)) as rounds:
        for trained in rounds:
            yield [trial for team in trained for trial in team]


def _alone(run: Run, carry: Carry) -> _Advance:
    """One epoch of a team of one trial.

    The program is compiled here, once, and not in the threads that run it.
    """
    data, trial = run.for_steps(), run.trials[0]
    # XLA's loops on a CPU make convolutions many times slower: there, a program is one step. So it
    # is where a step's rows are read from disk.
    by_step = run.is_on_disk or outline(run.model, data.x.shape[1:]).convolves
    size = 1 if by_step else run.steps
    first, *_ = pieces(run.batches(trial, 0), size)
    of_first, first = of_rows(data, first)
    operands = of_first, trial.settings, carry, first
    program = shared(train, (run.program,), *operands).lower(*operands).compile()

    def advance(team: Sequence[Trial], epoch: int, before: list[_Trained]) -> list[_Trained]:
        ((carry, _),), (trial,) = before, team
        losses = []
        for piece in pieces(run.batches(trial, epoch), size):
            of_piece, piece = of_rows(data, piece)
            carry, loss = program(of_piece, trial.settings, carry, piece)
            losses.append(float(loss))
        taken = [loss for loss in losses if not math.isnan(loss)]
        return [(carry, sum(taken) / len(taken) if taken else math.nan)]

    return advance


def _together(run: Run, carry: Carry) -> _Advance:
    """One epoch of a team of trials that share every batch."""
    data, first, count = run.on_device(), run.trials[0], run.abreast
    operands = data, count * [first.settings], count * [carry], run.batches(first, 0)
    program = shared(train_together, (run.program,), *operands).lower(*operands).compile()

    def advance(team: Sequence[Trial], epoch: int, before: list[_Trained]) -> list[_Trained]:
        # Copies of the last trial fill the program up.
        filled = [min(i, len(team) - 1) for i in range(count)]
        settings, carries = [team[i].settings for i in filled], [before[i][0] for i in filled]
        carries, losses = program(data, settings, carries, run.batches(team[0], epoch))
        return list(zip(carries, map(float, losses), strict=True))[: len(team)]

    return advance


def _fitted(run: Run, reached: Reached, alone: bool) -> Fitted:
    carry = reached.carries[0] if alone else jax.tree.map(_stacked, *reached.carries)
    if run.mesh is not None:
        carry = jax.device_put(carry, run.mesh.devices[0])
    losses, failed = np.stack(reached.losses), reached.failed
    if alone:
        losses, failed = losses[:, 0], failed[0]
    return Fitted(carry.params, carry.state, losses, failed, carry.objective)


# Both go through NumPy: JAX would compile a program for every shape, and keep it for good.
def _stacked(*leaves: Array) -> Array:
    """Arrays of one shape as one, with a first axis over them."""
    if is_key(leaves[0]):
        return jnp.stack(leaves)
    return on_device(np.stack([np.asarray(leaf) for leaf in leaves]))


def _entry(i: int, leaf: Array) -> Array:
    """One entry along the first axis, as an array of the same library."""
    if isinstance(leaf, np.ndarray) or is_key(leaf):
        return leaf[i]
    return on_device(np.asarray(leaf)[i].copy())


def _warn_of_failures(run: Run, reached: Reached) -> None:
    """Say which trials stopped in the last epoch, at what and where."""
    epoch = len(reached.losses) - 1
    for i, carry in enumerate(reached.carries):
        step = int(carry.failed_step)
        if step >= epoch * run.steps:
            what = "loss" if carry.failed_loss else "gradient"
            warnings.warn(
                f"trial {i} of {len(run.trials)} stopped at step {step} (epoch {epoch + 1}): the "
                f"{what} of {run.objective!r} is not finite. Its parameters stay as they "
                f"were before that step. A smaller learning rate or a higher temperature may help.",
                TrainingWarning,
                stacklevel=3,
            )


class _Keeper:
    """Writes a run's checkpoints when they are due, and takes up the last one."""

    def __init__(self, settings: Checkpoints, run: Run) -> None:
        self.settings, self.run = settings, run
        self.description = description(run)
        self.written, self.epoch = time.monotonic(), 0

    def load(self) -> Reached | None:
        saved = store.load(self.settings.folder)
        if saved is None:
            return None
        store.refuse_other_run(self.settings.folder, saved.record["run"], self.description)
        reached = unpack(self.run, saved.arrays)
        self.epoch = len(reached.losses)
        return reached

    def save(self, reached: Reached) -> None:
        epoch = len(reached.losses)
        due = self.settings.due(time.monotonic() - self.written, epoch - self.epoch)
        if due or reached.finished(self.run.plan):
            record = {"epoch": epoch, "run": self.description}
            store.save(self.settings.folder, epoch, store.Checkpoint(pack(reached), record))
            self.written, self.epoch = time.monotonic(), epoch


def _logits(
    model: Model, fitted: Fitted, x: Any, normalise: tuple[Any, Any], block: int
) -> npt.NDArray[np.float32]:
    """Logits of one trial; the last block is filled up with zeros, to be of the same shape."""
    size = min(block, max(1, len(x)))
    network = fitted.params, fitted.state
    shift, scale = (on_device(value, np.float32) for value in normalise)
    program = shared(_apply, (model,), *network, _padded(x[:size], size), shift, scale)
    blocks = [
        np.asarray(program(*network, _padded(x[start : start + size], size), shift, scale))
        for start in range(0, max(1, len(x)), size)
    ]
    return np.concatenate(blocks)[: len(x)]


def _padded(rows: Any, size: int) -> npt.NDArray[Any]:
    """Rows followed by zeros, so many in all."""
    rows = np.asarray(rows)
    return np.pad(rows, [(0, size - len(rows))] + [(0, 0)] * (rows.ndim - 1))


def _apply(
    model: Model, params: Params, state: State, x: Array, shift: Array, scale: Array
) -> Array:
    logits, _ = model.apply(params, state, normalised(x, shift, scale), False)
    return logits
