"""Exported models beside the classifiers they come from: sets, size of the file, rows a second.

    python benchmarks/export.py [--data FOLDER] [--rows 100000] [--only car,digits] [--models DIR]
    python benchmarks/export.py --summary                only what is stored, as a table

The default model of three tables (see tables.py) and of scikit-learn's digits, as images, is
fitted, saved, loaded and exported; a model that is in --models already is taken. Rows are those
of the table that were not learned from, as many times as it takes, each number moved by a
hundredth of its column's deviation so that no two are equal. Sets of the file in onnxruntime are
compared with `predict_set`, which is what `conftr predict` writes. Seconds are the processor's, of
all threads, which other work on the machine hardly adds to. A record for each is kept in
results/export.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.datasets import load_digits

import conftr
from conftr.exporting.inputs import feeds
from tables import load

ALPHA = 0.1
BLOCK = 5_000  # rows at a time, here and there
TABLES, PICTURES = ("car", "contraceptive", "vowel"), "digits"
RESULTS = Path(__file__).parents[1] / "results" / "export"


def examples(name, folder):
    """Rows to learn from, their classes, and rows to ask about."""
    if name == PICTURES:
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        images = X.reshape(-1, 8, 8, 1).astype(np.float32)
        return images[order[:1300]], y[order[:1300]], images[order[1300:]]
    table = load(name, folder)
    order = np.random.default_rng(0).permutation(len(table.y))
    learned, new_rows = order[: len(order) * 3 // 4], order[len(order) * 3 // 4 :]
    return table.x.iloc[learned], table.y[learned], table.x.iloc[new_rows]


def many(rows, count, rng):
    """As many rows, each moved a little; categories stay what they are."""
    places = np.arange(count) % len(rows)
    if not isinstance(rows, pd.DataFrame):
        moved = rows[places].astype(np.float32)
        return moved + rng.normal(size=moved.shape).astype(np.float32)
    drawn = rows.iloc[places].reset_index(drop=True)
    for column in drawn.select_dtypes("number"):
        spread = rows[column].std() / 100
        drawn[column] = drawn[column].astype(float) + rng.normal(size=count) * spread
    return drawn


def in_blocks(function, n):
    """Results of blocks of rows, and seconds of the processor for all of them."""
    begun = time.process_time()
    blocks = [function(slice(a, a + BLOCK)) for a in range(0, n, BLOCK)]
    return np.concatenate(blocks), time.process_time() - begun


def fitted(name, examples, models):
    """The default model, kept in a folder so that a run that was stopped need not fit it again."""
    place = models / name
    if not (place / "manifest.json").exists():
        clf = conftr.ConformalClassifier(alpha=ALPHA, random_state=0).fit(*examples)
        conftr.save(clf, place)
    return conftr.load(place)


def measured(name, folder, count, models):
    X, y, rest = examples(name, folder)
    clf = fitted(name, (X, y), models)
    new_rows = many(rest, count, np.random.default_rng(1))
    reader = clf.candidates_[0].stack.reader
    with TemporaryDirectory() as place:
        path = conftr.export(clf, Path(place) / "model.onnx", rows=new_rows[:2000])
        size = path.stat().st_size
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.log_severity_level = 1, 3
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        metadata = session.get_modelmeta().custom_metadata_map
    given = feeds(reader, new_rows)
    ours, here = in_blocks(lambda part: clf.predict_set(new_rows[part]), count)
    theirs, there = in_blocks(
        lambda part: session.run(["sets"], {k: v[part] for k, v in given.items()})[0], count
    )
    return {
        "data": name,
        "members": clf.candidates_[0].stack.words,
        "rows": count,
        "differing sets": int((ours != theirs).any(axis=1).sum()),
        "of which smaller": int((ours & ~theirs).any(axis=1).sum()),
        "margin": json.loads(metadata["margin"]),
        "mean size": float(ours.sum(axis=1).mean()),
        "file, MB": size / 1e6,
        "rows a second of a core, here": count / here,
        "in onnxruntime": count / there,
        "ratio": here / there,
    }


def summary():
    """What is stored, as the table of docs/serving.md."""
    print("| model | differing sets | file | rows a second of a core, onnxruntime and here |")
    print("|---|---|---|---|")
    for name in (*TABLES, PICTURES):
        content = json.loads((RESULTS / f"{name}.json").read_text())
        rates = content["in onnxruntime"], content["rows a second of a core, here"]
        print(
            f"| {name}: {content['members']} | {content['differing sets']} of {content['rows']:,} "
            f"| {content['file, MB']:.1f} MB | {rates[0]:,.0f} and {rates[1]:,.0f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--models", type=Path, default=Path(gettempdir()) / "conftr-exported")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", default=",".join([*TABLES, PICTURES]))
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in () if options.summary else options.only.split(","):
        record = measured(name, options.data, options.rows, options.models)
        print(json.dumps(record), flush=True)
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    summary()


if __name__ == "__main__":
    main()
