"""One epoch of training as one compiled program: a scan of SGD steps over shuffled batches.

Inputs stay on the device as they are stored and are normalised inside the step. A step runs the
model once over the whole batch, so that batch-norm statistics are shared by the examples that
calibrate and those that predict (sec. 3). On several devices each holds a part of every batch; the
threshold is still one quantile of the whole batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from conftr.conformal.stateful import StatefulObjective, is_stateful
from conftr.machine.rows_on_disk import RowsOnDisk
from conftr.training import optimisers
from conftr.training.augmentation import Augmentation
from conftr.training.models import Array, Key, Model, Params, State
from conftr.training.optimisers import Optimiser
from conftr.training.programs import on_device, shared

Objective: TypeAlias = Callable[[Array, Array], Array] | StatefulObjective
Trainable: TypeAlias = Callable[[str], bool] | None

Tree = TypeVar("Tree")

_ROWS = "rows"  # the axis of a mesh
_AUGMENT = 3  # the stream of random numbers of augmentation, see `conftr.training.runs`


class TrainingSet(NamedTuple):
    """Inputs (n, ...) as stored, labels (n,), and what the step makes of inputs.

    A model sees (x - shift) * scale in float32; shift and scale broadcast against one example.
    Where x is on disk, a step reads its own rows.
    """

    x: Any
    y: Any
    shift: Any = 0.0
    scale: Any = 1.0


class Program(NamedTuple):
    """What a compiled epoch depends on besides shapes. Must be hashable.

    Attributes:
        mesh: The devices that share every batch; None where there is one.
    """

    model: Model
    objective: Objective
    optimiser: Optimiser
    trainable: Trainable = None
    mesh: Mesh | None = None
    augmentation: Augmentation | None = None


class Carry(NamedTuple):
    """Everything that training changes."""

    params: Params
    state: State
    optimiser: Any
    failed_step: Array  # the first step that was not finite, or -1
    failed_loss: Array  # whether it was the loss that failed, or only the gradient
    objective: Any = ()  # the state of an objective that has one
    key: Key | None = None  # from which steps draw, if examples are augmented


class Batch(NamedTuple):
    """The rows (batch_size,) of a step, its learning-rate factor and its number in the run.

    An epoch holds one of each per step, along the first axis.
    """

    rows: Array
    factor: Array
    step: Array


def start(program: Program, key: Key, classes: int = 0) -> Carry:
    """A trial before its first step; classes: of the labels, for an objective that has state."""
    settings = program.model, program.optimiser, program.trainable  # all that it depends on
    carry: Carry = shared(_start, settings, key)(key)
    if program.augmentation is not None:
        carry = carry._replace(key=key)
    if not is_stateful(program.objective):
        return carry
    state = program.objective.start(classes)
    return carry._replace(objective=jax.tree.map(on_device, state))


def _start(model: Model, optimiser: Optimiser, trainable: Trainable, key: Key) -> Carry:
    params, state = model.init(key)
    trained, _ = _split(trainable, params)
    memory = optimisers.transformation(optimiser).init(trained)
    return Carry(params, state, memory, jnp.int32(-1), jnp.bool_(False))


def train(
    program: Program,
    data: TrainingSet,
    settings: Mapping[str, Array],
    carry: Carry,
    batches: Batch,
) -> tuple[Carry, Array]:
    """One epoch of one trial: the new carry, and the mean loss of the steps that were taken.

    Args:
        settings: Fields of the objective and of `SGD` that are the trial's own.
    """
    step = partial(_step, with_settings(program, settings), data)
    if len(batches.step) == 1:
        return on_all(program.mesh, step(carry, Batch(*(part[0] for part in batches))))
    carry, losses = jax.lax.scan(step, carry, batches)
    return on_all(program.mesh, (carry, jnp.nanmean(losses)))


def train_together(
    program: Program,
    data: TrainingSet,
    settings: Sequence[Mapping[str, Array]],
    carries: Sequence[Carry],
    batches: Batch | Sequence[Batch],
) -> tuple[list[Carry], Array]:
    """One epoch of all trials in one batched program.

    Args:
        batches: Of each trial, or one epoch that all of them see: x is then read once for all, and
            what comes out of a trial does not depend on the others or on its place among as many.
    """
    common = isinstance(batches, Batch)
    epoch = jax.vmap(partial(train, program, data), in_axes=(0, 0, None if common else 0))
    seen: Any = batches if common else stack(batches)
    trained, losses = epoch(stack(settings), stack(carries), seen)
    return _unstack(trained, len(carries)), losses


def mesh_of(devices: Sequence[Any]) -> Mesh:
    """Devices in a row, along which batches are divided."""
    return Mesh(np.array(devices), (_ROWS,))


def on_all(mesh: Mesh | None, tree: Tree) -> Tree:
    """Arrays that every device of a mesh holds whole; as they are where there is no mesh."""
    return _placed(mesh, tree)


def _divided(mesh: Mesh | None, tree: Tree) -> Tree:
    """Arrays of which each device of a mesh holds a part of the rows."""
    return _placed(mesh, tree, _ROWS)


def _placed(mesh: Mesh | None, tree: Tree, *axes: str) -> Tree:
    if mesh is None:
        return tree
    spec = PartitionSpec(*axes)  # type: ignore[no-untyped-call]
    placed = jax.lax.with_sharding_constraint(  # type: ignore[no-untyped-call]
        tree, NamedSharding(mesh, spec)
    )
    return cast(Tree, placed)


def pieces(batches: Batch, size: int) -> list[Batch]:
    """An epoch in parts of at most `size` steps."""
    starts = range(0, len(batches.step), size)
    return [Batch(*(part[i : i + size] for part in batches)) for i in starts]


def of_rows(data: TrainingSet, batches: Batch) -> tuple[TrainingSet, Batch]:
    """The rows of some steps alone, read from disk, and steps that name them by their new places.

    Data that are not on disk stay as they are.
    """
    if not isinstance(data.x, RowsOnDisk):
        return data, batches
    rows = np.reshape(batches.rows, -1)
    places = np.arange(rows.size, dtype=np.int32).reshape(np.shape(batches.rows))
    taken = data._replace(x=np.asarray(data.x[rows]), y=data.y[rows])
    return taken, batches._replace(rows=places)


def stack(trees: Sequence[Any]) -> Any:
    """Trees of equal structure as one, with a first axis over them."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _unstack(tree: Tree, count: int) -> list[Tree]:
    """The trees that `stack` made one of."""
    return [jax.tree.map(lambda leaf, i=i: leaf[i], tree) for i in range(count)]


def named_leaves(tree: Any) -> tuple[dict[str, Any], Any]:
    """The leaves of a tree by their path, and its structure."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    name = partial(jax.tree_util.keystr, simple=True, separator="/")
    return {name(path): leaf for path, leaf in leaves}, structure


def normalised(x: Array, shift: Array, scale: Array) -> Array:
    """What a model sees of stored inputs."""
    return (x.astype(jnp.float32) - shift) * scale


def _augmented(augmentation: Augmentation | None, key: Key, step: Array, x: Array) -> Array:
    """Stored inputs, changed as this step of a trial draws it."""
    if augmentation is None:
        return x
    drawn = jax.random.fold_in(jax.random.fold_in(key, _AUGMENT), step)
    return augmentation(drawn, x.astype(jnp.float32))


def fields(value: Any) -> list[str]:
    """The names of a dataclass's fields; of anything else none."""
    return [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []


def _step(program: Program, data: TrainingSet, carry: Carry, batch: Batch) -> tuple[Carry, Array]:
    """One step on one batch, and its loss."""
    model, objective, optimiser, trainable, mesh, augmentation = program
    x, y = (part.at[batch.rows].get(mode="promise_in_bounds") for part in data[:2])
    x = _augmented(augmentation, carry.key, batch.step, _divided(mesh, x))
    x = normalised(x, data.shift, data.scale)
    trained, whole = _split(trainable, carry.params)

    def loss(trained: Params) -> tuple[Array, tuple[State, Any]]:
        # Made anew in here: Flax refuses to update variables from outside a gradient.
        state = jax.tree.map(lambda leaf: leaf, carry.state)
        logits, state = model.apply(whole(trained), state, x, True)
        # On several devices each computes the loss of the whole batch: a sort that is spread over
        # them would cost more than the logits do to send.
        seen = on_all(mesh, (logits, y))
        if not is_stateful(objective):
            return _scalar(objective(*seen)), (state, ())
        return _scalar(objective(*seen, carry.objective)), (state, seen)

    (value, (state, seen)), gradient = jax.value_and_grad(loss, has_aux=True)(trained)
    moved, memory = optimisers.update(optimiser, gradient, carry.optimiser, trained, batch.factor)
    after = carry._replace(params=whole(moved), state=state, optimiser=memory)
    if is_stateful(objective):
        after = after._replace(objective=_updated(objective, seen, carry.objective))
    return _unless_failed(carry, after, value, gradient, batch.step)


def _scalar(value: Array) -> Array:
    if jnp.shape(value):
        raise ValueError(f"objective must give a scalar; got shape {jnp.shape(value)}.")
    return value


def _updated(objective: StatefulObjective, seen: tuple[Array, Array], state: Any) -> Any:
    """The state of an objective after a step, refused where it is of another form."""
    after = objective.update(*seen, state)
    forms = [
        jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.result_type(leaf)), tree)
        for tree in (state, after)
    ]
    if forms[0] != forms[1]:
        raise ValueError(
            f"update of {objective!r} must keep the shapes and types of its state, as a loop is "
            f"compiled for them; it was {forms[0]} and became {forms[1]}."
        )
    return after


def _unless_failed(
    before: Carry, after: Carry, loss: Array, gradient: Params, step: Array
) -> tuple[Carry, Array]:
    """The step taken if its loss and gradient are finite, as all before it were; else undone."""
    # A sum is finite only if every term is, and is cheaper than a look at each.
    sums = [jnp.sum(leaf, dtype=jnp.float32) for leaf in jax.tree.leaves(gradient)]
    finite = jnp.isfinite(loss) & jnp.isfinite(sum(sums))
    running = before.failed_step < 0
    fails, goes_on = running & ~finite, running & finite
    kept = jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), after, before)
    carry = kept._replace(
        failed_step=jnp.where(fails, step, before.failed_step),
        failed_loss=jnp.where(fails, ~jnp.isfinite(loss), before.failed_loss),
    )
    return carry, jnp.where(goes_on, loss, jnp.nan)


def _split(trainable: Trainable, params: Params) -> tuple[Params, Callable[[Params], Params]]:
    """The parameters to train, and what makes the whole of them and the others again."""
    if trainable is None:
        return params, lambda trained: trained
    named, structure = named_leaves(params)
    chosen = {name: leaf for name, leaf in named.items() if trainable(name)}
    if not chosen:
        raise ValueError(f"trainable must choose some of the parameters {list(named)}; got none.")
    return chosen, lambda trained: structure.unflatten((named | trained).values())


def with_settings(program: Program, settings: Mapping[str, Array]) -> Program:
    """The program with a trial's own settings of the optimiser, then of the objective."""
    rates = {name: settings[name] for name in settings if name in fields(program.optimiser)}
    others = {name: settings[name] for name in settings if name not in rates}
    return program._replace(
        optimiser=_replaced(program.optimiser, rates),
        objective=_replaced(program.objective, others),
    )


def _replaced(value: Any, changes: Mapping[str, Any]) -> Any:
    return dataclasses.replace(value, **changes) if changes else value
