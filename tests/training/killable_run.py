"""A short run with checkpoints, in a process of its own that may be killed.

Prints a line for each epoch and, at the end, a digest of what was trained.
"""

import hashlib
import sys

import jax
import numpy as np

import conftr
from conftr.training import (
    SGD,
    Checkpoints,
    Plan,
    TrainingSet,
    fit,
    resample,
    trial_keys,
    use_compilation_cache,
)
from conftr.training.models import MLP

EPOCHS = 60


def main(folder: str, programs: str) -> None:
    use_compilation_cache(programs)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    x = (rng.normal(size=(400, 6)) + 2 * np.eye(6)[y]).astype(np.float32)
    keys = trial_keys(0, 3)
    fitted = fit(
        keys,
        MLP((6,), 3, hidden=(8,)),
        TrainingSet(x, y),
        conftr.ConfTr(0.1, quantile=conftr.OrderStatistic(), loss_matrix=conftr.identity),
        Plan(EPOCHS, 20, SGD(0.01)),
        rows=resample(keys, 400),
        vary={"temperature": [0.1, 0.5, 1.0]},
        progress=lambda p: print(p.epoch, flush=True),
        checkpoints=Checkpoints(folder, seconds=1e9, epochs=1),
    )
    leaves = jax.tree.leaves(fitted)
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    digest = hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in leaves))
    print("digest", digest.hexdigest(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
