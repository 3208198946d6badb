"""Networks of ours: all folds, seeds and weight decays train side by side in one program."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import jax
import numpy as np
import numpy.typing as npt
import safetensors.numpy

from conftr.conformal.objectives import CrossEntropy
from conftr.data.dataset import Normalisation
from conftr.features import codes
from conftr.features.bins import Binned
from conftr.features.images import Images
from conftr.features.spread import Spread
from conftr.features.text_columns import TextColumns, WordColumns
from conftr.features.word_vectors import NOTHING, STEP
from conftr.machine.rows_on_disk import RowsOnDisk
from conftr.members.drawing import drawn
from conftr.members.member import (
    Files,
    FittedMember,
    Fold,
    MemberError,
    MemberRows,
    Numbers,
    Progress,
    Rows,
    averaged,
)
from conftr.training import (
    SGD,
    Fitted,
    Plan,
    TrainingSet,
    TrainingWarning,
    cosine,
    fit,
    predict_logits,
    trial_keys,
)
from conftr.training import Progress as Epoch
from conftr.training.augmentation import Augmentation
from conftr.training.epochs import Objective, named_leaves
from conftr.training.models import MLP, ConvNet, Model
from conftr.training.resnets import ResNet
from conftr.training.words import WordNet

Encoding: TypeAlias = Spread | Binned | Images
Architecture: TypeAlias = Callable[[tuple[int, ...], int], Model]

WEAK, STRONG = 0.0005, 0.005  # weight decay

_USUAL = CrossEntropy()
_WEIGHTS, _SETTINGS = "network.safetensors", "network.json"
_KINDS: dict[str, Any] = {"MLP": MLP, "ConvNet": ConvNet, "ResNet": ResNet, "WordNet": WordNet}
# Rows go through a network in blocks of this size, filled up with zeros: a row's logits are then
# the same to the last bit whatever stands beside it, and one program serves any number of rows.
_BLOCK = 256
_ENCODED = 4 * _BLOCK  # rows that are encoded at a time: inputs of all would take much memory


@dataclass(frozen=True)
class Network:
    """Networks for each fold.

    Attributes:
        objective: What is minimised, such as `conftr.RWCE()`.
        decays: A member for each; rows decide which of them is heard.
        bins: Whether columns of numbers also go in as bins between their quantiles.
        words: Whether texts go in as words in their order, and nothing else does.
        seeds: Networks of a fold that differ in their first weights and are averaged.
        hidden: Widths of hidden layers; None chooses by the number of rows.
        architecture: In place of `hidden`, a function of (input shape, K) such as `ConvNet`.
        augmentation: What a step does to its pictures; prediction sees them as they are.
        steps: Of a training run, about.
        batch_size: None chooses.
    """

    name: str = "network"
    decays: tuple[float, ...] = (WEAK, STRONG)
    bins: bool = False
    words: bool = False
    seeds: int = 1
    hidden: tuple[int, ...] | None = None
    architecture: Architecture | None = None
    augmentation: Augmentation | None = None
    steps: int = 4000
    batch_size: int | None = None
    learning_rate: float = 0.1
    objective: Objective = _USUAL

    def fit(
        self, rows: MemberRows, folds: Sequence[Fold], *, seed: int, progress: Progress
    ) -> list[FittedMember]:
        """Train all networks side by side; those that diverge are left out."""
        rows = _by_words(rows) if self.words else rows
        given = np.asarray(rows.inputs) if self.bins else rows.inputs  # quantiles need all rows
        encoding = _encoding_of(rows.reader, given, bins=self.bins)
        inputs = encoding.encode(given)
        size = min(len(fold.train) for fold in folds)
        model, plan = self._model(encoding, rows.classes, size), self._plan(size)
        trials = [
            _Trial(decay, number, copy)
            for decay in self.decays
            for number in range(len(folds))
            for copy in range(self.seeds)
        ]
        data = (inputs, rows.labels)
        fitted = _train(
            model,
            (self.objective, plan),
            trials,
            data,
            encoding,
            folds,
            rows.weights,
            seed,
            progress,
        )
        members = []
        for decay in self.decays:
            models = _by_fold(encoding, model, fitted, trials, decay)
            if models is not None:
                members.append(FittedMember(self._called(decay), rows.reader, models))
        if not members:
            raise MemberError(
                "no network trained to the end: its loss or gradient was not finite. A smaller "
                "learning_rate may help."
            )
        return members

    def _called(self, decay: float) -> str:
        return self.name if len(self.decays) == 1 else f"{self.name}, decay {decay:g}"

    def _model(self, encoding: Any, classes: int, n: int) -> Model:
        if self.architecture is not None:
            return self.architecture(encoding.inputs, classes)
        hidden = self.hidden
        if hidden is None:
            hidden = (64,) if n < 200 else (128, 128)
        return MLP(encoding.inputs, classes, hidden)

    def _plan(self, n: int) -> Plan:
        batch = self.batch_size or int(np.clip(2 ** round(math.log2(max(1, n / 300))), 64, 512))
        batch = min(batch, n)
        epochs = int(np.clip(self.steps * batch / n, 5, 200))
        optimiser = SGD(self.learning_rate, schedule=cosine)
        return Plan(epochs, batch, optimiser, augmentation=self.augmentation)


class _Trial(NamedTuple):
    """One network: its weight decay, its fold, and which of the fold's networks it is."""

    decay: float
    fold: int
    copy: int


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """An encoding and networks of one fold, whose probabilities are averaged."""

    kind: ClassVar[str] = "network"

    encoding: Encoding
    model: Model
    fitted: tuple[Fitted, ...]

    @property
    def words(self) -> str:
        """What is trained."""
        several = f"{len(self.fitted)} networks of " * (len(self.fitted) > 1)
        hidden = getattr(self.model, "hidden", None)
        shape = type(self.model).__name__ if hidden is None else f"widths {list(hidden)}"
        return several + shape

    def logits(self, inputs: Any) -> Numbers:
        """A single network's logits, or the log of the mean over networks, (n, K)."""
        firsts = range(0, max(1, len(inputs)), _ENCODED)
        return np.concatenate([self._of_some(inputs[i : i + _ENCODED]) for i in firsts])

    def _of_some(self, inputs: Any) -> Numbers:
        encoded = self.encoding.encode(inputs)
        return averaged([self._logits(fitted, encoded) for fitted in self.fitted])

    def _logits(self, fitted: Fitted, encoded: Any) -> Numbers:
        return in_blocks(self.model, fitted, self.encoding, encoded).astype(np.float64)

    def files(self) -> Files:
        """Weights as arrays, the encoding and the network's shape as text."""
        kind = type(self.model).__name__
        if kind not in _KINDS:
            raise MemberError(
                f"a network must be a conftr.training.MLP, ConvNet, ResNet or WordNet to be saved; "
                f"{kind} is code of yours."
            )
        arrays = {
            f"{i}/{name}": np.ascontiguousarray(leaf)
            for i, fitted in enumerate(self.fitted)
            for name, leaf in named_leaves({"params": fitted.params, "state": fitted.state})[
                0
            ].items()
        }
        settings = {
            "encoding": self.encoding.to_json(),
            "kind": kind,
            "model": asdict(self.model),  # type: ignore[call-overload]
            "networks": len(self.fitted),
        }
        return {_WEIGHTS: safetensors.numpy.save(arrays), _SETTINGS: json.dumps(settings).encode()}


def load(files: Files) -> TrainedNetwork:
    """The networks that were saved as these files.

    Raises:
        MemberError: If the weights are not those of the network.
    """
    settings, arrays = json.loads(files[_SETTINGS]), safetensors.numpy.load(files[_WEIGHTS])
    shape = {k: tuple(v) if isinstance(v, list) else v for k, v in settings["model"].items()}
    model = _KINDS[settings["kind"]](**shape)
    encoding = _encoding(settings["encoding"])
    networks = tuple(_restored(model, arrays, str(i)) for i in range(settings["networks"]))
    return TrainedNetwork(encoding, model, networks)


def _encoding(data: Any) -> Any:
    if "kind" in data:
        return codes.from_json(data)
    return (Binned if "edges" in data else Spread).from_json(data)


def filled(rows: Any) -> Any:
    """Rows followed by zeros to whole blocks: programs for other numbers of rows then serve too."""
    missing = -len(rows) % _BLOCK or _BLOCK * (not len(rows))
    return np.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1)) if missing else rows


def in_blocks(
    model: Model, fitted: Fitted, encoding: Encoding, encoded: Any
) -> npt.NDArray[np.float32]:
    """Logits of encoded rows: (n, K), or (trials, n, K)."""
    shift, scale = normalisation(encoding)
    rows = encoded if len(encoded) >= _BLOCK else filled(encoded)
    logits = predict_logits(model, fitted, rows, shift=shift, scale=scale, block=_BLOCK)
    return logits[..., : len(encoded), :]


def _restored(model: Model, arrays: dict[str, Any], prefix: str) -> Fitted:
    params, state = jax.eval_shape(model.init, jax.random.key(0))
    expected, structure = named_leaves({"params": params, "state": state})
    leaves = {name: arrays.get(f"{prefix}/{name}") for name in expected}
    for name, leaf in expected.items():
        kept = leaves[name]
        if kept is None or (kept.shape, kept.dtype) != (leaf.shape, leaf.dtype):
            raise MemberError(f"{_WEIGHTS} does not hold {name} of shape {leaf.shape}.")
    tree = structure.unflatten(leaves[name] for name in expected)
    return _fitted(tree["params"], tree["state"])


def _fitted(params: Any, state: Any) -> Fitted:
    return Fitted(params, state, np.zeros(0, np.float32), np.array(-1, np.int32))


def _by_words(rows: MemberRows) -> MemberRows:
    """The same rows as words in their order."""
    if not isinstance(rows.reader, TextColumns):
        raise MemberError("words are those of texts, and no column of the rows holds texts.")
    return rows.read_by(WordColumns.learn(rows.X, list(rows.reader.texts)))


def _encoding_of(
    reader: codes.RowReader | WordColumns, inputs: Any, *, bins: bool = False
) -> Encoding:
    """How networks see rows that a reader has read."""
    if isinstance(reader, Images):
        return reader
    if isinstance(reader, WordColumns):  # bytes, as those of pictures are
        numbers = np.array([NOTHING], np.float32), np.array([STEP], np.float32)
        return Images(reader.inputs, Normalisation(*numbers), of_bytes=True)
    return (Binned if bins else Spread).learn(inputs, reader.levels)


class SeenRows(NamedTuple):
    """What reads rows, what networks see of them, and training rows as they see them."""

    reader: codes.RowReader
    encoding: Encoding
    inputs: Any


def seen_rows(x: Any, texts: Sequence[str] | None = None) -> SeenRows:
    """Training rows of the user's as a network sees them.

    Args:
        x: As in `codes.learn`.
        texts: The columns of a data frame that hold texts; None recognises them.
    """
    x = np.asarray(x) if isinstance(x, RowsOnDisk) else x
    reader = codes.learn(x, texts)
    read = reader.encode(x)
    encoding = _encoding_of(reader, read)
    return SeenRows(reader, encoding, encoding.encode(read))


def normalisation(encoding: Encoding) -> tuple[Any, Any]:
    """What is taken off inputs, and what they are multiplied by then, in the first step."""
    return (encoding.shift, encoding.scale) if isinstance(encoding, Images) else (0.0, 1.0)


def _train(
    model: Model,
    aim: tuple[Objective, Plan],
    trials: Sequence[_Trial],
    data: tuple[Any, Any],
    encoding: Encoding,
    folds: Sequence[Fold],
    weights: Numbers | None,
    seed: int,
    progress: Progress,
) -> Fitted:
    def step(now: Epoch) -> None:
        progress(now.epoch, now.epochs)

    objective, plan = aim
    progress(0, plan.epochs)
    places = [trial.fold * 1000 + trial.copy for trial in trials]
    with _quiet():
        fitted = fit(
            trial_keys(seed, max(places) + 1)[np.array(places)],
            model,
            TrainingSet(*data, *normalisation(encoding)),
            objective,
            plan,
            rows=_same_length(
                [_rows_of(folds[trial.fold], weights, seed) for trial in trials], seed
            ),
            vary={"weight_decay": [trial.decay for trial in trials]},
            progress=step,
        )
    kept: Fitted = jax.tree.map(np.asarray, fitted)
    return kept


def _rows_of(fold: Fold, weights: Numbers | None, seed: int) -> Rows:
    """The rows that train a fold's network, as often as their weights ask for."""
    return fold.train if weights is None else drawn(fold.train, weights[fold.train], seed)


def _same_length(rows: Sequence[Rows], seed: int) -> npt.NDArray[np.int32]:
    """Rows of every trial, cut at random to the length of the shortest."""
    size = min(map(len, rows))
    cut = [
        of_trial
        if len(of_trial) == size
        else np.random.default_rng([seed, len(of_trial)]).permutation(of_trial)[:size]
        for of_trial in rows
    ]
    return np.stack(cut).astype(np.int32)


def _by_fold(
    encoding: Any, model: Model, fitted: Fitted, trials: Sequence[_Trial], decay: float
) -> tuple[TrainedNetwork, ...] | None:
    """The networks of one weight decay by fold; None if a fold has none that is finite."""
    by_fold: dict[int, list[Fitted]] = {}
    for i, trial in enumerate(trials):
        if trial.decay == decay:
            network, sound = fitted.trial(i), by_fold.setdefault(trial.fold, [])
            if network.failed_step < 0 and all(
                bool(np.isfinite(leaf).all())
                for leaf in jax.tree.leaves((network.params, network.state))
            ):
                sound.append(_fitted(network.params, network.state))
    if not all(by_fold.values()):
        return None
    return tuple(TrainedNetwork(encoding, model, tuple(networks)) for networks in by_fold.values())


@contextmanager
def _quiet() -> Iterator[None]:
    """Say nothing of single networks that fail: others stand beside them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        yield
