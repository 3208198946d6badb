"""The verb `fit`: from a file to a model and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from conftr.cli import options as opt
from conftr.cli.console import connected, reporting
from conftr.cli.finishing import finish, stopped

if TYPE_CHECKING:
    from conftr.data.user_files import UserData


def fit(
    file: opt.File,
    target: opt.Target = None,
    labels: opt.Labels = None,
    alpha: opt.Alpha = None,
    score: opt.ScoreOption = "thr",
    members: opt.Members = "auto",
    quick: opt.Quick = False,
    head: opt.Head = opt.HeadOption.AUTO,
    method: opt.MethodOption = opt.Method.AUTO,
    settings: opt.Settings = None,
    shrink: opt.Shrink = None,
    avoid: opt.Avoid = None,
    separate: opt.Separate = None,
    group_by: opt.GroupBy = None,
    drop: opt.Drop = None,
    category: opt.Category = None,
    picture: opt.Picture = None,
    text: opt.Text = None,
    tune: opt.Tune = None,
    cross_conformal: opt.CrossConformal = None,
    time_limit: opt.TimeLimit = None,
    test_share: opt.TestShare = None,
    seed: opt.Seed = 0,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    ray: opt.Ray = None,
    data_dir: opt.DataDir = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Learn from a file; write a model, and a report on rows that were kept aside.

    Both go into one folder, which `conftr predict` takes.
    """
    place = out or Path(f"{Path(file).resolve().stem}-conftr")
    with reporting(stopped(place), quiet=quiet or as_json) as display:
        from conftr.classifier.estimator import ConformalClassifier
        from conftr.cli import wishes
        from conftr.data.user_files import by_text, read
        from conftr.jobs import fitting, folders
        from conftr.training import use_compilation_cache

        folders.check(place, overwrite=overwrite)
        roles = opt.roles(target, labels, drop, category, text, picture).grouped_by(group_by)
        given = read(file, roles, data_dir=data_dir, progress=display.step)
        for note in given.notes:
            display.note(note)
        names = by_text(sorted(set(given.y.tolist())))
        shape = wishes.shape(names, shrink=shrink or (), avoid=avoid or (), separate=separate or ())
        use_compilation_cache()
        alpha, chosen = _chosen(settings, alpha, given, file, seed, roles.texts)
        training = {"method": str(method), "members": "one-network" if quick else members}
        clf = ConformalClassifier(
            alpha,
            score=score,
            head=str(head),
            texts=roles.texts,
            shape=shape,
            tune=tune,
            cross_conformal=cross_conformal,
            time_limit=time_limit,
            random_state=seed,
            **training | chosen,
        )
        with connected(ray) as executor:
            task = fitting.FitTask(clf.set_params(executor=executor), roles.by_class, test_share)
            result = fitting.fit(given, task, display.step, display.note)
        for note in result.notes:
            display.note(note)
        finish(result, place, as_json=as_json)


def _chosen(
    settings: Path | None,
    alpha: float | None,
    given: UserData,
    file: str,
    seed: int,
    texts: tuple[str, ...] | None,
) -> tuple[float, dict[str, Any]]:
    """Alpha, and what a settings file says on training, if there is one."""
    if settings is None:
        return 0.1 if alpha is None else alpha, {}
    from conftr.experiments.user_file import chosen_for_fit
    from conftr.search.settings import read

    return chosen_for_fit(read(settings), given, file, alpha=alpha, seed=seed, texts=texts)
