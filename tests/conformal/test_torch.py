"""The objectives at home in PyTorch: compiled, on any device, in any precision."""

import dataclasses

import pytest
import torch
from test_objectives import ALPHA, OBJECTIVES
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import conftr

SETTINGS = {
    "paper": conftr.ConfTr(ALPHA, quantile=conftr.SmoothSort(position=conftr.paper_position)),
    "tensor": conftr.ConfTr(ALPHA, class_weights=torch.ones(6), loss_matrix=torch.eye(6)),
    "function": conftr.ConfTr(ALPHA, loss_matrix=lambda k: 2 * conftr.identity(k)),
    "set-loss": conftr.ConfTr(
        ALPHA, set_loss=lambda sets, y: conftr.class_loss(sets, y, conftr.identity(6))
    ),
}
EVERY = OBJECTIVES | SETTINGS
every_objective = pytest.mark.parametrize("name", EVERY)


def batch(n=40, k=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = 2 * torch.randn(n, k, generator=generator)
    return x.requires_grad_(), torch.randint(0, k, (n,), generator=generator)


def value_and_gradient(objective, x, y):
    x = x.detach().requires_grad_()
    loss = objective(x, y)
    loss.backward()
    return loss.detach(), x.grad


@pytest.fixture
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@every_objective
def test_the_compiler_meets_no_graph_break(name, fresh_compiler):
    x, y = batch()
    compiled = torch.compile(EVERY[name], fullgraph=True, backend="eager")
    for result, expected in zip(
        value_and_gradient(compiled, x, y), value_and_gradient(EVERY[name], x, y), strict=True
    ):
        torch.testing.assert_close(result, expected)


def test_one_program_serves_another_size_and_another_alpha(fresh_compiler):
    # The compiler then takes sizes and floats for variable; ranks must be settled all the same.
    first = conftr.ConfTr(ALPHA, quantile=conftr.Nearest(0.1))
    compiled = torch.compile(lambda f, x, y: f(x, y), fullgraph=True, backend="eager")
    for objective in (first, dataclasses.replace(first, alpha=0.3, fraction=0.4)):
        for n in (20, 31):
            x, y = batch(n)
            torch.testing.assert_close(compiled(objective, x, y), objective(x, y))


def test_gradients_are_compiled_too(fresh_compiler):
    # Into machine code in benchmarks/torch_step.py: that takes a C++ compiler and half a minute.
    x, y = batch()
    objective = conftr.ConfTr(ALPHA, quantile=conftr.Nearest(0.1), loss_matrix=conftr.identity)
    compiled = torch.compile(objective, fullgraph=True, backend="aot_eager")
    for result, expected in zip(
        value_and_gradient(compiled, x, y), value_and_gradient(objective, x, y), strict=True
    ):
        torch.testing.assert_close(result, expected)


def test_too_small_a_batch_is_said_while_compiling(fresh_compiler):
    x, y = batch(20)
    compiled = torch.compile(conftr.ConfTr(0.01), fullgraph=True, backend="eager")
    with pytest.warns(conftr.CalibrationWarning, match="10 examples calibrate"):
        compiled(x, y)


class SameDevice(TorchDispatchMode):
    """Refuse operations on tensors of two devices, but for copies from one to the other."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        devices = {t.device for t in tree_leaves(args) if isinstance(t, torch.Tensor)}
        assert len(devices) <= 1 or "copy" in str(function), function
        return function(*args, **(kwargs or {}))


@every_objective
def test_the_device_follows_the_inputs(name):
    x = torch.empty(40, 6, device="meta", requires_grad=True)
    with SameDevice():
        loss = EVERY[name](x, torch.empty(40, dtype=torch.int64, device="meta"))
        loss.backward()
    assert loss.device.type == x.grad.device.type == "meta"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@every_objective
def test_half_precision_is_computed_in_float32(name, dtype):
    x, y = batch()
    half = x.detach().to(dtype).requires_grad_()
    loss = EVERY[name](half, y)
    loss.backward()
    value, gradient = value_and_gradient(EVERY[name], half.detach().float(), y)
    assert loss.dtype == torch.float32
    assert loss == value
    torch.testing.assert_close(half.grad, gradient.to(dtype))


@every_objective
def test_autocast_changes_nothing(name):
    x, y = batch()
    weight = torch.eye(6)
    with torch.autocast("cpu", torch.bfloat16):
        logits = x @ weight
        loss = EVERY[name](logits, y)
    assert logits.dtype == torch.bfloat16
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, EVERY[name](logits.float(), y))
    loss.backward()
    assert torch.all(torch.isfinite(x.grad))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_labels_of_any_integer_type(dtype):
    x, y = batch()
    for objective in EVERY.values():
        assert objective(x, y.to(dtype)) == objective(x, y)


def test_a_parameter_and_a_view_are_tensors_too():
    x, y = batch()
    expected = conftr.ConfTr(ALPHA)(x, y)
    assert conftr.ConfTr(ALPHA)(torch.nn.Parameter(x.detach()), y) == expected
    assert conftr.ConfTr(ALPHA)(x.T.contiguous().T, y) == expected


class Sets(torch.nn.Module):
    """A network that answers with sets."""

    def __init__(self, score, tau):
        super().__init__()
        self.net, self.score = torch.nn.Linear(4, 3), score
        self.tau = tau

    def forward(self, x):
        return conftr.predict_set(self.score(self.net(x)), self.tau)


FREE = {"x": {0: torch.export.Dim("n")}}


@pytest.mark.parametrize(
    ("score", "tau", "strict"),
    [
        (conftr.thr, -1.0, False),
        (conftr.thr, -1.0, True),
        (conftr.aps, torch.tensor([-1.0, -0.5, -2.0]), False),
    ],
    ids=["traced", "read", "by class"],
)
def test_sets_are_exported_with_a_free_batch(score, tau, strict):
    module = Sets(score, tau).eval()
    program = torch.export.export(module, (torch.ones(7, 4),), dynamic_shapes=FREE, strict=strict)
    x = torch.randn(19, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(program.module()(x), module(x))


@pytest.mark.filterwarnings("ignore")
def test_sets_are_exported_to_onnx_with_a_free_batch():
    pytest.importorskip("onnxscript")
    program = torch.onnx.export(
        Sets(conftr.thr, -1.0).eval(), (torch.ones(7, 4),), dynamic_shapes=FREE, dynamo=True
    )
    (rows,) = program.model_proto.graph.input
    assert rows.type.tensor_type.shape.dim[0].dim_param
