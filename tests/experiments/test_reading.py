"""What a person types."""

import pytest

from conftr.experiments import reading
from conftr.experiments.settings import LINEAR, SMOOTH_SORT
from conftr.machine.plain_data import part


def test_names_and_numbers():
    assert reading.names("baseline, bel,,bel") == ("baseline", "bel")
    assert reading.numbers("0.01,.05") == (0.01, 0.05)
    assert reading.numbers(None) == ()


def test_models():
    assert reading.model(None) is None
    assert reading.model("linear") == LINEAR
    assert reading.model("mlp:64x32") == part("MLP", hidden=(64, 32))
    assert reading.model("convnet:8") == part("ConvNet", channels=(8,))


def test_quantiles():
    assert reading.quantile(None) is None
    assert reading.quantile("smooth-sort:0.1") == SMOOTH_SORT
    assert reading.quantile("order-statistic") == part("OrderStatistic")
    assert reading.quantile("nearest:0.02") == part("Nearest", fraction=0.02)
    assert reading.quantile("exact-smooth-sort:1")["position"] == part("exact_position")


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (reading.numbers, "0.1,x", "alpha must be numbers"),
        (reading.numbers, "0.1,2", "strictly between 0 and 1; got 2"),
        (reading.model, "mlp", "model must be linear, mlp:64x64"),
        (reading.model, "mlp:0", "model must be linear, mlp:64x64"),
        (reading.model, "resnet:3", "got 'resnet:3'"),
        (reading.quantile, "nearest", "quantile must be one of order-statistic, "),
        (reading.quantile, "median:1", "got 'median:1'"),
        (reading.names, " ,", "methods must name at least one"),
    ],
)
def test_what_cannot_be_read_is_refused(read, text, message):
    with pytest.raises(ValueError, match=message):
        read(text)
