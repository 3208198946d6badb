"""A wish through the last layer alone: mixed sets against size, on a small CNN and Fashion-MNIST.

    python benchmarks/last_layer_wish.py [--seeds 0,1,2]
    python benchmarks/last_layer_wish.py --summary                only what is stored, as a table

A small convolutional network learns 35,000 training images by cross-entropy and is frozen. Copies
of its last layer learn on 15,000 images that it has not seen: by cross-entropy, through conformal
prediction, and with the wish that coats and shirts should not share a set, at several weights.
Temperature, weight of the size, and learning rate are chosen for each on 5,000 further training
images, by the mean of |C| + weight * [the set holds what is not wanted]; cross-entropy by |C|. The
10,000 test images are divided at random into halves that calibrate and test, ten times. A record
for each seed, of network and layers, is kept in results/last_layer_wish.
"""

import argparse
import json
from itertools import product
from pathlib import Path

import numpy as np
import torch

import conftr
from conftr import data

ALPHA, BATCH, DIVISIONS = 0.05, 500, 10
BODY, LAYER = 35_000, 50_000  # training images before these teach the body, and the layer
WEIGHTS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
RESULTS = Path(__file__).parents[1] / "results" / "last_layer_wish"
WISH = ("coat", "shirt")


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 49, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )


def learn(model, x, y, objective, epochs, rate):
    """An ordinary loop: the objective is called as cross-entropy is."""
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(epochs):
        for rows in torch.randperm(len(y)).split(BATCH):
            loss = objective(model(x[rows]), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def settings(weight, pair):
    """Objectives and learning rates that are tried for a weight of the wish; None is no ConfTr."""
    if weight is None:
        return [(torch.nn.functional.cross_entropy, rate) for rate in (3e-4, 1e-3, 3e-3)]
    shape = conftr.Shape(avoid=[conftr.Avoid(*pair, weight)] if weight else [])
    grid = product((0.2, 1.0), (0.1, 1.0), (3e-4, 1e-3, 3e-3))
    return [
        (
            conftr.ConfTr(
                ALPHA,
                quantile=conftr.Nearest(ALPHA),
                fraction=None,
                temperature=temperature,
                size_weight=size_weight,
                loss_matrix=shape.loss_matrix(10),
            ),
            rate,
        )
        for temperature, size_weight, rate in grid
    ]


def measured(logits, y, pair, rng):
    """Coverage, size, and the share of mixed sets among those of the pair, over divisions."""
    scores, results = conftr.thr(logits), []
    for _ in range(DIVISIONS):
        order = rng.permutation(len(y))
        cal, test = order[: len(y) // 2], order[len(y) // 2 :]
        sets = conftr.predict_set(scores[test], conftr.calibrate(scores[cal], y[cal], ALPHA))
        of_pair = np.isin(y[test], pair)
        mixed = sets[of_pair][:, list(pair)].all(axis=1).mean()
        results.append((conftr.coverage(sets, y[test]), conftr.inefficiency(sets), mixed))
    return np.mean(results, axis=0)


def trained(last, parts, objective, rate, seed):
    """A copy of the last layer, trained alone: its logits of validation and of test images."""
    torch.manual_seed(seed)
    layer = torch.nn.Linear(64, 10)
    layer.load_state_dict(last.state_dict())
    learn(layer, *parts["layer"], objective, epochs=20, rate=rate)
    with torch.no_grad():
        return [layer(parts[name][0]).numpy() for name in ("validation", "test")]


def chosen(last, parts, weight, pair, seed):
    """Test logits of the layer that is best on validation images."""
    y, results = parts["validation"][1].numpy(), []
    for objective, rate in settings(weight, pair):
        held, test = trained(last, parts, objective, rate, seed)
        _, size, mixed = measured(held, y, pair, np.random.default_rng([seed, 1]))
        results.append((size + (weight or 0) * mixed * np.isin(y, pair).mean(), test))
    return min(results, key=lambda measured_pair: measured_pair[0])[1]


def run(seed):
    images = data.load("fashion-mnist")
    pair = tuple(list(images.classes).index(name) for name in WISH)
    x = torch.tensor(images.x_train).reshape(-1, 1, 28, 28).float() / 255
    x_test = torch.tensor(images.x_test).reshape(-1, 1, 28, 28).float() / 255
    y, y_test = torch.tensor(images.y_train).long(), torch.tensor(images.y_test).long()
    order = torch.tensor(np.random.default_rng(seed).permutation(len(y)))
    body_rows, layer_rows, held_rows = order.tensor_split((BODY, LAYER))
    torch.manual_seed(seed)
    net = network()
    learn(net, x[body_rows], y[body_rows], torch.nn.functional.cross_entropy, 4, 2e-3)
    body, last = net[:-1].eval(), net[-1]
    with torch.no_grad():
        parts = {
            "layer": (body(x[layer_rows]), y[layer_rows]),
            "validation": (body(x[held_rows]), y[held_rows]),
            "test": (torch.cat([body(some) for some in x_test.split(1000)]), y_test),
        }
        before = last(parts["test"][0]).numpy()
    layers = {"as it was": before, "cross-entropy": chosen(last, parts, None, pair, seed)}
    for weight in WEIGHTS:
        name = f"ConfTr, wish {weight:g}" if weight else "ConfTr, no wish"
        layers[name] = chosen(last, parts, weight, pair, seed)
    labels = y_test.numpy()
    return {
        name: list(map(float, measured(logits, labels, pair, np.random.default_rng([seed, 2]))))
        for name, logits in layers.items()
    }


def summary():
    """The means over the seeds that are stored, as the table of docs/loops.md."""
    stored = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("seed-*.json"))]
    print(f"{len(stored)} seeds; ± is a standard error over them")
    print("| last layer | mixed sets | mean size | coverage |\n|---|---|---|---|")
    for name in stored[0]:
        rows = np.array([record[name] for record in stored])
        covered, size, mixed = rows.mean(axis=0)
        _, size_error, mixed_error = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        print(
            f"| {name} | {mixed:.1%} ± {mixed_error:.1%} | {size:.3f} ± {size_error:.3f} "
            f"| {covered:.1%} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for seed in () if options.summary else map(int, options.seeds.split(",")):
        path = RESULTS / f"seed-{seed}.json"
        if not path.exists():
            path.write_text(json.dumps(run(seed), indent=1) + "\n")
            print(path.read_text(), flush=True)
    summary()


if __name__ == "__main__":
    main()
