"""From labelled examples to chosen networks: encode, train the recipes, compare, keep the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]

from conftr.classifier import candidates, choosing, recipes
from conftr.classifier.calibration import Grouping
from conftr.classifier.candidates import Materials, Trained
from conftr.classifier.choosing import Candidate, Tried
from conftr.classifier.division import Division, Rows, held_out
from conftr.classifier.estimator_rows import named_texts
from conftr.classifier.labels import Labels
from conftr.classifier.recipes import Recipe
from conftr.classifier.refining import Search, refine
from conftr.classifier.stack import Stack
from conftr.conformal import checks
from conftr.machine import digests
from conftr.members.network import seen_rows
from conftr.training.models import Model

if TYPE_CHECKING:
    from conftr.classifier.estimator import ConformalClassifier


class Learned(NamedTuple):
    """The best network of each family, the chosen one first, and how they came about.

    Attributes:
        recipe: Of the chosen one.
        tried: Every network.
        fingerprint: Of the training data.
        tuning: What a search for settings found, as plain data; None where there was none.
    """

    candidates: tuple[Candidate, ...]
    recipe: Recipe
    model: Model
    batch_size: int
    tried: tuple[Tried, ...]
    why: str
    fingerprint: str
    tuning: dict[str, Any] | None


def learn(
    clf: ConformalClassifier,
    X: Any,
    labels: Labels,
    division: Division,
    *,
    by: Grouping,
    groups: Any,
    until: float,
) -> Learned:
    """Train on one part of the examples, choose on another. Calibration examples are not touched.

    Args:
        clf: Whose settings say how; None lets the data decide.
        X: The user's rows.
        labels: Their classes, (n,).
        division: Which of them train and which choose.
        by: As in `calibrated`.
        groups: As in `calibrated`.
        until: When the time limit ends, by the monotonic clock.
    """
    materials = _materials(clf, X, labels, division)
    chooses = len(division.validation) > 0
    to_train = _recipes(clf, materials, chooses=chooses)
    trained = candidates.train(to_train, materials, report=clf.progress, until=until)
    remarks = _late(clf, len(to_train) - len(trained))
    ask = partial(_question, clf, labels, by, groups)
    choice, tried = _chosen(clf, trained, ask(division.validation))
    account = None
    if clf.tune is not None:
        best = [trained[i].recipe for i in sorted(choice.places.values())]
        networks, account = refine(best, materials, _search(clf, materials, division, ask, until))
        # Where nothing can choose, the first is kept; else the first family is to stay the first.
        trained = [*trained, *networks] if chooses else [*networks, *trained]
        choice, tried = _chosen(clf, trained, ask(division.validation))
        remarks += _searched(
            clf, account, any(trained[choice.first] is network for network in networks)
        )
    return Learned(
        tuple(
            Candidate(*tried[i], Stack((trained[i].network,), None)) for i in choice.places.values()
        ),
        trained[choice.first].recipe,
        materials.model,
        materials.batch_size,
        tuple(tried),
        choice.why + remarks,
        digests.of_arrays(materials.inputs, materials.labels),
        account,
    )


def _question(
    clf: ConformalClassifier, labels: Labels, by: Grouping, groups: Any, rows: Rows
) -> choosing.Question:
    """What is asked of a network's logits of these examples."""
    return choosing.Question(
        labels[rows],
        clf.classes_.tolist(),
        clf.alpha,
        clf.score_,
        by,
        None if groups is None else groups[rows],
        clf.shape,
        clf.seed_,
    )


def _search(
    clf: ConformalClassifier,
    materials: Materials,
    division: Division,
    ask: Callable[[Rows], choosing.Question],
    until: float,
) -> Search:
    """A search on training examples alone, by the measure that chooses between networks."""
    assert clf.tune is not None
    rows, held = held_out(materials.labels, alpha=clf.alpha, seed=clf.seed_)
    question = ask(division.train[held])

    def measure(logits: Any) -> float:
        return float(choosing.costs(logits, question).mean())

    return Search(clf.tune, rows, held, measure, clf.progress, until)


def _chosen(
    clf: ConformalClassifier, trained: Sequence[Trained], question: choosing.Question
) -> tuple[choosing.Choice, list[Tried]]:
    """The choice, with why in words, and the measure of every network."""
    n, families = len(question.labels), [network.recipe.family for network in trained]
    if not n:
        choice = choosing.Choice({families[0]: 0}, _unmeasured(clf, families[0]))
        return choice, [_tried(network, None) for network in trained]
    measured = [choosing.costs(network.validation, question) for network in trained]
    choice = choosing.choose(families, measured)
    measure = "mean set size" if clf.shape is None else "mean set size as the wishes weigh it"
    why = f"Chosen by {measure} on {n} validation examples: {choice.why}."
    tried = [
        _tried(network, float(costs_of.mean()))
        for network, costs_of in zip(trained, measured, strict=True)
    ]
    return choice._replace(why=why), tried


def _materials(clf: ConformalClassifier, X: Any, labels: Labels, division: Division) -> Materials:
    """Encoded training and validation examples, and a network for them."""
    n = len(division.train)
    train = _safe_indexing(X, division.train)
    reader, encoding, inputs = seen_rows(train, named_texts(clf))
    held = _safe_indexing(X, division.validation)
    return Materials(
        reader,
        encoding,
        recipes.model_for(clf.model, encoding.inputs, len(clf.classes_.tolist()), n),
        inputs,
        labels[division.train],
        encoding.encode(reader.encode(held)) if len(division.validation) else inputs[:0],
        _batch_size(clf, n),
        clf.seed_,
    )


def _batch_size(clf: ConformalClassifier, n: int) -> int:
    if clf.batch_size is None:
        return recipes.batch_size_for(n, clf.alpha)
    checks.number(clf.batch_size, "batch_size", at_least=1)
    if clf.batch_size > n:
        raise ValueError(
            f"batch_size must be at most {n}, the number of examples that train; got "
            f"{clf.batch_size}."
        )
    return int(clf.batch_size)


def _recipes(clf: ConformalClassifier, materials: Materials, *, chooses: bool) -> list[Recipe]:
    """The recipes of the method; where nothing can choose, its first, shortened as time asks."""
    model, inputs = materials.model, materials.encoding.inputs
    if clf.epochs is not None:
        checks.number(clf.epochs, "epochs", at_least=1)
    n = len(materials.labels)
    epochs = clf.epochs or recipes.epochs_for(n, materials.batch_size, model, inputs)
    limited = clf.time_limit is not None
    every = recipes.recipes(
        clf.method,
        alpha=clf.alpha,
        batch_size=materials.batch_size,
        classes=clf.classes_.tolist(),
        shape=clf.shape,
        lengths=recipes.lengths_for(int(epochs), fixed=clf.epochs is not None, limited=limited),
        learning_rate=clf.learning_rate,
    )
    if chooses:
        return every
    first = every[0]
    same = [
        recipe
        for recipe in every
        if (recipe.family, recipe.weight_decay) == (first.family, first.weight_decay)
    ]
    return same if limited else [first]


def _tried(network: Trained, size: float | None) -> Tried:
    measured = (
        "" if size is None else f"; {size:.3f} on {len(network.validation)} validation examples"
    )
    return Tried(network.recipe.family, f"{network.recipe.words}{measured}.", size)


def _unmeasured(clf: ConformalClassifier, family: str) -> str:
    if clf.method != "auto":
        return f"{family}: it was asked for."
    return (
        f"{family}: there are too few examples to spare some for a comparison, so nothing else was "
        f"tried."
    )


def _late(clf: ConformalClassifier, missing: int) -> str:
    if clf.time_limit is None or not missing:
        return ""
    return f" {missing} more were not trained to the end within {clf.time_limit:g} s."


def _searched(clf: ConformalClassifier, account: Mapping[str, Any], kept: bool) -> str:
    """What came of a search; kept: whether what it found was chosen."""
    if not account["rows"]:
        return " No settings were searched: there are too few training examples to hold some out."
    if not account["found"]:
        return f" No search for settings was over within {clf.time_limit:g} s."
    verdict = "those chosen were found there" if kept else "those chosen were not found there"
    return (
        f" {account['settings']} settings ({', '.join(account['found'])}) were compared on "
        f"{account['rows']} held-out training examples; {verdict}."
    )
