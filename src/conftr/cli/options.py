"""Options that verbs share, each of one meaning."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from conftr.conformal.scores import SCORES

if TYPE_CHECKING:
    from conftr.data.user_files import Roles


class Method(StrEnum):
    """How one network is trained."""

    AUTO = "auto"
    CROSS_ENTROPY = "cross-entropy"
    CONFTR = "conftr"


class HeadOption(StrEnum):
    """How members are combined."""

    AUTO = "auto"
    MEAN = "mean"
    CROSS_ENTROPY = "cross-entropy"
    CONFTR = "conftr"


ALPHA = "Share of the sets that may miss the true class"
Names: TypeAlias = list[str] | None

File = Annotated[
    str,
    typer.Argument(
        help="A .csv, .tsv, .parquet, .npz or .npy file, a folder that holds a folder of "
        "pictures for each class, or a name from `conftr data list`."
    ),
]
Alpha = Annotated[
    float | None, typer.Option(help=f"{ALPHA}.", show_default="the settings', else 0.1")
]
Members = Annotated[
    str,
    typer.Option(
        help="What is fitted, with commas between: networks, boosted, forest, extra-trees, "
        "logistic; of texts n-grams, words; of pictures convnet, resnet, imagenet.",
        show_default="auto: what suits the data",
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Train one network and no more.")]
Head = Annotated[
    HeadOption, typer.Option(help="How members are combined; auto keeps the smaller sets.")
]
MethodOption = Annotated[
    Method,
    typer.Option(
        help="How to train a single network. Any value but auto trains one network in place of "
        "several members."
    ),
]
Settings = Annotated[
    Path | None,
    typer.Option(help="How to train: a settings file that `conftr sweep FILE` wrote."),
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the training data.")]
Tune = Annotated[
    int | None,
    typer.Option(
        min=2,
        metavar="N",
        help="Compare N settings around the best of each method, on held-out training rows.",
    ),
]
CrossConformal = Annotated[
    int | None,
    typer.Option(
        min=2,
        metavar="FOLDS",
        help="For few rows: every row trains and calibrates, in so many folds. About 1 - 2 "
        "alpha is sure then; 1 - alpha is usual.",
    ),
]
TimeLimit = Annotated[float | None, typer.Option(min=0, help="Seconds after which training ends.")]
Model = Annotated[Path, typer.Argument(help="A folder that `conftr fit` or `calibrate` wrote.")]
ScoreOption = Annotated[
    str, typer.Option(help=f"How classes are ranked for the sets: {', '.join(SCORES)}.")
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="The column of the classes; of .npz files an array, by default y."
    ),
]
Labels = Annotated[
    Path | None, typer.Option(help="The file of the classes, where FILE is a .npy file.")
]
TrueClasses = Annotated[
    str | None,
    typer.Option(metavar="COL", help="True classes, if FILE has them.", show_default="the model's"),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Keep the promise in each group that a column makes; the target: in each class.",
    ),
]
Drop = Annotated[Names, typer.Option(metavar="COL", help="Leave out a column; can be repeated.")]
Category = Annotated[
    Names,
    typer.Option(
        metavar="COL",
        help="A column of names that look like numbers or sentences; can be repeated.",
    ),
]
Text = Annotated[
    Names,
    typer.Option(
        metavar="COL",
        help="A column of texts to read; can be repeated.",
        show_default="columns of many different sentences",
    ),
]
Picture = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column of a table that holds paths of pictures, relative to the table.",
        show_default="one whose cells end in .png, .jpg, .jpeg or .webp",
    ),
]
Shrink = Annotated[
    Names,
    typer.Option(
        metavar="WISH",
        help='"cat=10": smaller sets for a cat, their size counts tenfold. Can be repeated, as '
        "the wishes below. A name that holds one of , | = -> stands in double quotes.",
    ),
]
Avoid = Annotated[
    Names,
    typer.Option(
        metavar="WISH",
        help='"coat,shirt": keep the two out of each other\'s sets; "coat->shirt": no shirt in '
        'the sets of a coat; "coat,shirt=0.5": with half the weight.',
    ),
]
Separate = Annotated[
    Names,
    typer.Option(
        metavar="WISH",
        help='"nevus,mole|melanoma": keep two groups of classes apart; "nevus,mole->melanoma": '
        'no melanoma in the sets of the others; "=0.5" for half the weight.',
    ),
]
TestShare = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Share of the rows kept for the report alone.",
        show_default="a fifth, at most 10,000 rows",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed for everything random.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder for the model and its report.", show_default="FILE-conftr"),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Write into --out even if it holds something.")
]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of datasets; by default the one that CONFTR_DATA names."),
]
Results = Annotated[Path, typer.Option(help="Folder for results, small JSON files.")]
Runs = Annotated[
    Path, typer.Option(help="Folder for the state of runs; can be removed when they are done.")
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Spread the work over a Ray cluster: auto, HOST:PORT, ray://HOST:PORT, or local for "
        "worker processes on this machine.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")]


def roles(
    target: str | None,
    labels: Path | None,
    drop: Names = None,
    category: Names = None,
    text: Names = None,
    picture: str | None = None,
) -> Roles:
    """What the columns of a file are for."""
    from conftr.data.user_files import Roles

    return Roles(
        target,
        labels,
        drop=tuple(drop or ()),
        categories=tuple(category or ()),
        picture=picture,
        texts=tuple(text) if text else None,
    )
