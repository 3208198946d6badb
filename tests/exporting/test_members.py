"""Members as graphs: the same log-probabilities as in Python, of any rows."""

import numpy as np
import polars as pl
import pytest

from conftr.classifier.cross_fitting import divide
from conftr.classifier.head import Head, mean
from conftr.classifier.stack import Stack
from conftr.exporting import checking, inputs, stacks
from conftr.exporting.graph import ExportError, Graph, log_softmax
from conftr.members.boosted import Boosted
from conftr.members.forest import EXTRA, RANDOM, Forest
from conftr.members.logistic import Logistic
from conftr.members.member import FittedMember, MemberRows
from conftr.members.network import Network
from conftr.training import ConvNet

pytest.importorskip("onnxruntime", reason="exports are compared in onnxruntime")


def said_by(stack, x, classes):
    """Log-probabilities of the exported graph."""
    graph = Graph()
    logs = log_softmax(graph, stacks.logits(graph, stack, classes))
    graph.output("logs", logs, np.float64, ["rows", classes])
    return checking.session(graph.model({})).run(["logs"], inputs.feeds(stack.reader, x))[0]


def numbers(n, seed, classes=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = rng.normal(size=(n, 5)) + 1.5 * np.eye(classes, 5)[y]
    x[rng.random(x.shape) < 0.05] = np.nan
    x[:, 4] = 3.0  # tells nothing
    return x, y.astype(np.int32)


def table(n, seed, *, odd=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    kinds = np.array(["red", "green", "blue", "=1", "never"])
    shown = np.where(rng.random(n) < 0.6, kinds[y], kinds[rng.integers(0, 4 + odd, n)])
    many = [f"level {k}" for k in rng.integers(0, 40, n)]
    frame = pl.DataFrame(
        {
            "colour": pl.Series(shown.tolist()),
            "x": rng.normal(size=n) + y,
            "many": pl.Series(many),
            "z": rng.integers(0, 5, n).astype(float),
        }
    )
    gone = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(
        pl.when(~gone).then(pl.col("colour")).alias("colour"),
        pl.when(~gone.reverse()).then(pl.col("x")).alias("x"),
    ), y.astype(np.int32)


def fitted(member, x, y, folds=2, classes=None):
    given = MemberRows(x, y, classes or int(y.max()) + 1)
    return member.fit(given, divide(y, folds, 0), seed=0, progress=lambda *_: None)


FOREST, LEAVES = Forest(EXTRA, trees=5), Forest(RANDOM, trees=5, min_leaf=7)
NETWORK = Network(decays=(0.0005,), hidden=(8,), steps=20)
MEMBERS = {
    "pure forest": FOREST,
    "forest": LEAVES,
    "logistic": Logistic(),
    "network": NETWORK,
}


@pytest.fixture(params=[*MEMBERS, "boosted"])
def member(request):
    if request.param == "boosted":
        pytest.importorskip("lightgbm", reason="boosted trees are LightGBM's")
        return Boosted(rounds=6)
    return MEMBERS[request.param]


@pytest.mark.parametrize("kind", [numbers, table], ids=["numbers", "table"])
def test_the_graph_says_what_the_member_says(member, kind):
    fitted_member = fitted(member, *kind(300, 0))[0]
    new, y = table(400, 1, odd=True) if kind is table else numbers(400, 1)
    stack = Stack((fitted_member,), None)
    logs = said_by(stack, new, int(y.max()) + 1)
    expected = stack.logits(new)
    expected = expected - np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(logs, expected, atol=2e-5, rtol=1e-6)


def test_trees_are_exact():
    pytest.importorskip("lightgbm", reason="boosted trees are LightGBM's")
    x, y = numbers(300, 0)
    for member in (FOREST, Boosted(rounds=6)):
        fitted_member = fitted(member, x, y)[0]
        # Thresholds themselves are asked about, where a bit decides.
        new_rows = np.concatenate([x, np.nextafter(x, np.inf), x.astype(np.float32)])
        logs = said_by(Stack((fitted_member,), None), new_rows, 4)
        expected = fitted_member.logits(new_rows)
        expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(logs, expected, atol=1e-12)


def test_classes_that_a_fold_lacks_have_their_floor(member):
    x, y = numbers(60, 0, classes=3)
    fitted_member = fitted(member, x, y, classes=4)[0]
    stack = Stack((fitted_member,), None)
    logs, expected = said_by(stack, x, 4), stack.logits(x)
    expected = expected - np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(logs, expected, atol=2e-5)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("with_matrix", [False, True])
def test_a_stack_with_its_head(classes, with_matrix):
    x, y = numbers(300, 0, classes)
    members = tuple(
        fitted_member for m in (FOREST, LEAVES, Logistic()) for fitted_member in fitted(m, x, y)
    )
    rng, head = np.random.default_rng(0), mean(3)
    if with_matrix:
        matrix = rng.normal(size=(classes, classes)) / 9
        head = Head("made up", rng.random(3), rng.normal(size=classes), matrix)
    # Members share the rows, as in a classifier, and so their reader.
    first = members[0].reader
    members = tuple(
        type(fitted_member)(fitted_member.name, first, fitted_member.models)
        for fitted_member in members
    )
    stack = Stack(members, head)
    new = numbers(300, 1, classes)[0]
    expected = stack.logits(new)
    expected = expected - np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(said_by(stack, new, classes), expected, atol=1e-6)


@pytest.mark.parametrize("member", [FOREST, LEAVES, Logistic()], ids=lambda item: item.name)
def test_pixels_are_columns_to_what_is_no_network(member):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90).astype(np.int32)
    x = (rng.integers(0, 60, (90, 4, 5, 2)) + 60 * y[:, None, None, None]).astype(np.uint8)
    stack = Stack((fitted(member, x, y)[0],), None)
    expected = stack.logits(x)
    expected = expected - np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(said_by(stack, x, 3), expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(9, 8), (8, 9, 3)])
@pytest.mark.parametrize("architecture", [None, ConvNet], ids=["MLP", "ConvNet"])
def test_images(shape, architecture):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90).astype(np.int32)
    x = rng.integers(0, 255, (90, *shape)).astype(np.uint8)
    network = Network(
        decays=(0.0005,),
        seeds=1 if architecture else 2,
        hidden=(6,),
        architecture=architecture,
        steps=10,
        batch_size=30,
        learning_rate=0.01,
    )
    fitted_member = fitted(network, x, y)[0]
    stack = Stack((fitted_member,), None)
    expected = stack.logits(x)
    expected = expected - np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(said_by(stack, x, 3), expected, atol=1e-4)


class _Guess:
    """A model of a kind that graphs do not know."""

    kind, words = "guess", "a guess"


@pytest.mark.parametrize("place", [0, 1])
def test_a_member_of_a_new_kind_is_refused_beside_one_that_is_known(place):
    (known,) = fitted(Logistic(), *numbers(60, 0))
    members = [known]
    members.insert(place, FittedMember("guess", known.reader, (_Guess(),)))
    with pytest.raises(ExportError, match="a guess cannot be exported: it is no member of conftr"):
        stacks.logits(Graph(), Stack(tuple(members), mean(2)), 4)
