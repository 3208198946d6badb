"""A plain PyTorch loop, and the three lines that make it train through conformal prediction.

Afterwards a threshold from held-out examples turns the outputs of either model into sets that miss
the truth once in fifty. Which objective has the smaller sets depends on the data: always measure
both. Here cross-entropy has, because it all but solves digits.
"""

import torch
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

import conftr  # line 1 of 3

ALPHA = 0.02

images, labels = shuffle(*load_digits(return_X_y=True), random_state=0)
x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)
train, cal, test = slice(0, 900), slice(900, 1300), slice(1300, None)


def outputs_after(objective):
    """Train a model and give what it says about every example."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
    data = torch.utils.data.TensorDataset(x[train], y[train])
    loader = torch.utils.data.DataLoader(data, batch_size=100, shuffle=True, drop_last=True)
    for _ in range(30):
        for inputs, truth in loader:
            loss = objective(model(inputs), truth)  # line 3: called as cross-entropy is
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    with torch.no_grad():
        return model.eval()(x)


conformal = conftr.ConfTr(  # line 2; half of each batch calibrates, half predicts
    ALPHA, quantile=conftr.Nearest(2 * ALPHA), loss_matrix=conftr.identity, cross_entropy_weight=3
)
for name, objective in {
    "cross-entropy": torch.nn.functional.cross_entropy,
    "conformal training": conformal,
}.items():
    scores = conftr.thr(outputs_after(objective))
    tau = conftr.calibrate(scores[cal], y[cal], ALPHA)
    sets = conftr.predict_set(scores[test], tau)
    covered, size = conftr.coverage(sets, y[test]), conftr.inefficiency(sets)
    print(f"{name:18}  covers {covered:.1%}, mean size {size:.2f}")
