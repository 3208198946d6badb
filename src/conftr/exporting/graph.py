"""A graph of ONNX under construction: operations take and give the names of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# Opsets that have trees in double precision; runtimes of 2024 and later know them.
_OPSETS = {"": 21, "ai.onnx.ml": 5}
_IR_VERSION = 10
_TREES = "ai.onnx.ml"


class ExportError(ValueError):
    """A classifier that cannot be exported, or whose export does not answer as it does."""


def onnx() -> Any:
    """The package onnx, refused in words where it is not installed."""
    try:
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ExportError(
            "export needs onnx and onnxruntime, which are not here: pip install 'conftr[onnx]'."
        ) from None
    return onnx


class Graph:
    """Operations in their order, constants, inputs and outputs.

    Attributes:
        inputs: Names of inputs in their order.
    """

    def __init__(self) -> None:
        """Begin without anything."""
        self._onnx = onnx()
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], str] = {}
        self._initializers: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self.inputs: list[str] = []

    def op(self, kind: str, *given: str, domain: str = "", **attributes: Any) -> str:
        """Add an operation; gives the name of its result."""
        name = f"t{len(self._nodes)}"
        node = self._onnx.helper.make_node(kind, given, [name], domain=domain, **attributes)
        self._nodes.append(node)
        return name

    def first(self, kind: str, *given: str, **attributes: Any) -> str:
        """Add an operation of two results; gives the name of the first."""
        name = f"t{len(self._nodes)}"
        node = self._onnx.helper.make_node(kind, given, [name, f"{name}b"], **attributes)
        self._nodes.append(node)
        return name

    def trees(self, x: str, **attributes: Any) -> str:
        """Add an ensemble of trees; arrays among the attributes become tensors."""
        made = {
            name: self._onnx.numpy_helper.from_array(value, name)
            if isinstance(value, np.ndarray)
            else value
            for name, value in attributes.items()
        }
        return self.op("TreeEnsemble", x, domain=_TREES, **made)

    def constant(self, value: npt.ArrayLike, kind: Any = np.float64) -> str:
        """A constant of this type; equal ones are kept once."""
        array = np.ascontiguousarray(np.asarray(value, kind)).reshape(np.shape(value))
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"c{len(self._initializers)}"
            self._add(self._constants[key], array)
        return self._constants[key]

    def _add(self, name: str, array: npt.NDArray[Any]) -> None:
        self._initializers.append(self._onnx.numpy_helper.from_array(array, name))

    def cast(self, x: str, kind: Any) -> str:
        """Convert to another type."""
        return self.op("Cast", x, to=self._type(kind))

    def _type(self, kind: Any) -> int:
        code: int = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return code

    def input(self, name: str, kind: Any, shape: Sequence[str | int], default: Any = None) -> str:
        """An input; one with a default need not be given."""
        info = self._onnx.helper.make_tensor_value_info(name, self._type(kind), shape)
        self._inputs.append(info)
        self.inputs.append(name)
        if default is not None:
            self._add(name, np.asarray(default, kind))
        return name

    def output(self, name: str, x: str, kind: Any, shape: Sequence[str | int]) -> None:
        """Give a result out under a name."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [x], [name]))
        info = self._onnx.helper.make_tensor_value_info(name, self._type(kind), shape)
        self._outputs.append(info)

    def model(self, metadata: Mapping[str, str]) -> bytes:
        """Everything as a file, with what people should know of it."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, "conftr", self._inputs, self._outputs, self._initializers
        )
        opsets = [helper.make_opsetid(domain, number) for domain, number in _OPSETS.items()]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="conftr"
        )
        helper.set_model_props(model, dict(metadata))
        self._onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def log_softmax(graph: Graph, x: str) -> str:
    """x - log sum_k exp(x_k) over the last axis."""
    return graph.op("LogSoftmax", x, axis=-1)


def total(graph: Graph, x: str, axis: int, *, keep: bool = True) -> str:
    """The sum along an axis."""
    return graph.op("ReduceSum", x, graph.constant([axis], np.int64), keepdims=int(keep))
