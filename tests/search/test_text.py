"""What a person types."""

import dataclasses

import pytest

import conftr
from conftr.machine.plain_data import build, part
from conftr.search import text
from conftr.training import AnyView, Crop, Cutout, Flip, InTurn

FILE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Lowest:
    def __call__(self, scores, alpha):
        return scores.min()

@dataclass(frozen=True)
class Needy:
    weight: float

class Plain:
    pass

def margin(logits):
    return logits

def net(inputs, classes):
    return None
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_names_and_numbers():
    assert text.names("cross-entropy, bel,,bel") == ("cross-entropy", "bel")
    assert text.alphas("0.01,.05") == (0.01, 0.05)
    assert text.alphas(None) == ()


def test_models(file):
    assert text.model("linear") == text.LINEAR
    assert text.model("mlp:64x32") == part("MLP", hidden=(64, 32))
    assert text.model("convnet:8") == part("ConvNet", channels=(8,))
    assert text.model("resnet34:4") == part("ResNet", width=4)
    assert text.model("resnet50:64") == part("ResNet", width=64, bottleneck=True)
    assert text.model("views:linear") == part("MLPOfViews", hidden=())
    assert text.model("views:mlp:8x4") == part("MLPOfViews", hidden=(8, 4))
    assert text.model("members:mlp:8") == part("MLPFromAverage", hidden=(8,))
    assert text.model(f"{file}:net").kind.startswith("mine.py:net@")


def test_quantiles(file):
    assert text.quantile("smooth-sort:0.1") == conftr.SmoothSort(0.1, conftr.paper_position)
    assert text.quantile("exact-smooth-sort:1") == conftr.SmoothSort(1.0)
    assert text.quantile("order-statistic") == conftr.OrderStatistic()
    assert text.quantile("nearest:0.02") == conftr.Nearest(0.02)
    assert type(text.quantile(f"{file}:Lowest")).__name__ == "Lowest"


def test_scores(file):
    assert text.score("thr") == ("THR", part("thr"))
    assert text.score("raps")[1]["penalty"] == 0.01
    name, margin = text.score(f"{file}:margin")
    assert (name, margin.__name__) == ("margin", "margin")


@pytest.mark.parametrize(
    ("value", "slot"),
    [
        (conftr.ConfTr(), "objective"),
        (conftr.class_loss, None),
        (conftr.Nearest(0.1), "quantile"),
        (conftr.thr, "score"),
        (conftr.aps, "score"),
        (lambda sets, labels, power=2: 0, "set_loss"),
        (lambda logits, y: 0, None),
        (3, None),
    ],
)
def test_the_names_of_arguments_tell_what_a_value_is(value, slot):
    if slot:
        assert text.slot(value) == slot
    else:
        with pytest.raises(ValueError, match=r"must be a function of \(logits, labels\)"):
            text.slot(value)


def test_a_class_stands_for_its_default_value(file):
    assert text.valued(conftr.CrossEntropy) == conftr.CrossEntropy()
    assert dataclasses.is_dataclass(text.thing(f"{file}:Lowest"))
    with pytest.raises(ValueError, match="every field of Needy must have a default"):
        text.thing(f"{file}:Needy")
    with pytest.raises(ValueError, match="Plain must be a frozen dataclass, or a function"):
        text.thing(f"{file}:Plain")


@pytest.mark.parametrize(
    ("read", "typed", "message"),
    [
        (text.alphas, "0.1,x", "alpha must be numbers"),
        (text.alphas, "0.1,2", "strictly between 0 and 1; got 2"),
        (text.model, "mlp", "model must be linear, mlp:64x64"),
        (text.model, "mlp:0", "model must be linear, mlp:64x64"),
        (text.model, "resnet:3", "got 'resnet:3'"),
        (text.model, "views:convnet:3", "got 'views:convnet:3'"),
        (text.model, "members:linear", "members:mlp:64x64 or FILE.py:NAME; got 'members:linear'"),
        (text.augmentation, "flip, turn", "augmentation must be among flip, crop:4"),
        (text.augmentation, "crop:x", "got 'crop:x'"),
        (text.schedule, "slow", "schedule must be one of cosine, constant, steps; got 'slow'"),
        (text.quantile, "nearest", "quantile must be order-statistic, "),
        (text.quantile, "median:1", "got 'median:1'"),
        (text.quantile, "avoid:1", "got 'avoid:1'"),
        (text.score, "THR", "score must be one of thr, .* got 'THR'"),
        (text.names, " ,", "there must be at least one name"),
    ],
)
def test_what_cannot_be_read_is_refused(read, typed, message):
    with pytest.raises(ValueError, match=message):
        read(typed)


def test_augmentations_are_built_in_their_order():
    result = build(text.augmentation("flip, crop:2,cutout"))
    assert result == InTurn((Flip(), Crop(2), Cutout(16)))
    assert build(text.augmentation("any-view")) == AnyView()
