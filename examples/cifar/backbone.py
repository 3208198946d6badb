"""Train a ResNet on CIFAR in PyTorch, as one who brings a network: backbones of the results page.

python examples/cifar/backbone.py cifar10 --epochs 40 --seed 0

The run keeps its state after every epoch; the same command goes on where it was, and ends with the
same bits. Pictures are changed by `conftr.training`'s augmentations, on training rows alone. Every
epoch's shuffle and changes depend on the seed and the epoch, so nothing of a generator is kept.
"""

import argparse
import json
import math
import time
from pathlib import Path

import jax
import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import nn

from conftr import data
from conftr.training.augmentation import Crop, Cutout, Flip, InTurn
from conftr.training.autoaugment import AutoAugment

BLOCKS = (3, 4, 6, 3)
MILD = InTurn((Flip(), Crop(4)))
STRONG = InTurn((Flip(), Crop(4), AutoAugment(), Cutout(16)))
CLASSES = {"cifar10": 10, "cifar100": 100}
MOMENTUM, WARM_UP = 0.9, 0.15  # of Nesterov's rule; share of the steps in which the rate rises


class Convolutions(nn.Module):
    """A pre-activation residual block: norm, ReLU and convolution, two or three times."""

    def __init__(self, inputs: int, outputs: int, stride: int, first: bool, bottleneck: bool):
        super().__init__()
        inside = outputs // 4 if bottleneck else outputs
        plan = [(inputs, inside, 3, stride), (inside, outputs, 3, 1)]
        if bottleneck:
            plan = [(inputs, inside, 1, 1), (inside, inside, 3, stride), (inside, outputs, 1, 1)]
        self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n, *_ in plan)
        self.products = nn.ModuleList(
            nn.Conv2d(n, m, size, step, size // 2, bias=False) for n, m, size, step in plan
        )
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if first else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        active = torch.relu(self.norms[0](x))
        kept = x if self.shortcut is None else self.shortcut(active)
        for i, product in enumerate(self.products):
            active = product(torch.relu(self.norms[i](active)) if i else active)
        return kept + active


class ResNet(nn.Module):
    """ResNet-34 or, with bottlenecks, ResNet-50 (v2), for pictures of 32 x 32."""

    def __init__(self, classes: int, width: int, stem: int = 64, bottleneck: bool = False):
        super().__init__()
        self.stem = nn.Conv2d(3, stem, 3, 1, 1, bias=False)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks, inputs = [], stem
        for stage, count in enumerate(BLOCKS):
            for i in range(count):
                stride = 2 if stage and not i else 1
                blocks.append(Convolutions(inputs, width << stage, stride, not i, bottleneck))
                inputs = width << stage
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(inputs)
        self.logits = nn.Linear(inputs, classes)

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """(n, features) of pictures (n, 3, 32, 32)."""
        return torch.relu(self.norm(self.blocks(self.pool(self.stem(x))))).mean((2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.logits(self.features(x))


def rate_at(step: int, steps: int, peak: float) -> float:
    """The learning rate: a linear rise to the peak, then half a cosine down to zero."""
    rise = WARM_UP * steps
    if step < rise:
        return peak * (step + 1) / rise
    return peak * (1 + math.cos(math.pi * (step - rise) / (steps - rise))) / 2


def as_input(pictures: np.ndarray, normalisation: data.dataset.Normalisation) -> torch.Tensor:
    """Whitened pictures (n, 3, h, w), channels last in memory."""
    return torch.from_numpy(normalisation(np.asarray(pictures))).permute(0, 3, 1, 2)


class Training:
    """A run: the network, its optimiser, and the epochs done."""

    def __init__(self, options: argparse.Namespace, dataset: data.Dataset):
        torch.manual_seed(options.seed)
        self.options, self.dataset, self.epoch = options, dataset, 0
        classes, bottleneck = CLASSES[options.dataset], options.layers == 50
        network = ResNet(classes, options.width, options.stem, bottleneck)
        if options.after:
            network.load_state_dict(load(options.after)[0].state_dict())
        self.network = network.to(memory_format=torch.channels_last)
        self.optimiser = torch.optim.SGD(
            network.parameters(),
            options.rate,
            momentum=MOMENTUM,
            nesterov=True,
            weight_decay=options.decay,
        )
        self.augment = jax.jit(STRONG if options.strong else MILD)

    def load(self, path: Path) -> None:
        """Go on from a file, if there is one."""
        if path.exists():
            state = torch.load(path, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.epoch = state["epoch"]

    def save(self, path: Path) -> None:
        """Keep all that the next epoch depends on, whole or not at all."""
        state = {"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict()}
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        torch.save(state | {"epoch": self.epoch}, part)
        part.replace(path)

    def run_epoch(self) -> float:
        """One pass over the shuffled training rows; the mean loss."""
        batch, n = self.options.batch, len(self.dataset.y_train) - self.options.held
        order = np.random.default_rng([self.options.seed, self.epoch]).permutation(n)
        key = jax.random.fold_in(jax.random.key(self.options.seed), self.epoch)
        steps, losses = n // batch, []
        self.network.train()
        for i in range(steps):
            rows = order[i * batch : (i + 1) * batch]
            pictures = self.dataset.x_train[rows].astype(np.float32)
            x = self.augment(jax.random.fold_in(key, i), pictures)
            rate = rate_at(self.epoch * steps + i, self.options.epochs * steps, self.options.rate)
            losses.append(self.step(np.asarray(x), rows, rate))
        self.epoch += 1
        return float(np.mean(losses))

    def step(self, pictures: np.ndarray, rows: np.ndarray, rate: float) -> float:
        """One step of SGD; products in bfloat16, everything kept in float32."""
        self.optimiser.param_groups[0]["lr"] = rate
        x, y = as_input(pictures, self.dataset.normalisation), self.dataset.y_train[rows]
        with torch.autocast("cpu", torch.bfloat16):
            logits = self.network(x)
        loss = nn.functional.cross_entropy(logits.float(), torch.from_numpy(y).long())
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())


@torch.inference_mode()
def accuracy(network: ResNet, dataset: data.Dataset) -> float:
    """The share of test pictures whose largest logit is that of their class."""
    network.eval()
    blocks = np.array_split(np.arange(len(dataset.y_test)), 20)
    classes = [
        network(as_input(dataset.x_test[rows], dataset.normalisation)).argmax(1).numpy()
        for rows in blocks
    ]
    return float(np.mean(np.concatenate(classes) == dataset.y_test))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", choices=CLASSES)
    parser.add_argument("--layers", type=int, choices=(34, 50), default=34)
    parser.add_argument("--width", type=int, default=4, help="channels of the first stage")
    parser.add_argument("--stem", type=int, default=64, help="channels before it")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--decay", type=float, default=2e-4)
    parser.add_argument("--strong", action="store_true", help="AutoAugment and cutout besides")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--held", type=int, default=0, help="training pictures, the last ones, never seen"
    )
    parser.add_argument(
        "--after", type=Path, help="a file of weights to go on from, the rate rising once more"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--to", type=Path, default=Path("results/backbones"))
    parser.add_argument("--runs", type=Path, default=Path("runs/backbones"))
    return parser.parse_args()


def name_of(options: argparse.Namespace) -> str:
    """What tells one backbone's file from another's."""
    name = (
        f"{options.dataset}-resnet{options.layers}-w{options.width}-s{options.stem}"
        f"-e{options.epochs}-seed{options.seed}"
    )
    held = f"-held{options.held}" if options.held else ""
    after = f"-after{load(options.after)[1]['epochs']}" if options.after else ""
    return f"{name}{after}{held}{'-strong' if options.strong else ''}"


def load(path: Path) -> tuple[ResNet, dict]:
    """A backbone that was written, ready to predict, and its settings."""
    with safetensors.safe_open(path, "pt") as file:
        settings = json.loads(file.metadata()["settings"])
        weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    bottleneck = settings["layers"] == 50
    shape = CLASSES[settings["dataset"]], settings["width"], settings["stem"], bottleneck
    network = ResNet(*shape).to(memory_format=torch.channels_last)
    network.load_state_dict(weights, strict=False)  # PyTorch counts batches besides
    return network.eval(), settings


def write(training: Training, options: argparse.Namespace) -> Path:
    """The weights in float16, with what they were made by and their accuracy on test pictures."""
    weights = {
        name: value.half().contiguous()
        for name, value in training.network.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    settings = {k: v for k, v in vars(options).items() if k not in ("to", "runs", "threads")}
    settings["after"] = options.after and options.after.stem
    settings["accuracy"] = accuracy(training.network, training.dataset)
    options.to.mkdir(parents=True, exist_ok=True)
    path = options.to / f"{name_of(options)}.safetensors"
    safetensors.torch.save_file(weights, path, {"settings": json.dumps(settings, sort_keys=True)})
    print(f"{path}: accuracy {settings['accuracy']:.4f}", flush=True)
    return path


def train(options: argparse.Namespace, dataset: data.Dataset) -> Path:
    """All epochs that are left, each kept when it is done; then the weights are written."""
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    training = Training(options, dataset)
    state = options.runs / f"{name_of(options)}.pt"
    training.load(state)
    while training.epoch < options.epochs:
        begun = time.process_time()
        loss = training.run_epoch()
        training.save(state)
        seconds = time.process_time() - begun
        print(f"epoch {training.epoch} loss {loss:.4f}, {seconds:.1f} s of processor", flush=True)
    return write(training, options)


def main() -> None:
    options = parse()
    train(options, data.load(options.dataset))


if __name__ == "__main__":
    main()
