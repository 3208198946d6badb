"""Networks and linear models as graphs: the products of single precision that they learned with."""

from __future__ import annotations

from typing import Any

import numpy as np

from conftr.exporting.graph import ExportError, Graph, log_softmax
from conftr.exporting.inputs import binned, spread
from conftr.exporting.trees import of_known
from conftr.features.bins import Binned
from conftr.features.images import Images
from conftr.members.logistic import LinearModel


def linear(graph: Graph, matrix: str, model: LinearModel) -> str:
    """Log-probabilities (n, K) of logistic regression, in double precision."""
    x = graph.cast(spread(graph, matrix, model.spread), np.float64)
    product = graph.op("MatMul", x, graph.constant(model.weights))
    logs = log_softmax(graph, graph.op("Add", product, graph.constant(model.bias)))
    return of_known(graph, logs, model.known, model.classes)


def network(graph: Graph, inputs: str, model: Any) -> str:
    """Logits (n, K) of a network, or the mean of log-probabilities of several."""
    x = _encoded(graph, inputs, model.encoding)
    return averaged(graph, [_single(graph, x, model.model, fitted) for fitted in model.fitted])


def averaged(graph: Graph, logits: list[str]) -> str:
    """The mean of log-probabilities (n, K); a single model's logits as they are."""
    if len(logits) == 1:
        return logits[0]
    whole = graph.op("Sum", *(log_softmax(graph, each) for each in logits))
    return graph.op("Div", whole, graph.constant(float(len(logits))))


def _encoded(graph: Graph, inputs: str, encoding: Any) -> str:
    if isinstance(encoding, Binned):
        return binned(graph, inputs, encoding)
    if not isinstance(encoding, Images):
        return spread(graph, inputs, encoding)
    shifted = graph.op("Sub", inputs, graph.constant(encoding.shift, np.float32))
    return graph.op("Mul", shifted, graph.constant(encoding.scale, np.float32))


def _single(graph: Graph, x: str, model: Any, fitted: Any) -> str:
    from conftr.training.models import MLP, ConvNet

    if isinstance(model, MLP):
        x = _flat(graph, x)
        for block, running in zip(fitted.params.hidden, fitted.state, strict=True):
            x = graph.op("Relu", _norm(graph, _dense(graph, x, block.product), block.norm, running))
    elif isinstance(model, ConvNet):
        x = _convolved(graph, x, model, fitted)
    else:
        raise ExportError(
            f"a network must be a conftr.training.MLP or ConvNet to be exported; one is a "
            f"{type(model).__name__}."
        )
    return graph.cast(_dense(graph, x, fitted.params.logits), np.float64)


def _flat(graph: Graph, x: str) -> str:
    return graph.op("Flatten", x, axis=1)


def _dense(graph: Graph, x: str, layer: Any) -> str:
    weight, bias = np.asarray(layer.weight), np.asarray(layer.bias)
    product = graph.op("MatMul", x, graph.constant(weight.T, np.float32))
    return graph.op("Add", product, graph.constant(bias, np.float32))


def _norm(graph: Graph, x: str, norm: Any, running: Any, shape: tuple[int, ...] = (-1,)) -> str:
    """(x - mean) * factor + offset, channels along the axis that the shape leaves open."""
    from conftr.training.models import NORM_EPSILON  # which brings JAX

    mean, var = np.asarray(running.mean), np.asarray(running.var)
    factor = np.asarray(norm.scale) / np.sqrt(var + np.float32(NORM_EPSILON))
    values = (mean, factor, np.asarray(norm.offset))
    mean_, factor_, offset = (graph.constant(value.reshape(shape), np.float32) for value in values)
    centred = graph.op("Sub", x, mean_)
    return graph.op("Add", graph.op("Mul", centred, factor_), offset)


def _convolved(graph: Graph, x: str, model: Any, fitted: Any) -> str:
    """The stages of a ConvNet; ONNX has channels before height and width, and so has the graph."""
    height, width, *channels = model.inputs
    shape = graph.constant([-1, height, width, (*channels, 1)[0]], np.int64)
    x = graph.op("Transpose", graph.op("Reshape", x, shape), perm=[0, 3, 1, 2])
    for block, running in zip(fitted.params.hidden, fitted.state, strict=True):
        kernel = np.asarray(block.product.weight).transpose(3, 2, 0, 1)
        bias = graph.constant(np.asarray(block.product.bias), np.float32)
        x = graph.op("Conv", x, graph.constant(kernel, np.float32), bias, pads=[1, 1, 1, 1])
        x = graph.op("Relu", _norm(graph, x, block.norm, running, (1, -1, 1, 1)))
        x = graph.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    return _flat(graph, graph.op("Transpose", x, perm=[0, 2, 3, 1]))
