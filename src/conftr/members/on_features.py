"""A member on what a frozen network makes of pictures, in place of the pictures themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conftr.features import frozen_pictures
from conftr.features.frozen_pictures import FrozenPictures
from conftr.features.images import Images
from conftr.members.member import (
    FittedMember,
    Fold,
    Member,
    MemberError,
    MemberRows,
    Progress,
)


@dataclass(frozen=True)
class OnFeatures:
    """A member that learns from features; pictures are encoded once for all such members."""

    member: Member

    @property
    def name(self) -> str:
        """The member's name, and what it sees."""
        return f"{self.member.name} on ImageNet features"

    def fit(
        self, rows: MemberRows, folds: Sequence[Fold], *, seed: int, progress: Progress
    ) -> list[FittedMember]:
        """Fit the member on the features of the rows."""
        features = rows.read_by(reader_of(rows))
        fitted = self.member.fit(features, folds, seed=seed, progress=progress)
        return [
            replace(member, name=self.name + member.name.removeprefix(self.member.name))
            for member in fitted
        ]


def reader_of(rows: MemberRows) -> FrozenPictures:
    """The frozen network that reads these rows.

    Raises:
        MemberError: If they are no pictures of bytes.
        EncoderError: If it is not installed.
    """
    if isinstance(rows.reader, FrozenPictures):
        return rows.reader
    if not isinstance(rows.reader, Images) or not rows.reader.of_bytes:
        raise MemberError("ImageNet features are of pictures: files, or arrays of bytes (uint8).")
    return frozen_pictures.frozen_pictures(rows.reader.inputs)
