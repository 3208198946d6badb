"""Verbs of the practitioner: from a file of one's own to a model, a report and sets."""

from __future__ import annotations

import dataclasses
import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conftr.cli import options as opt
from conftr.cli.console import (
    DataDir,
    Quiet,
    Ray,
    connected,
    counted,
    in_words,
    lines,
    noted,
    unless_written,
    watched,
)
from conftr.conformal.shown_names import told

if TYPE_CHECKING:
    from conftr.classifier.evidence import Evidence
    from conftr.jobs.fitting import Result

_SIDES = "0,2,4,6,8|1,3,5,7,9"
_WIDTH = 96


def fit(
    file: Annotated[
        str,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .npz or .npy file, or a name from `conftr data list`."
        ),
    ],
    target: opt.Target = None,
    labels: opt.Labels = None,
    alpha: Annotated[
        float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the settings', else 0.1")
    ] = None,
    score: opt.ScoreOption = opt.Score.THR,
    members: Annotated[
        str,
        typer.Option(
            help="What is fitted, with commas between: networks, boosted, forest, extra-trees, "
            "logistic.",
            show_default="auto: what suits the data",
        ),
    ] = "auto",
    quick: Annotated[bool, typer.Option("--quick", help="Train one network and no more.")] = False,
    head: Annotated[
        opt.HeadOption, typer.Option(help="How members are combined; auto keeps the smaller sets.")
    ] = opt.HeadOption.AUTO,
    method: Annotated[
        opt.Method,
        typer.Option(help="How one network is trained; other than auto, there is but one."),
    ] = opt.Method.AUTO,
    settings: Annotated[
        Path | None,
        typer.Option(help="How to train: a settings file that `conftr sweep FILE` wrote."),
    ] = None,
    shrink: opt.Shrink = None,
    avoid: opt.Avoid = None,
    separate: opt.Separate = None,
    group_by: opt.GroupBy = None,
    drop: opt.Drop = None,
    category: opt.Category = None,
    tune: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Compare N settings around the best of each method, on held-out training rows.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which training ends.")
    ] = None,
    test_share: opt.TestShare = None,
    seed: opt.Seed = 0,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    data_dir: DataDir = None,
    as_json: opt.AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a file; write a model, and a report on rows that were kept aside.

    Both go into one folder, which `conftr predict` takes.
    """
    place = out or Path(f"{Path(file).stem}-conftr")
    with in_words(_stopped(place)), watched(quiet or as_json) as watch, noted(watch):
        from conftr.classifier.estimator import ConformalClassifier
        from conftr.cli import wishes
        from conftr.data.own import Wanted, by_text, read
        from conftr.experiments.user_file import Chosen, chosen_for_fit
        from conftr.jobs import fitting, folders
        from conftr.search.settings import read as read_settings
        from conftr.training import use_compilation_cache

        folders.check(place, overwrite=overwrite)
        wanted = Wanted(
            target, labels, drop=tuple(drop or ()), categories=tuple(category or ())
        ).grouped_by(group_by)
        own = read(file, wanted, data_dir=data_dir)
        for note in own.notes:
            watch.note(note)
        names = by_text(sorted(set(own.y.tolist())))
        shape = wishes.shape(names, shrink=shrink or (), avoid=avoid or (), separate=separate or ())
        use_compilation_cache()
        chosen = Chosen(0.1 if alpha is None else alpha, {})
        if settings:
            chosen = chosen_for_fit(read_settings(settings), own, file, alpha=alpha, seed=seed)
        training = {"method": str(method), "members": "one-network" if quick else members}
        clf = ConformalClassifier(
            chosen.alpha,
            score=str(score),
            head=str(head),
            shape=shape,
            tune=tune,
            time_limit=time_limit,
            random_state=seed,
            **training | chosen.training,
        )
        task = fitting.FitTask(clf, wanted.by_class, test_share)
        result = fitting.fit(own, task, watch.step, watch.note)
        for note in result.notes:
            watch.note(note)
        _finish(result, place, as_json=as_json)


def calibrate(
    model: Annotated[
        str,
        typer.Argument(
            help="A folder that `conftr fit` wrote. Or the word probabilities, or logits: FILE "
            "then holds those of another system, a column for each class."
        ),
    ],
    file: Annotated[Path, typer.Argument(help="Rows that the model was not trained on.")],
    target: opt.Target = None,
    labels: opt.Labels = None,
    alpha: Annotated[
        float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the model's, else 0.1")
    ] = None,
    score: Annotated[
        opt.Score | None, typer.Option(help="As in `conftr fit`; a saved model keeps its own.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(help="Classes of the columns of an array, with commas between."),
    ] = None,
    group_by: opt.GroupBy = None,
    drop: opt.Drop = None,
    test_share: opt.TestShare = None,
    seed: opt.Seed = 0,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find new thresholds on fresh rows, for a saved model or for outputs of any other system.

    Writes a model and a report as `conftr fit` does; nothing is trained.
    """
    place = out or Path(f"{file.stem}-conftr")
    with in_words(_stopped(place)), watched(quiet or as_json) as watch, noted(watch):
        from conftr.classifier.estimator import ConformalClassifier
        from conftr.data.own import Wanted
        from conftr.jobs import calibrating, fitting, folders

        folders.check(place, overwrite=overwrite)
        wanted = Wanted(target, labels, drop=tuple(drop or ())).grouped_by(group_by)
        clf = ConformalClassifier(
            0.1 if alpha is None else alpha, score=str(score or opt.Score.THR), random_state=seed
        )
        task = fitting.FitTask(clf, test_share=test_share)
        before = None
        if model in calibrating.OUTPUTS:
            names = classes.split(",") if classes else ()
            result = calibrating.outputs(model, file, wanted, task, names)
        else:
            result, before = calibrating.saved(Path(model), file, wanted, task, alpha)
        for note in result.notes:
            watch.note(note)
        _finish(result, place, as_json=as_json, before=before)


def predict(
    model: opt.Model,
    file: Annotated[
        Path, typer.Argument(help="A file of the kind that the model learned from, of any size.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="A .csv, .tsv, .parquet or .jsonl file. In the first two, and printed, a class "
            "that a spreadsheet would take for a formula, such as =1+1, has a ' in front.",
            show_default="CSV, printed",
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the model's")
    ] = None,
    keep: Annotated[
        opt.Names,
        typer.Option(metavar="COL", help="Copy a column of FILE, such as an id; can be repeated."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option(help="Write the probability of every class.")
    ] = True,
    p_values: Annotated[
        bool,
        typer.Option(
            "--p-values",
            help="Write the p-value of every class too: it is in the set at alpha if that exceeds "
            "alpha.",
        ),
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="True classes, if FILE has them.", show_default="the model's"
        ),
    ] = None,
    ray: Ray = None,
    as_json: opt.AsJson = False,
    quiet: Quiet = False,
) -> None:
    """The set of every row of a file, in order: classes, their number, probabilities.

    Where FILE has the true classes too, the share of sets that hold them is told.
    """
    silent, answers = quiet or as_json, out or sys.stdout  # which progress may change
    stopped = unless_written(out, f"{out} was written, and is whole.")
    with in_words(stopped), noted(lines(silent)), counted(silent) as progress:
        if as_json and out is None:
            raise ValueError("--json prints the numbers where the sets would go: give --out too.")
        if answers is None:
            raise ValueError("standard output, where the sets would go, is closed: give --out.")
        from conftr.classifier import artefact
        from conftr.jobs import predicting

        request = predicting.Request(
            alpha,
            target or predicting.target_of(model),
            tuple(dict.fromkeys(keep or ())),
            probabilities,
            p_values,
        )
        clf = artefact.load(model)
        with connected(ray) as executor:
            tally = predicting.predict(clf, file, answers, request, progress, executor)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(tally)))
    elif not quiet:
        typer.echo(f"conftr: {told(predicting.words(tally, request))}", err=True)


def monitor(
    model: opt.Model,
    file: Annotated[
        Path, typer.Argument(help="New rows, with their classes or without; of any size.")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="True classes, if FILE has them.", show_default="the model's"
        ),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="The probability of a false alarm, ever, that is accepted.",
            show_default="that of the state, else 0.01",
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COL",
            help="A column with an id for each row: none counts twice. Without it, a file that "
            "begins with rows that were counted is taken up after them.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Folder for what was seen and the page.", show_default="MODEL"),
    ] = None,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Test whether the promise still holds on new rows; feed it as they come.

    Exit status 3 is the alarm: if new rows come from where the calibration rows came from, it is
    ever given with at most the probability of --level, however often it is looked at.
    """
    place = state or model
    written = unless_written(place / "monitor.safetensors", "The rows were counted.")
    with in_words(written), counted(quiet or as_json) as progress, noted(lines(quiet)):
        from conftr.jobs import monitoring
        from conftr.monitoring.findings import words

        task = monitoring.MonitorTask(target, id_column, level, seed)
        found = monitoring.monitor(model, file, place, task, progress)
    if as_json:
        typer.echo(json.dumps(found.to_json()))
    else:
        page = place / monitoring.PAGE
        for heading, line in [*words(found), ("Page", str(page))]:
            typer.echo(_paragraph(f"{heading:9} {line}"))
    if found.alarm:
        raise typer.Exit(3)


def export(
    model: opt.Model,
    out: Annotated[Path, typer.Argument(help="An .onnx file; one that is there is replaced.")],
    alpha: Annotated[
        float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the model's")
    ] = None,
    default: Annotated[
        bool,
        typer.Option(
            help="Give the input `thresholds` a default; JavaScript can use it only without."
        ),
    ] = True,
    rows: Annotated[
        Path | None,
        typer.Option(help="Rows to compare the file with the model on.", show_default="made up"),
    ] = None,
    data_license: Annotated[
        str | None, typer.Option("--license", help="Of the data, for the file's metadata.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a saved model as ONNX: from raw rows to sets, without Python.

    The file is run in onnxruntime and compared with the model before it is kept.
    """
    with in_words(unless_written(out, f"{out} was written, and is whole.")), noted(lines(quiet)):
        from conftr.jobs import exporting

        words = exporting.export(
            model, out, alpha=alpha, default=default, rows=rows, data_license=data_license
        )
    if not quiet:
        typer.echo(_paragraph(words))


def report(
    model: opt.Model,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report.html and its figures.", show_default="MODEL"),
    ] = None,
) -> None:
    """Make the report of a saved model again."""
    page = (out or model) / "report.html"
    with in_words(unless_written(page, f"{page} was written, and is whole.")):
        from conftr.jobs import folders

        typer.echo(f"Report: {folders.report_again(model, out)}")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model and its report.")] = Path(
        "demo-conftr"
    ),
    quiet: Quiet = False,
) -> None:
    """Handwritten digits, with a wish about their sets: a model and a report in a minute."""
    command = f"conftr fit digits --alpha 0.01 --separate '{_SIDES}' --out {out}"
    if not quiet:
        typer.echo(command, err=True)
    fit(
        "digits",
        alpha=0.01,
        separate=[_SIDES],
        out=out,
        overwrite=(out / "manifest.json").exists(),
        quiet=quiet,
    )
    typer.echo(
        f"\nOpen {out / 'report.html'} in a browser: move the slider, look at the pictures whose\n"
        f"sets are large or wrong, and see what the wish changed and cost: even and odd digits\n"
        f"should not share a set, as high and low risk should not. Then, for your own data:\n"
        f"conftr fit YOUR.csv --target COLUMN"
    )


def _stopped(place: Path) -> Callable[[], str]:
    """What to say on Ctrl-C of the folder for a model."""
    return unless_written(
        place / "manifest.json", f"The new model is in {place}, whole, with its report."
    )


def _finish(result: Result, place: Path, *, as_json: bool, before: Evidence | None = None) -> None:
    """Write everything, and say what came out and where it is."""
    from conftr.jobs import folders, summary

    page = folders.fill(place, result)
    found: dict[str, Any] = summary.summary(result.evidence)
    found |= {"model": str(place), "report": str(page)}
    if before is not None:
        found["before"] = summary.summary(before)
    if as_json:
        typer.echo(json.dumps(found))
        return
    kind = Path(result.evidence.provenance.get("file", "rows.npz")).suffix
    where = [
        ("Model", str(place)),
        ("Report", str(page)),
        ("Next", f"conftr predict {place} NEW{kind} --out sets.csv"),
    ]
    for word, line in [*summary.lines(found), *where]:
        typer.echo(_paragraph(f"{word:9} {line}"))


def _paragraph(text: str) -> str:
    """A line, or several with the later ones indented; words and paths stay whole."""
    return textwrap.fill(
        told(text),
        _WIDTH,
        subsequent_indent=10 * " ",
        break_long_words=False,
        break_on_hyphens=False,
    )
