"""The verb `fit`: from a file to a model and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.console import DataDir, Quiet, Ray, connected, in_words, noted, watched
from conftr.cli.finishing import finish, stopped


def fit(
    file: Annotated[
        str,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .npz or .npy file, a folder that holds a folder of "
            "pictures for each class, or a name from `conftr data list`."
        ),
    ],
    target: opt.Target = None,
    labels: opt.Labels = None,
    alpha: Annotated[
        float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the settings', else 0.1")
    ] = None,
    score: opt.ScoreOption = "thr",
    members: Annotated[
        str,
        typer.Option(
            help="What is fitted, with commas between: networks, boosted, forest, extra-trees, "
            "logistic; of texts n-grams; of pictures convnet, resnet, imagenet.",
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
    picture: opt.Picture = None,
    text: opt.Text = None,
    tune: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Compare N settings around the best of each method, on held-out training rows.",
        ),
    ] = None,
    cross_conformal: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="FOLDS",
            help="For few rows: every row trains and calibrates, in so many folds. About 1 - 2 "
            "alpha is sure then; 1 - alpha is usual.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which training ends.")
    ] = None,
    test_share: opt.TestShare = None,
    seed: opt.Seed = 0,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    ray: Ray = None,
    data_dir: DataDir = None,
    as_json: opt.AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a file; write a model, and a report on rows that were kept aside.

    Both go into one folder, which `conftr predict` takes.
    """
    place = out or Path(f"{Path(file).resolve().stem}-conftr")
    with in_words(stopped(place)), watched(quiet or as_json) as display, noted(display):
        from conftr.classifier.estimator import ConformalClassifier
        from conftr.cli import wishes
        from conftr.data.user_files import Roles, by_text, read
        from conftr.experiments.user_file import Chosen, chosen_for_fit
        from conftr.jobs import fitting, folders
        from conftr.search.settings import read as read_settings
        from conftr.training import use_compilation_cache

        folders.check(place, overwrite=overwrite)
        roles = Roles(
            target,
            labels,
            drop=tuple(drop or ()),
            categories=tuple(category or ()),
            picture=picture,
            texts=tuple(text) if text else None,
        ).grouped_by(group_by)
        given = read(file, roles, data_dir=data_dir, progress=display.step)
        for note in given.notes:
            display.note(note)
        names = by_text(sorted(set(given.y.tolist())))
        shape = wishes.shape(names, shrink=shrink or (), avoid=avoid or (), separate=separate or ())
        use_compilation_cache()
        chosen = Chosen(0.1 if alpha is None else alpha, {})
        if settings:
            chosen = chosen_for_fit(
                read_settings(settings), given, file, alpha=alpha, seed=seed, texts=roles.texts
            )
        training = {"method": str(method), "members": "one-network" if quick else members}
        clf = ConformalClassifier(
            chosen.alpha,
            score=score,
            head=str(head),
            texts=roles.texts,
            shape=shape,
            tune=tune,
            cross_conformal=cross_conformal,
            time_limit=time_limit,
            random_state=seed,
            **training | chosen.training,
        )
        with connected(ray) as executor:
            task = fitting.FitTask(clf.set_params(executor=executor), roles.by_class, test_share)
            result = fitting.fit(given, task, display.step, display.note)
        for note in result.notes:
            display.note(note)
        finish(result, place, as_json=as_json)
