"""Running a specification: train its trials, measure them, keep the record.

Training keeps its state in a folder of runs, so that a killed run goes on where it was; there too
lie the logits of every trained trial, so that more trials, other alphas or other scores do not
train again what was trained. That folder can be removed at any time. Records go to the store.
"""

from __future__ import annotations

import io
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import filelock
import numpy as np
import numpy.typing as npt

import conftr
from conftr import data
from conftr.conformal.trials import takes_u
from conftr.experiments import statistics
from conftr.experiments.pooling import TrainAndPool
from conftr.experiments.specification import Specification
from conftr.experiments.store import Record, Store
from conftr.machine.disk import write_whole
from conftr.machine.plain_data import Part, build, digest, shared
from conftr.machine.progress import SILENT, Display
from conftr.machine.versions import statement
from conftr.search.attempts import Evaluation, Training
from conftr.training import (
    Checkpoints,
    Fitted,
    Progress,
    TrainingSet,
    TrainingWarning,
    fit,
    predict_logits,
    resample,
    trial_keys,
)
from conftr.training.checkpoints import CheckpointWarning
from conftr.training.models import Model

_SPOKEN = (conftr.CalibrationWarning, CheckpointWarning, TrainingWarning)


MoreResults: TypeAlias = Callable[
    [Evaluation, "Sequence[TrainedTrial]", "Prepared"], dict[str, Any]
]


class RunError(RuntimeError):
    """A run that cannot go on; the message says what to do."""


@dataclass(frozen=True)
class Workspace:
    """Where a run finds its data, keeps its state and leaves its record.

    Attributes:
        seconds: Between two checkpoints of what is under way.
        is_here: Whether `load` needs nothing but this machine for a dataset. Where it does, a
            stored record is compared with the data before it stands for them.
    """

    store: Store
    runs: Path
    load: Callable[[str], data.Dataset] = data.load
    display: Display = SILENT
    seconds: float = 30.0
    is_here: Callable[[str], bool] = data.is_here


class TrainedTrial(NamedTuple):
    """A trained trial: logits (n, K) of the pool, mean loss of each epoch, step it failed at."""

    logits: npt.NDArray[np.float32]
    loss: npt.NDArray[np.float32]
    failed_step: int


class Prepared(NamedTuple):
    """What trials of one training share."""

    examples: TrainAndPool
    data: TrainingSet
    model: Model
    groups: Any


def run(
    specification: Specification, workspace: Workspace, more_results: MoreResults | None = None
) -> Record:
    """The record of a specification: from the store, or trained and measured now.

    Args:
        more_results: A function of evaluation, trained trials and prepared data; the entries it
            gives are added to the record.
    """
    known = workspace.store.get(specification)
    if known is not None:
        path = workspace.store.path(specification)
        note_other_data(known, path, specification.training, workspace)
        return known
    with warnings_noted(workspace.display.note):
        prepared = prepare(specification.training, workspace.load)
        begun = time.monotonic()
        trials = train(specification, prepared, workspace)
        between = time.monotonic()
        results = measure(specification.evaluation, trials, prepared)
        more = more_results(specification.evaluation, trials, prepared) if more_results else {}
    seconds = {"training": between - begun, "evaluation": time.monotonic() - between}
    record = _record(specification, prepared, trials) | {
        "results": results,
        **more,
        "made": circumstances(seconds),
    }
    workspace.store.put(record)
    return record


def note_other_data(record: Record, path: Path, training: Training, workspace: Workspace) -> None:
    """Say so where a stored record is of other data than those here, which have the same name."""
    theirs = record.get("data", {}).get("fingerprint")
    if theirs is None or not workspace.is_here(training.dataset):
        return
    ours = fingerprint(workspace.load, training.dataset, training.pool)
    if ours != theirs:
        workspace.display.note(
            f"{path} holds what other data named {training.dataset} gave (fingerprint {theirs}; "
            f"those here have {ours}). It is shown as it is: move the file away to run this on "
            f"the data that are here."
        )


@cache
def fingerprint(load: Callable[[str], data.Dataset], dataset: str, pool: Part) -> str:
    """The fingerprint of the examples of a dataset that train and are evaluated on."""
    found: str = build(pool)(load(dataset)).fingerprint()
    return found


def prepare(training: Training, load: Callable[[str], data.Dataset]) -> Prepared:
    """The data of a training, divided, and its model."""
    dataset = load(training.dataset)
    examples = build(training.pool)(dataset)
    shift, scale = dataset.normalisation.shift, dataset.normalisation.scale
    model = build(training.model, inputs=examples.train.x.shape[1:], classes=len(dataset.classes))
    return Prepared(
        examples,
        TrainingSet(examples.train.x, examples.train.y, shift, scale),
        model,
        dataset.groups,
    )


def train(
    specification: Specification, prepared: Prepared, workspace: Workspace
) -> list[TrainedTrial]:
    """Every trial of a specification, trained now unless its logits are there."""
    training, paths = specification.training, trial_files(specification, prepared, workspace.runs)
    folder = paths[0].parent
    with one_process(folder):
        known = [load_trial(path) for path in paths]
        missing = [i for i, trial in enumerate(known) if trial is None]
        if missing:
            report = _reporter(specification, workspace.display)
            state = Checkpoints(folder / f"state-{_ranges(missing)}", workspace.seconds)
            fitted = fit_trials(training, missing, prepared, state, report)
            for i, trial in zip(missing, trained(fitted, prepared), strict=True):
                save_trial(paths[i], trial)
                known[i] = trial
    return [trial for trial in known if trial is not None]


def trial_files(specification: Specification, prepared: Prepared, runs: Path) -> list[Path]:
    """Where the trials of a specification on these very examples are kept."""
    folder = runs / f"{digest(specification.training)}-{prepared.examples.fingerprint()}"
    return [folder / f"trial-{i:03d}.npz" for i in range(specification.trials)]


def measure(
    evaluation: Evaluation, trials: Sequence[TrainedTrial], prepared: Prepared
) -> list[dict[str, Any]]:
    """What the trials that did not fail give, for every score and alpha."""
    logits = [trial.logits for trial in trials if trial.failed_step < 0]
    if not logits:
        return []
    results = []
    for name, score in evaluation.scores:
        rows = [_evaluated(evaluation, build(score), trial, prepared) for trial in logits]
        for i, alpha in enumerate(evaluation.alphas):
            at = [row[i :: len(evaluation.alphas)] for row in rows]
            results.append({"score": name, "alpha": alpha} | statistics.summarise(at))
    return results


def _evaluated(
    evaluation: Evaluation,
    score: Callable[..., Any],
    logits: npt.NDArray[np.float32],
    prepared: Prepared,
) -> list[Record]:
    n = prepared.examples.evaluated
    return conftr.evaluate(
        logits[:n],
        prepared.examples.pool.y[:n],
        score=score,
        alpha=np.array(evaluation.alphas),
        n_cal=prepared.examples.n_cal,
        splits=evaluation.splits,
        seed=evaluation.seed,
        groups=prepared.groups,
        random_u=takes_u(score),
    )


def fit_trials(
    training: Training,
    numbers: Sequence[int],
    prepared: Prepared,
    checkpoints: Checkpoints | None = None,
    report: Callable[[Progress], None] | None = None,
) -> Fitted:
    """Train the trials of these numbers at once, going on from their checkpoint."""
    keys = trial_keys(training.seed, max(numbers) + 1)[np.array(numbers)]
    rows = resample(keys, len(prepared.data.y)) if training.resampled else None
    return fit(
        keys,
        prepared.model,
        prepared.data,
        shared(training.objective),
        build(training.plan),
        rows=rows,
        progress=report,
        checkpoints=checkpoints,
    )


def trained(fitted: Fitted, prepared: Prepared) -> list[TrainedTrial]:
    """The trials of a fit with their logits of the pool."""
    shift, scale = prepared.data.shift, prepared.data.scale
    logits = predict_logits(
        prepared.model, fitted, prepared.examples.pool.x, shift=shift, scale=scale
    )
    return [
        TrainedTrial(logits[i], fitted.loss[:, i], int(step))
        for i, step in enumerate(fitted.failed_step)
    ]


def _reporter(specification: Specification, display: Display) -> Callable[[Progress], None]:
    task = f"{specification.training.dataset} {specification.method}"
    display.step(task, 0, specification.training.plan["epochs"])
    return lambda progress: display.step(task, progress.epoch, progress.epochs)


def _ranges(numbers: Sequence[int]) -> str:
    """0,1,2,5 as "0-2,5"."""
    runs = [list(run) for _, run in groupby(numbers, key=lambda i: i - numbers.index(i))]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def load_trial(path: Path) -> TrainedTrial | None:
    """A trained trial, or None where it is missing or its file is damaged."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            return TrainedTrial(saved["logits"], saved["loss"], int(saved["failed_step"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def save_trial(path: Path, trial: TrainedTrial) -> None:
    """Write a trained trial, whole or not at all."""
    content = io.BytesIO()
    np.savez(content, **trial._asdict())
    write_whole(path, content.getvalue())


def _record(
    specification: Specification, prepared: Prepared, trials: Sequence[TrainedTrial]
) -> Record:
    """What a record says besides its results."""
    examples = prepared.examples
    return {
        "name": specification.name,
        "specification": specification.to_json(),
        "data": {
            "fingerprint": examples.fingerprint(),
            "train": len(examples.train.y),
            "pool": len(examples.pool.y),
            "n_cal": examples.n_cal,
        },
        "failed": sum(trial.failed_step >= 0 for trial in trials),
        "trials": [
            {"failed_step": trial.failed_step, "loss": _finite(trial.loss[-1])} for trial in trials
        ],
    }


def _finite(value: Any) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def circumstances(seconds: dict[str, float]) -> dict[str, Any]:
    """When, how fast and with what: all that may differ between equal runs."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "versions": statement(),
    }


@contextmanager
def one_process(folder: Path) -> Iterator[None]:
    """Refuse to train what another process is training."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(folder / ".lock", timeout=0):
            yield
    except filelock.Timeout:
        raise RunError(
            f"Another process is running this already (in {folder}): wait for it, then run the "
            f"command again to see its results."
        ) from None


@contextmanager
def warnings_noted(note: Callable[[str], None]) -> Iterator[None]:
    """Tell our own warnings to the display, each once; others go their usual way."""
    noted: set[str] = set()
    with warnings.catch_warnings():
        for category in _SPOKEN:
            warnings.simplefilter("always", category)
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
            if not issubclass(category, _SPOKEN):
                usual(message, category, *rest, **named)
            elif str(message) not in noted:
                noted.add(str(message))
                note(str(message))

        warnings.showwarning = show
        yield
