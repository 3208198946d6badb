"""Fine-tune only the last layer of a trained PyTorch network through conformal prediction.

A small convolutional network learns noisy digits by cross-entropy. Then everything but its last
layer is frozen, and copies of that layer learn on: by cross-entropy again, through conformal
prediction, and with a wish: even and odd digits should not share a set. Noise is drawn anew for
every batch, as augmentation is; without that, rows that the body has learned by heart would tell
the last layer nothing about doubt. Every layer is calibrated on the same held-out examples, so that
all sets promise the same.
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

import conftr

ALPHA, NOISE, BATCH = 0.05, 5.0, 300
seed = int(sys.argv[1]) if sys.argv[1:] else 0

images, labels = shuffle(*load_digits(return_X_y=True), random_state=seed)
clean = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8)
y = torch.tensor(labels)
train, cal, test = slice(0, 900), slice(900, 1300), slice(1300, None)
even, odd = range(0, 10, 2), range(1, 10, 2)
wish = conftr.Shape(separate=[conftr.Separate(set(even), set(odd), weight=3)])


def noisy(pictures):
    return (pictures + NOISE * torch.randn(pictures.shape)) / 16


def learn(model, body, objective, steps, lr):
    """An ordinary loop: the objective is called as cross-entropy is. The body stays as it is."""
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        rows = torch.randperm(900)[:BATCH]
        with torch.no_grad():
            inputs = body(noisy(clean[train][rows]))
        loss = objective(model(inputs), y[train][rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


torch.manual_seed(seed)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 16, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(32 * 16, 10),
)
cross_entropy = torch.nn.functional.cross_entropy
learn(net, torch.nn.Identity(), cross_entropy, steps=100, lr=0.003)
body, last = net[:-1].requires_grad_(False), net[-1]
held = body(noisy(clean))  # features of the examples that calibrate and test


def trained(objective):
    """Logits of a copy of the last layer, trained alone."""
    layer = torch.nn.Linear(32 * 16, 10)
    layer.load_state_dict(last.state_dict())
    learn(layer, body, objective, steps=200, lr=0.003)
    return layer(held).detach()


conformal = {"quantile": conftr.Nearest(ALPHA), "fraction": None, "size_weight": 0.1}
layers = {
    "as it was": last(held).detach(),
    "cross-entropy": trained(cross_entropy),
    "conformal": trained(conftr.ConfTr(ALPHA, loss_matrix=conftr.identity, **conformal)),
    "with the wish": trained(
        conftr.ConfTr(ALPHA, loss_matrix=wish.loss_matrix(range(10)), **conformal)
    ),
}
for name, logits in layers.items():
    scores = conftr.thr(logits)
    tau = conftr.calibrate(scores[cal], y[cal], ALPHA)
    sets = conftr.predict_set(scores[test], tau)
    mixed = (sets[:, 0::2].any(1) & sets[:, 1::2].any(1)).float().mean()
    covered, size = conftr.coverage(sets, y[test]), conftr.inefficiency(sets)
    print(f"{name:13}  {mixed:4.0%} mixed; covers {covered:.1%}, mean size {size:.2f}")
