"""Options are written down without importing what they choose between: here they are compared."""

import re

import pytest

from conftr.classifier.choosing_head import HEADS
from conftr.classifier.choosing_members import KINDS
from conftr.classifier.recipes import METHODS
from conftr.cli import options
from conftr.data.pictures import SUFFIXES


@pytest.mark.parametrize(
    ("option", "known"), [(options.Method, METHODS), (options.HeadOption, HEADS)]
)
def test_an_option_takes_what_the_classifier_takes(option, known):
    assert [str(value) for value in option] == list(known)


def test_the_help_names_every_kind_of_member():
    (about,) = options.Members.__metadata__
    listed = about.help.partition("between:")[2]
    words = re.findall(r"[a-z-]+", re.sub(r"of (texts|pictures)", "", listed))
    assert sorted(words) == sorted(KINDS)


def test_the_help_of_pictures_names_every_ending():
    (about,) = options.Picture.__metadata__
    assert set(re.findall(r"\.[a-z]+", about.show_default)) == set(SUFFIXES)
