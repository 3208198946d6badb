"""Which members are fitted: those that were asked for, or those that suit the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.frozen import FrozenEstimator  # type: ignore[import-untyped]

from conftr.data.pictures import SMALL
from conftr.features import frozen_pictures, word_vectors
from conftr.features.frozen_pictures import FrozenPictures
from conftr.features.images import Images
from conftr.features.text_columns import TextColumns
from conftr.members import boosted
from conftr.members.boosted import Boosted
from conftr.members.forest import EXTRA, RANDOM, Forest
from conftr.members.logistic import Logistic
from conftr.members.member import Member, MemberRows
from conftr.members.ngrams import NgramLogistic
from conftr.members.on_features import OnFeatures
from conftr.members.scikit import Frozen, Scikit

AUTO, ONE_NETWORK = "auto", "one-network"

RequestedMembers: TypeAlias = str | tuple[Member, ...]

_LINEAR = 1e6  # encoded numbers beyond which no linear model is tried
_PIXELS = 1024  # numbers of a picture beyond which no trees are
_OF_VECTORS = 30.0  # the penalty of a linear model on the many numbers of a text
_LEAVES = 2e6  # rows of a tree times classes: every node keeps a number for each class
_NETWORKS = 2000  # classes beyond which no networks are trained
_BOOSTED = 20  # classes beyond which no boosted trees are
_STEPS = 1000  # of networks of convolutions, about
_CONVOLVED = 16  # pixels of the shorter side that convolutions take
_WORD_ORDER = 30_000  # texts whose words are kept in order, which takes up to 16 KB of each
_FEATURES_STRENGTH = 100.0  # of the penalty of a linear model on 1280 features


def _networks() -> list[Member]:
    """Networks that see numbers as they are, with weak and strong decay, and in bins."""
    from conftr.members.network import STRONG, Network  # which brings JAX

    return [Network(), Network("network with bins", decays=(STRONG,), bins=True)]


def _for_images(reader: Images) -> list[Member]:
    """Networks; trees where a picture has few pixels, each of which a tree can ask about.

    Pictures with channels that are small, but not tiny, have networks of convolutions. One of them
    meets pictures moved, the other moved and mirrored: of letters a mirror image is another, of
    most things it is not, and rows out of fold decide. What ImageNet taught comes before both.
    """
    from conftr.members.network import Network

    pixels = math.prod(reader.inputs)
    trees: list[Member] = [Forest(EXTRA)] if pixels <= _PIXELS else []
    if len(reader.inputs) != 3 or reader.inputs[2] not in (1, 3):
        return [Network(), *trees]
    shorter, longer = sorted(reader.inputs[:2])
    if shorter < _CONVOLVED:
        return [Network(), *trees]
    known = _on_features() if reader.of_bytes and frozen_pictures.are_readable() else []
    if longer <= SMALL:
        return [*known, *_convnet(), *_resnet(), *trees]
    return known or [Network()]


def _convnet() -> list[Member]:
    """A network of convolutions that meets pictures moved a little, anew in every step."""
    from conftr.members.network import STRONG, Network
    from conftr.training import Crop
    from conftr.training.models import ConvNet

    shape = partial(ConvNet, channels=(16, 32, 64))
    return [
        Network(
            "convolutions",
            (STRONG,),
            architecture=shape,
            augmentation=Crop(2),
            steps=_STEPS,
            batch_size=64,
        )
    ]


def _resnet() -> list[Member]:
    """A small residual network that meets pictures moved and mirrored."""
    from conftr.members.network import STRONG, Network
    from conftr.training import Crop, Flip, InTurn
    from conftr.training.resnets import ResNet

    shape = partial(ResNet, width=16, stem=16, blocks=(1, 1, 1))
    return [
        Network(
            "residual network",
            (STRONG,),
            architecture=shape,
            augmentation=InTurn((Flip(), Crop(4))),
            steps=_STEPS,
            batch_size=64,
        )
    ]


def _on_features() -> list[Member]:
    """Members on the features of a frozen network."""
    from conftr.members.network import STRONG, Network

    return [
        OnFeatures(Logistic(strength=_FEATURES_STRENGTH)),
        OnFeatures(Network(decays=(STRONG,))),
    ]


def _for_texts(rows: MemberRows, reader: TextColumns) -> list[Member]:
    """Linear models of n-grams and of vectors, networks; trees where a table is beside the texts.

    Networks meet a part of the numbers of a text, drawn anew in every step: they are many, and say
    the same in several ways. One of them sees words beside each other instead, which nothing else
    here does but pairs of words. A tree asks about single numbers, of which none says much.
    """
    from conftr.members.network import WEAK, Network
    from conftr.training import LeaveOut

    networks = [
        Network(name, (WEAK,), hidden=(256,), augmentation=LeaveOut(share))
        for name, share in (("network", 0.5), ("network on few inputs", 0.7))
    ]
    chosen: list[Member] = [NgramLogistic(), *networks, Logistic(strength=_OF_VECTORS)]
    if word_vectors.is_here() and len(rows.labels) * len(reader.texts) <= _WORD_ORDER:
        chosen += _on_words()
    if reader.table is not None:
        chosen += [Forest(EXTRA), *_boosted(rows)]
    return chosen


def _on_words() -> list[Member]:
    """A network that looks at words beside each other, some of them left out in every step."""
    from conftr.members.network import WEAK, Network
    from conftr.training import LeaveWordsOut, WordNet

    return [
        Network(
            "network on words in order",
            (WEAK,),
            words=True,
            architecture=WordNet,
            augmentation=LeaveWordsOut(0.3, float(word_vectors.NOTHING)),
            steps=1500,
            batch_size=64,
            learning_rate=0.02,
        )
    ]


def _boosted(rows: MemberRows) -> list[Member]:
    """Boosted trees, where LightGBM is here and classes are few."""
    few = len(np.unique(rows.labels)) <= _BOOSTED
    return [Boosted()] if boosted.is_here() and few else []


KINDS: dict[str, Callable[[], list[Member]]] = {
    "networks": _networks,
    "boosted": lambda: [Boosted()],
    "forest": lambda: [Forest(RANDOM, min_leaf=5)],
    "extra-trees": lambda: [Forest(EXTRA)],
    "logistic": lambda: [Logistic()],
    "convnet": _convnet,
    "resnet": _resnet,
    "imagenet": _on_features,
    "n-grams": lambda: [NgramLogistic()],
    "words": _on_words,
}


def requested_members(members: Any) -> RequestedMembers:
    """What the argument `members` of a classifier asks for.

    Args:
        members: "auto", "one-network", names of kinds with commas between, a member, a classifier
            of scikit-learn, or a list of such values.

    Returns:
        "auto", "one-network", or the members.

    Raises:
        ValueError: If a name is none of these.
        TypeError: If a value can be no member.
    """
    if isinstance(members, str) and members in (AUTO, ONE_NETWORK):
        return members
    values = members.split(",") if isinstance(members, str) else members
    if not isinstance(values, Sequence):
        values = [values]
    chosen = [member for value in values for member in _members(value)]
    if not chosen:
        raise ValueError("members must name at least one member, or be 'auto'.")
    return tuple(chosen)


def _members(value: Any) -> list[Member]:
    if isinstance(value, str):
        name = value.strip()
        if name not in KINDS:
            raise ValueError(
                f"members must be {AUTO!r}, {ONE_NETWORK!r}, or some of {', '.join(KINDS)} with "
                f"commas between; got {value!r}."
            )
        return KINDS[name]()
    if isinstance(value, FrozenEstimator):
        return [Frozen(value)]
    if hasattr(value, "fit") and hasattr(value, "name"):
        return [value]
    if hasattr(value, "fit"):
        return [Scikit(value)]
    raise TypeError(
        f"members must be classifiers with fit and predict_proba, members such as "
        f"conftr.members.Forest(), or names; got {value!r}. A function that gives logits goes in "
        f"as conftr.members.Function(it, classes)."
    )


def fitted_elsewhere(member: Member) -> bool:
    """Whether a member comes with its classes, so that nothing of it is trained here."""
    return hasattr(member, "classes")


class Suitable(NamedTuple):
    """The members that suit rows, and the names of those that would for fewer classes."""

    members: list[Member]
    hopeless: list[str]


def suitable(rows: MemberRows) -> Suitable:
    """What suits rows of this kind and number; a head then hears those that are missed.

    Where rows and classes are both many, some members would take hours or all memory. They are
    left out, as long as one is left.
    """
    candidates = _suitable(rows)
    able = [member for member in candidates if not _is_hopeless(member, rows)]
    able = able or [member for member in candidates if not isinstance(member, Forest)][:1]
    return Suitable(able, [member.name for member in candidates if member not in able])


def _is_hopeless(member: Member, rows: MemberRows) -> bool:
    if isinstance(member, Forest):
        return min(len(rows.labels), member.most_rows) * rows.classes > _LEAVES
    return hasattr(member, "decays") and rows.classes > _NETWORKS


def _suitable(rows: MemberRows) -> list[Member]:
    """What suits rows of this kind, however many classes there are.

    Extra trees with single rows as leaves remember, which suits clean tables; a random forest with
    larger leaves suits noisy ones; networks with weak and with strong decay likewise. Boosted
    trees grow a tree for each class and round, too many where classes are many.
    """
    if isinstance(rows.reader, Images):
        return _for_images(rows.reader)
    if isinstance(rows.reader, FrozenPictures):
        return _on_features()
    if isinstance(rows.reader, TextColumns):
        return _for_texts(rows, rows.reader)
    width = rows.reader.width + sum(rows.reader.levels.values())
    chosen: list[Member] = [Logistic()] if len(rows.labels) * width <= _LINEAR else []
    chosen += [Forest(EXTRA), Forest(RANDOM, min_leaf=5), *_networks()]
    return chosen + _boosted(rows)
