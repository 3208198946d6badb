"""Training on 1, 2 and 4 devices, in a process of its own that has four; prints JSON."""

import json
import re
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import jax
import numpy as np

import conftr
from conftr.training import SGD, Checkpoints, Plan, TrainingSet, fit, predict_logits, trial_keys
from conftr.training.epochs import on_all, train
from conftr.training.models import MLP
from conftr.training.programs import shared
from conftr.training.runs import begin, prepare

K, D, N, BATCH, HIDDEN = 3, 5, 160, 40, 8
MODEL = MLP((D,), K, hidden=(HIDDEN,))
OBJECTIVE = conftr.ConfTr(0.2, quantile=conftr.Nearest(0.1), loss_matrix=conftr.identity)
PLAN = Plan(3, BATCH, SGD(0.02))


def blobs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, N)
    return TrainingSet((rng.normal(size=(N, D)) + 2 * np.eye(D)[y]).astype(np.float32), y)


def program(devices):
    """The compiled epoch as text."""
    run = prepare(
        MODEL, OBJECTIVE, PLAN, blobs(), key=jax.random.key(0), rows=None, vary={}, devices=devices
    )
    (trial,), (carry,) = run.trials, on_all(run.mesh, begin(run).carries)
    parts = run.on_device(), trial.settings, carry, run.batches(trial, 0)
    return shared(train, (run.program,), *parts).lower(*parts).compile().as_text()


def stopped(folder, devices):
    """Stop in the second epoch, then go on with other devices."""

    def stop(now):
        if now.epoch == 2:
            raise KeyboardInterrupt

    kept = Checkpoints(folder, epochs=1)
    data, key = blobs(), jax.random.key(0)
    with suppress(KeyboardInterrupt):
        fit(key, MODEL, data, OBJECTIVE, PLAN, checkpoints=kept, progress=stop, devices=devices)
    return fit(key, MODEL, data, OBJECTIVE, PLAN, checkpoints=kept, devices=devices[:1])


def main(folder):
    data, devices = blobs(), jax.devices()
    alone, keys = jax.random.key(0), trial_keys(0, 2)
    by_name = {}
    for count in (0, 1, 2, 4):
        some = devices[:count] or None
        fitted = fit(alone, MODEL, data, OBJECTIVE, PLAN, devices=some)
        logits = predict_logits(MODEL, fitted, data.x)
        by_name[f"{count} devices"] = {"loss": fitted.loss.tolist(), "logits": logits.tolist()}
    for batched in (False, True):
        fitted = fit(keys, MODEL, data, OBJECTIVE, PLAN, devices=devices, batched=batched)
        by_name[f"trials, {batched=}"] = fitted.loss.tolist()
    by_name["trials"] = fit(keys, MODEL, data, OBJECTIVE, PLAN).loss.tolist()
    by_name["taken up"] = stopped(folder, devices).loss.tolist()
    text = program(devices)
    by_name["hidden"] = sorted(set(re.findall(rf"f32\[(\d+),{HIDDEN}\]", text)))
    by_name["gathered"] = Counter(re.findall(rf"= f32\[{BATCH},{K}\]\S* (all-\w+)\(", text))
    by_name["whole"] = "all-" in program(None) + program(devices[:1])
    try:
        fit(alone, MODEL, data, OBJECTIVE, replace(PLAN, batch_size=39), devices=devices)
    except ValueError as error:
        by_name["refused"] = str(error)
    print(json.dumps(by_name))


if __name__ == "__main__":
    main(*sys.argv[1:])
