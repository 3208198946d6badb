"""Members and their head as a graph: from rows to logits."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from conftr.classifier.head import LOWEST, REACH, Head
from conftr.classifier.stack import Stack
from conftr.conformal.scores import LOWEST_LOG
from conftr.exporting import networks, trees, wishes
from conftr.exporting.graph import ExportError, Graph, log_softmax
from conftr.exporting.inputs import read
from conftr.features.frozen_pictures import FrozenPictures
from conftr.features.images import Images
from conftr.members.boosted import BoostedTrees
from conftr.members.elsewhere import OutputColumns
from conftr.members.forest import Trees
from conftr.members.logistic import LinearModel
from conftr.members.member import FLOOR, FittedMember


def logits(graph: Graph, stack: Stack, classes: int) -> str:
    """Logits (n, K) of a stack, doubles. Rows are read once for all members."""
    readers = {id(member.reader): member.reader for member in stack.members}
    check(stack)
    if len({type(reader) for reader in readers.values()}) < len(readers):
        raise ExportError(
            "members that read the same rows in different ways cannot be exported together."
        )
    inputs = {key: _Inputs(graph, reader, classes) for key, reader in readers.items()}
    answers = [_member(graph, inputs[id(member.reader)], member) for member in stack.members]
    return answers[0] if stack.head is None else _headed(graph, answers, stack.head, classes)


def check(stack: Stack) -> None:
    """Refuse a stack that reads rows through a frozen network, which is not part of it."""
    for member in stack.members:
        if isinstance(member.reader, FrozenPictures):
            raise ExportError(
                f"the member {member.name!r} reads pictures through {member.reader.words}, whose "
                f"weights are no part of the model and are not exported. A model of small pictures "
                f"can be if it is fitted with --members convnet."
            )


class _Inputs:
    """What a reader makes of rows: as it is for networks, a matrix of doubles for all others."""

    def __init__(self, graph: Graph, reader: Any, classes: int) -> None:
        self._graph, self._images = graph, isinstance(reader, Images)
        self.whole = read(graph, reader, classes)

    @cached_property
    def matrix(self) -> str:
        """Rows (n, d); of an image its pixels in a row."""
        if not self._images:
            return self.whole
        return self._graph.cast(self._graph.op("Flatten", self.whole, axis=1), np.float64)


def _member(graph: Graph, inputs: _Inputs, member: FittedMember) -> str:
    return networks.averaged(graph, [_model(graph, inputs, model) for model in member.models])


def _model(graph: Graph, inputs: _Inputs, model: Any) -> str:
    if isinstance(model, Trees):
        return trees.forest(graph, inputs.matrix, model)
    if isinstance(model, BoostedTrees):
        return trees.boosted(graph, inputs.matrix, model)
    if isinstance(model, LinearModel):
        return networks.linear(graph, inputs.matrix, model)
    if isinstance(model, OutputColumns):
        return _outputs(graph, inputs.whole, model)
    if model.kind == "network":  # its module brings JAX
        return networks.network(graph, inputs.whole, model)
    raise ExportError(
        f"{model.words} cannot be exported: it is no member of conftr's own. Export it in its "
        f"library's way, calibrate its outputs (members=conftr.members.Logits(classes)), and "
        f"export that: the two graphs follow each other."
    )


def _outputs(graph: Graph, inputs: str, model: OutputColumns) -> str:
    if not model.are_probabilities:
        return inputs
    lowest = graph.constant(LOWEST_LOG)
    bounded = graph.op("Max", inputs, graph.constant(float(np.exp(LOWEST_LOG))))
    return graph.op("Max", graph.op("Log", bounded), lowest)


def _headed(graph: Graph, answers: list[str], head: Head, classes: int) -> str:
    """What the head makes of the members' log-probabilities."""
    weighted = [
        graph.op("Mul", _clipped(graph, answer, classes), graph.constant(float(weight)))
        for answer, weight in zip(answers, head.weights, strict=True)
    ]
    logits = combined = log_softmax(graph, graph.op("Sum", *weighted))
    if head.matrix is not None:
        moved = graph.op("MatMul", combined, graph.constant(head.matrix))
        logits = graph.op("Add", combined, moved)
    if head.hidden is not None:
        x = graph.op("Concat", *(_clipped(graph, answer, classes) for answer in answers), axis=1)
        inner = graph.op("MatMul", x, graph.constant(head.hidden.inner))
        shifted = graph.op("Add", inner, graph.constant(head.hidden.shift))
        outer = graph.op("MatMul", graph.op("Relu", shifted), graph.constant(head.hidden.outer))
        logits = graph.op("Add", logits, outer)
    if head.bias is not None:
        logits = graph.op("Add", logits, graph.constant(head.bias))
    return logits if head.wishes is None else wishes.followed(graph, logits, head.wishes)


def _clipped(graph: Graph, answer: str, classes: int) -> str:
    """Clip logits as `conftr.classifier.head.clipped` does."""
    logs = graph.op("Max", log_softmax(graph, answer), graph.constant(LOWEST))
    floor, reach = graph.constant(math.log(FLOOR / classes)), graph.constant(REACH)
    distance = graph.op("Relu", graph.op("Sub", floor, logs))
    drawn = graph.op("Log", graph.op("Add", graph.op("Div", distance, reach), graph.constant(1.0)))
    return graph.op("Sub", graph.op("Max", logs, floor), graph.op("Mul", drawn, reach))
