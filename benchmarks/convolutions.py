"""Convolutions on a CPU: layouts and formulations in XLA, and PyTorch's, as ratios of one run.

Layers forwards and backwards, then a whole training step of the paper's ResNet-34 (4 channels) and
ResNet-50 (64) on CIFAR's pictures, batch 100. Processor time, the least of several rounds, in which
all take their turn.

python benchmarks/convolutions.py [ROUNDS] [--layers]
"""

import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import torch

import conftr
from conftr.training import SGD, resnet34, resnet50
from conftr.training.epochs import Batch, Program, TrainingSet, start, train
from timing import best_times

sys.path.append(str(Path(__file__).parents[1] / "examples" / "cifar"))
from backbone import ResNet

BATCH, SIDE = 100, 32
ROUNDS = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 5
FUSED = 3  # steps of a loop inside a program, as an epoch of a network without convolutions is
LAYERS = {"stem, 3 -> 64, 32 x 32": (32, 3, 64), "16 -> 16, 8 x 8": (8, 16, 16)}
NHWC, NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


def xla(layout, x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout)


def as_product(x, w):
    """3 x 3 patches side by side, times the kernel as a matrix."""
    n, height, width, channels = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    parts = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    patches = jnp.concatenate(parts, axis=-1).reshape(-1, 9 * channels)
    return (patches @ w.reshape(9 * channels, -1)).reshape(n, height, width, -1)


def backwards(convolve, x, w):
    """Loss and gradients of a layer in JAX, as a function without arguments."""
    both = jax.jit(jax.grad(lambda x, w: jnp.sum(convolve(x, w) ** 2), argnums=(0, 1)))
    return lambda: jax.block_until_ready(both(x, w))


def in_torch(x, w, layout):
    x = torch.from_numpy(x).contiguous(memory_format=layout).requires_grad_()
    w = torch.from_numpy(w).contiguous(memory_format=layout).requires_grad_()

    def step() -> None:
        x.grad = w.grad = None
        (torch.nn.functional.conv2d(x, w, padding=1) ** 2).sum().backward()

    return step


def layer(side, inputs, outputs):
    """One layer in every form."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(BATCH, side, side, inputs)).astype(np.float32)
    w = draw.normal(size=(3, 3, inputs, outputs)).astype(np.float32)
    x_first, w_first = x.transpose(0, 3, 1, 2).copy(), w.transpose(3, 2, 0, 1).copy()
    return {
        "PyTorch, channels last": in_torch(x_first, w_first, torch.channels_last),
        "PyTorch, channels first": in_torch(x_first, w_first, torch.contiguous_format),
        "XLA, channels last": backwards(partial(xla, NHWC), x, w),
        "XLA, channels first": backwards(partial(xla, NCHW), x_first, w_first),
        "XLA, as a product": backwards(as_product, x, w),
    }


def pictures(steps):
    draw = np.random.default_rng(0)
    x = draw.integers(0, 256, (steps * BATCH, SIDE, SIDE, 3)).astype(np.uint8)
    return x, draw.integers(0, 10, steps * BATCH).astype(np.int32)


def jax_step(model, steps):
    """Steps of ours in one program, as a function without arguments."""
    program = Program(model, conftr.CrossEntropy(), SGD())
    x, y = pictures(steps)
    data = TrainingSet(jnp.asarray(x), jnp.asarray(y), 127.5, 1 / 127.5)
    rows = np.arange(steps * BATCH, dtype=np.int32).reshape(steps, BATCH)
    batches = Batch(rows, np.ones(steps, np.float32), np.arange(steps, dtype=np.int32))
    settings = {"learning_rate": jnp.float32(0.01), "weight_decay": jnp.float32(0)}
    carry = start(program, jax.random.key(0))
    epoch = jax.jit(partial(train, program))
    return lambda: jax.block_until_ready(epoch(data, settings, carry, batches))


def torch_step(network, layout, half):
    network = network.to(memory_format=layout)
    optimiser = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9, nesterov=True)
    x, y = pictures(1)
    x = torch.from_numpy(x.astype(np.float32) / 127.5 - 1).permute(0, 3, 1, 2)
    x, y = x.contiguous(memory_format=layout), torch.from_numpy(y).long()

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = torch.nn.functional.cross_entropy(network(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def networks(model, make):
    """A training step of one network in every form."""
    last, first = torch.channels_last, torch.contiguous_format
    return {
        "PyTorch, channels last, bfloat16 products": torch_step(make(), last, True),
        "PyTorch, channels last": torch_step(make(), last, False),
        "PyTorch, channels first": torch_step(make(), first, False),
        "conftr (XLA, channels last), a step a program": jax_step(model, 1),
    }


def show(title, functions, epoch=False) -> None:
    for function in functions.values():
        function()  # compiles
    times = best_times(functions, ROUNDS)
    least = times["PyTorch, channels last"]
    print(title)
    for name, seconds in times.items():
        long = f"   {seconds * 45_000 / BATCH:5.0f} s an epoch of 45,000" if epoch else ""
        print(f"  {name:46} {1e3 * seconds:8.1f} ms {seconds / least:6.2f} x{long}", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    for title, sizes in LAYERS.items():
        show(title, layer(*sizes))
    if "--layers" in sys.argv:
        return
    shape = (SIDE, SIDE, 3)
    show("ResNet-34, 4 channels", networks(resnet34(shape, 10), lambda: ResNet(10, 4)), True)
    step = torch_step(ResNet(10, 4), torch.channels_last, False)
    fused = {
        "PyTorch, channels last": lambda: [step() for _ in range(FUSED)],
        "conftr, as one program": jax_step(resnet34(shape, 10), FUSED),
    }
    show(f"ResNet-34, {FUSED} steps", fused)
    wide = partial(ResNet, 100, 64, bottleneck=True)
    show("ResNet-50, 64 channels", networks(resnet50(shape, 100), wide), True)


if __name__ == "__main__":
    main()
