"""How often `conftr monitor` is wrong, and how soon it notices: simulated streams.

    python benchmarks/monitor.py [--streams 1000] [--seed 0]

A stream is a model of three classes (logits with normal noise, calibrated on 500 rows, tested on
300) and then 1,000 labelled rows. Without a change every alarm is false. Three changes come after
300 rows: all rows become harder at once; they do so bit by bit over 500 rows; rows of one class
become harder. What is printed are the share of streams with an alarm before the change, the share
with one after it, and how many rows that took. Rows without labels are watched beside them.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

from conftr.classifier.calibration import ALL, CLASS, calibrated
from conftr.conformal.arrays import log_softmax
from conftr.monitoring.observed import Observed
from conftr.monitoring.reference import Reference, TestRows, confidence
from conftr.monitoring.streams import streams

K, CALIBRATION, TESTS, ROWS, CHANGE = 3, 500, 300, 1000, 300
LEVEL, LOOSE, ALPHA, SURE = 0.01, 0.1, 0.1, 2.5
NAMES = ("a", "b", "c")
UNLABELLED = ("sizes", "confidence")


@dataclass(frozen=True)
class Setting:
    """What is simulated. worse: how much less the logit of the truth is, from `CHANGE` on."""

    name: str
    worse: float = 0.0
    over: int = 1
    only: int | None = None
    by_class: bool = False
    digits: int = 12


SETTINGS = (
    Setting("no change"),
    Setting("no change, thresholds by class", by_class=True),
    Setting("no change, scores tie", digits=0),
    Setting("all rows harder at once", worse=1.5),
    Setting("all rows harder, over 500 rows", worse=1.5, over=500),
    Setting("one class harder at once", worse=2.0, only=0),
)


def rows(rng, n, setting, start=None):
    """Logits and classes of n rows; those from `start` on are changed."""
    labels = rng.integers(0, K, n)
    pull = np.full(n, SURE)
    if start is not None:
        part = np.clip((np.arange(n) - start + 1) / setting.over, 0, 1)
        hit = np.ones(n, bool) if setting.only is None else labels == setting.only
        pull -= setting.worse * part * hit
    logits = rng.normal(size=(n, K)) + pull[:, None] * np.eye(K)[labels]
    return logits.round(setting.digits), labels


def statistics(calibration, logits, labels):
    scores, truths = log_softmax(logits), (np.arange(len(labels)), labels)
    groups = calibration.places(None, len(labels))
    return {
        "size": calibration.sets(scores, groups, ALPHA).sum(axis=1),
        "confidence": confidence(np.exp(scores)),
        "score": scores[truths],
        "standing": calibration.p_values(scores, groups)[truths],
        "label": labels,
        "group": labels if calibration.by == CLASS else np.zeros(len(labels), np.int64),
    }


def alarms(setting, seed):
    """After how many rows a stream gives its first alarm, of any kind and of unlabelled rows."""
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    logits, labels = rows(rng, CALIBRATION, setting)
    by = CLASS if setting.by_class else ALL
    calibration = calibrated(log_softmax(logits), labels, classes=NAMES, by=by)
    logits, labels = rows(rng, TESTS, setting)
    numbers = statistics(calibration, logits, labels)
    tests = TestRows(numbers["size"], numbers["confidence"], labels, numbers["standing"])
    reference = Reference(NAMES, ALPHA, calibration, tests)
    logits, labels = rows(rng, ROWS, setting, CHANGE)
    numbers, begun = statistics(calibration, logits, labels), Observed.begin("", LEVEL, seed, None)
    digests = np.arange(ROWS).astype(np.uint64)
    seen = begun.grown(
        begun.counted.with_file(digests, numbers),
        begun.labelled.with_rows(np.arange(len(labels)), numbers),
        strangers=0,
        unseen=0,
    )
    first_alarms, every_stream = {}, streams(reference, seen)
    for stream in every_stream:
        place = stream.alarm(LEVEL)
        if place is not None and stream.kind in ("class", "group"):
            place = int(np.flatnonzero(labels == NAMES.index(stream.name))[place - 1]) + 1
        first_alarms.setdefault(stream.kind, []).append(place or ROWS + 1)
    loose = any(stream.alarm(LOOSE) is not None for stream in every_stream)
    return {kind: min(places) for kind, places in first_alarms.items()}, loose


def measured(setting, streams_, seed):
    with ProcessPoolExecutor() as pool:
        jobs = range(seed * streams_, (seed + 1) * streams_)
        return list(pool.map(partial(alarms, setting), jobs, chunksize=25))


def upper(count, n):
    """So large a share is compatible with a count, at most."""
    return float(stats.beta.ppf(0.975, count + 1, n - count)) if count < n else 1.0


def summary(setting, measurements):
    """A line of numbers."""
    alarms_of, loose = (
        [alarm for alarm, _ in measurements],
        sum(places for _, places in measurements),
    )
    first = np.array([min(alarm.values()) for alarm in alarms_of])
    bare = np.array([min(alarm[kind] for kind in UNLABELLED) for alarm in alarms_of])
    promise = np.array([alarm["promise"] for alarm in alarms_of])
    n, line = len(alarms_of), {"setting": setting.name, "streams": len(alarms_of)}
    if not setting.worse:
        false = int((first <= ROWS).sum())
        line |= {f"false alarms at {LEVEL}": false, "share at most (97.5 %)": upper(false, n)}
        return line | {f"at {LOOSE}": loose, "its share at most": upper(loose, n)}
    line["false alarms before"] = int((first <= CHANGE).sum())
    for name, places in (("any", first), ("promise", promise), ("unlabelled", bare)):
        late = places[places > CHANGE]
        hit = late[late <= ROWS] - CHANGE
        line[f"{name}: noticed"] = len(hit) / max(1, len(late))
        line[f"{name}: rows, median"] = float(np.median(hit)) if len(hit) else None
        line[f"{name}: rows, 90 %"] = float(np.quantile(hit, 0.9)) if len(hit) else None
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"level {LEVEL}, alpha {ALPHA}, {CALIBRATION} + {TESTS} rows before, {ROWS} after")
    for setting in SETTINGS:
        print(
            json.dumps(summary(setting, measured(setting, options.streams, options.seed))),
            flush=True,
        )


if __name__ == "__main__":
    main()
