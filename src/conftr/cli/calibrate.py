"""The verb `calibrate`: new thresholds on fresh rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.console import reporting
from conftr.cli.finishing import finish, stopped

_Model = Annotated[
    str,
    typer.Argument(
        help="A folder that `conftr fit` wrote. Or the word probabilities, or logits: FILE "
        "then holds those of another system, a column for each class."
    ),
]
_Alpha = Annotated[
    float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the model's, else 0.1")
]
_Score = Annotated[
    str | None, typer.Option(help="As in `conftr fit`; a saved model keeps its own.")
]
_Classes = Annotated[
    str | None,
    typer.Option(help="Classes of the columns of an array, with commas between."),
]


def calibrate(
    model: _Model,
    file: Annotated[Path, typer.Argument(help="Rows that the model was not trained on.")],
    target: opt.Target = None,
    labels: opt.Labels = None,
    alpha: _Alpha = None,
    score: _Score = None,
    classes: _Classes = None,
    group_by: opt.GroupBy = None,
    picture: opt.Picture = None,
    drop: opt.Drop = None,
    test_share: opt.TestShare = None,
    seed: opt.Seed = 0,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Find new thresholds on fresh rows, for a saved model or for outputs of any other system.

    Writes a model and a report as `conftr fit` does; nothing is trained.
    """
    place = out or Path(f"{file.resolve().stem}-conftr")
    with reporting(stopped(place), quiet=quiet or as_json) as display:
        from conftr.classifier.estimator import ConformalClassifier
        from conftr.jobs import calibrating, fitting, folders

        folders.check(place, overwrite=overwrite)
        roles = opt.roles(target, labels, drop, picture=picture).grouped_by(group_by)
        clf = ConformalClassifier(
            0.1 if alpha is None else alpha, score=score or "thr", random_state=seed
        )
        task = fitting.FitTask(clf, test_share=test_share)
        before = None
        if model in calibrating.OUTPUTS:
            names = classes.split(",") if classes else ()
            result = calibrating.calibrate_outputs(model, file, roles, task, names)
        else:
            result, before = calibrating.calibrate_saved(Path(model), file, roles, task, alpha)
        for note in result.notes:
            display.note(note)
        finish(result, place, as_json=as_json, before=before)
