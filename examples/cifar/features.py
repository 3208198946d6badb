"""What frozen networks say of CIFAR's pictures, computed once and kept in the cache of datasets.

python examples/cifar/features.py cifar10-resnet34

Of every training picture there are several views: itself, then flipped and cropped at random. What
AutoAugment and cutout make of it is left to backbones: heads trained on that have larger sets for
pictures as they are. Each view is kept as soon as a network has seen it, so a run that was stopped
goes on.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import efficientnet
import jax
import numpy as np
import torch
from backbone import MILD, as_input, load

from conftr import data
from conftr.data.dataset_recipes import cache_folder
from conftr.data.named import RECIPES
from conftr.data.named.cifar_features import HELD

BLOCK = 250
BACKBONES = {
    "cifar10-resnet34": ["cifar10-resnet34-w4-s64-e40-seed0"],
    "cifar10-resnet34-long": ["cifar10-resnet34-w4-s64-e120-seed1"],
    "cifar10-members": [
        f"cifar10-resnet34-w{width}-s16-e{epochs}-seed{seed}-held{HELD}"
        for width, epochs, seed in (
            *((16, 7, seed) for seed in range(20, 34, 2)),
            (16, 14, 60),
            (12, 16, 61),
            (16, 14, 62),
            (16, 14, 69),
            (16, 14, 68),
            (12, 16, 64),
            (12, 16, 67),
            *((16, 14, seed) for seed in range(70, 74)),
        )
    ],
    "cifar100-resnet50": [f"cifar100-resnet50-w64-s64-e48-seed1-held{HELD}-strong"],
}
KEPT = 256  # of the 1280 features of ImageNet's network
VIEWS = {
    "cifar10-resnet34": 5,
    "cifar10-resnet34-long": 5,
    "cifar10-members": 5,
    "cifar100-resnet50": 5,
}


class Encoder:
    """What a backbone makes of pictures: features, or logits where it is one of an ensemble."""

    def __init__(self, path: Path, dataset: data.Dataset, logits: bool):
        network, _ = load(path)
        self.say = network if logits else network.features
        self.normalisation = dataset.normalisation

    @torch.inference_mode()
    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        return self.say(as_input(pictures, self.normalisation)).numpy()


def encoded(encoder, pictures: np.ndarray, view: int) -> np.ndarray:
    """(n, features) in float16; view 0 is the pictures as they are."""
    change, key = jax.jit(MILD), jax.random.fold_in(jax.random.key(1), view)
    blocks = []
    for start in range(0, len(pictures), BLOCK):
        block = pictures[start : start + BLOCK].astype(np.float32)
        if view:
            block = np.asarray(change(jax.random.fold_in(key, start), block))
        blocks.append(encoder(block).astype(np.float16))
    return np.concatenate(blocks)


def kept(path: Path, make) -> np.ndarray:
    """An array from its file, or made now and kept there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.save(file, make())
        part.replace(path)
        print(path, flush=True)
    return np.load(path)


def projection(features: np.ndarray, width: int):
    """Onto the principal components of training features, of which so many are kept."""
    centre = features.mean(0, dtype=np.float32)
    centred = features.astype(np.float32) - centre
    _, axes = np.linalg.eigh(centred.T @ centred)
    kept_axes = axes[:, ::-1][:, :width]
    return lambda x: ((x.astype(np.float32) - centre) @ kept_axes).astype(np.float16)


def encoders(name: str, backbones: Path, dataset: data.Dataset) -> Iterator:
    """What encodes the pictures of a dataset, by name; each is loaded when it is its turn."""
    if name == efficientnet.NAME:
        yield name, efficientnet.Encoder()
        return
    for backbone in BACKBONES[name]:
        path = backbones / f"{backbone}.safetensors"
        yield backbone, Encoder(path, dataset, logits=len(BACKBONES[name]) > 1)


def views_by(encoder, place: str, folder: Path, rest: np.ndarray, train: np.ndarray, count: int):
    """What one network says of calibration and test pictures, then of each view of the others."""
    of_rest = kept(folder / f"part-{place}-rest.npy", lambda: encoded(encoder, rest, 0))
    return of_rest, *(
        kept(folder / f"part-{place}-{i}.npy", lambda i=i: encoded(encoder, train, i))
        for i in range(count)
    )


def make(name: str, backbones: Path, folder: Path) -> None:
    """Every file of a dataset of features."""
    dataset = data.load(name.split("-")[0])
    rest = np.concatenate([dataset.x_cal, dataset.x_test])
    parts = [
        views_by(encoder, place, folder, rest, dataset.x_train, VIEWS.get(name, 1))
        for place, encoder in encoders(name, backbones, dataset)
    ]
    of_rest, *views = (np.concatenate(said, axis=1) for said in zip(*parts, strict=True))
    project = projection(views[0], KEPT) if name == efficientnet.NAME else np.asarray
    y = np.concatenate([dataset.y_train, dataset.y_cal, dataset.y_test])
    kept(folder / "labels.npy", lambda: y.astype(np.uint8))
    kept(folder / "rest.npy", lambda: project(of_rest))
    kept(folder / "train.npy", lambda: np.stack([project(view) for view in views], axis=1))
    for path in folder.glob("part-*.npy"):
        path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=[*BACKBONES, efficientnet.NAME])
    parser.add_argument("--backbones", type=Path, default=Path("results/backbones"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    (recipe,) = [recipe for recipe in RECIPES if recipe.name == options.name]
    make(options.name, options.backbones, cache_folder(recipe))


if __name__ == "__main__":
    main()
