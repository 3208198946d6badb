"""Conformal training in the shape of a LightningModule.

With Lightning installed, `Net` is a LightningModule as it stands and goes to its Trainer. Without
it, `Net` is a plain torch module, and `run`, ten lines of what the Trainer does, drives it.
"""

import torch
from sklearn.datasets import load_digits
from sklearn.utils import shuffle
from torch.utils.data import DataLoader, TensorDataset

import conftr

try:
    from lightning import LightningModule, Trainer
except ImportError:
    LightningModule, Trainer = torch.nn.Module, None

ALPHA = 0.05


class Net(LightningModule):
    """A module that holds its objective as it would hold any loss."""

    def __init__(self, objective):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
        )
        self.objective = objective

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, _):
        x, y = batch
        return self.objective(self(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.003)


def run(net, loader, epochs):
    """What a Trainer does, as far as it matters here."""
    optimiser = net.configure_optimizers()
    for _ in range(epochs):
        for number, batch in enumerate(loader):
            loss = net.training_step(batch, number)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


torch.manual_seed(0)
images, labels = shuffle(*load_digits(return_X_y=True), random_state=0)
x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)
train, cal, test = slice(0, 900), slice(900, 1300), slice(1300, None)
loader = DataLoader(TensorDataset(x[train], y[train]), batch_size=100, shuffle=True, drop_last=True)

net = Net(
    conftr.ConfTr(
        ALPHA, quantile=conftr.Nearest(ALPHA), loss_matrix=conftr.identity, cross_entropy_weight=1
    )
)
if Trainer is None:
    run(net, loader, epochs=20)
else:
    Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False).fit(
        net, loader
    )

with torch.no_grad():
    scores = conftr.thr(net.eval()(x))
tau = conftr.calibrate(scores[cal], y[cal], ALPHA)
sets = conftr.predict_set(scores[test], tau)
covered, size = conftr.coverage(sets, y[test]), conftr.inefficiency(sets)
print(f"covers {covered:.1%}, mean size {size:.2f}")
