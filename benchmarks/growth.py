"""What more configurations and more trials cost: seconds against their number, as a figure.

MNIST, linear, conformal training with a class loss, five epochs, compilation included.
Configurations are those of a sweep, trials those of `conftr compare`, each on a training set of its
own. Both are trained together, and one at a time with one compiled program. Every point is
kept in docs/figures/growth.json as soon as it is measured, so that a run that was stopped goes on;
docs/figures/growth.svg is drawn from it. `growth.py again` measures all once more and keeps the
least, as other work on the machine only ever adds. Remove the file to begin anew.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import altair as alt

import conftr
from conftr import data
from conftr.experiments.runner import fit_trials, prepare, trained
from conftr.machine.cores import cores
from conftr.search.attempts import Training
from conftr.search.methods import METHODS
from conftr.search.space import configured
from sweep import examples, one_at_a_time, seconds, sweep_of, together

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "growth.json"
EPOCHS, COUNTS = 5, (1, 2, 4, 8, 16, 32)
WAYS = {"together": together, "one at a time": one_at_a_time}
BLUE, ORANGE = "#0072B2", "#D55E00"  # told apart by all eyes


def configurations(count: int, how: str, mnist: data.Dataset) -> float:
    """Seconds of a sweep over so many temperatures."""
    temperatures = tuple(round(0.2 + 0.05 * i, 2) for i in range(count))
    first_values = {name: values[:1] for name, values in sweep_of(EPOCHS).grid.items()}
    sweep = replace(sweep_of(EPOCHS), grid=first_values | {"temperature": temperatures})
    return seconds(partial(WAYS[how], sweep, mnist))[0]


def trials(count: int, how: str, mnist: data.Dataset) -> float:
    """Seconds of so many trials of one method."""
    settings = {"model": "linear", "epochs": EPOCHS, "batch_size": 100, "learning_rate": 0.01}
    training = Training("mnist", *configured(METHODS["conftr-class"], settings, 0.01))
    prepared = prepare(training, lambda _: mnist)

    def run() -> None:
        for group in [range(count)] if how == "together" else [[i] for i in range(count)]:
            trained(fit_trials(training, list(group), prepared), prepared)

    return seconds(run)[0]


KINDS = {"configurations": configurations, "trials": trials}


def measure(timings: dict[str, Any], again: bool) -> None:
    """Measure what is missing, or everything again, and keep it."""
    mnist, rows = examples(), timings["rows"]
    known = {(row["what"], row["how"], row["number"]): row for row in rows}
    for what, how, count in product(KINDS, WAYS, COUNTS):
        row = known.get((what, how, count))
        if row is None:
            row = {"what": what, "how": how, "number": count, "seconds": float("inf")}
            rows.append(row)
        elif not again:
            continue
        time = round(KINDS[what](count, how, mnist), 2)
        row["seconds"] = min(row["seconds"], time)
        FIGURE.write_text(json.dumps(timings, indent=1) + "\n")
        print(f"{count:3} {what:15} {how:14} {time:7.1f} s", flush=True)


def draw(timings: dict[str, Any]) -> alt.HConcatChart:
    """Seconds against numbers, a panel for configurations and one for trials."""
    ways = alt.Scale(domain=[*WAYS], range=[BLUE, ORANGE])
    shapes = alt.Scale(domain=[*WAYS], range=["circle", "square"])
    most = max(row["seconds"] for row in timings["rows"])

    def panel(what: str) -> alt.Chart:
        rows = [row for row in timings["rows"] if row["what"] == what]
        legend = alt.Legend(title=None, orient="top")
        return (
            alt.Chart(alt.InlineData(rows))
            .mark_line(point=alt.OverlayMarkDef(size=50, filled=True))
            .encode(
                x=alt.X("number:Q", title=f"number of {what}"),
                y=alt.Y(
                    "seconds:Q",
                    title=f"seconds on {timings['cores']} cores",
                    scale=alt.Scale(domain=[0, most], nice=True),
                ),
                color=alt.Color("how:N", scale=ways, legend=legend),
                shape=alt.Shape("how:N", scale=shapes, legend=legend),
            )
            .properties(width=300, height=220)
        )

    return alt.hconcat(*map(panel, KINDS)).configure_axis(labelFontSize=12, titleFontSize=13)


def main() -> None:
    warnings.simplefilter("ignore", conftr.CalibrationWarning)
    empty = {"epochs": EPOCHS, "cores": cores(), "rows": []}
    timings = json.loads(FIGURE.read_text()) if FIGURE.exists() else empty
    measure(timings, sys.argv[1:] == ["again"])
    draw(timings).save(FIGURE.with_suffix(".svg"))


if __name__ == "__main__":
    main()
