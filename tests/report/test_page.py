"""The page as text: self-contained, escaped, small, without sections that have nothing to say."""

import base64
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import showcase
from PIL import Image

from conftr.conformal.shown_names import apart
from conftr.report import numbers, page, sampling
from conftr.report.png import picture


class Parsed(HTMLParser):
    """Elements with their attributes, scripts, and what is said."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.said, self.inside = [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)
        elif self.inside != "style":
            self.said += data

    def ids(self):
        return {attributes["id"] for _, attributes in self.elements if "id" in attributes}

    def values(self):
        """What is said at first, by name."""
        return {a["data-value"] for _, a in self.elements if "data-value" in a}


def spoken(text):
    return re.sub(r"[ \n]+", " ", Parsed(text).said)


DIGITS = showcase.wished()
PAGES = {
    "digits": page(DIGITS),
    "class": page(showcase.digits("class")),
    "group": page(showcase.digits("group")),
    "wine": page(showcase.wine()),
    "two": page(showcase.two()),
    "nasty": page(showcase.nasty()),
    "unprintable": page(showcase.unprintable()),
}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_comes_from_elsewhere(name):
    for tag, attributes in Parsed(PAGES[name]).elements:
        for key in ("src", "href", "action", "data", "poster"):
            assert attributes.get(key, "#").startswith(("#", "data:")), (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", PAGES[name], re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style
    script = Parsed(PAGES[name]).scripts[-1]
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\b\s*\(?", script)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_forbids_itself_to_ask_a_network(name):
    policy = next(
        attributes["content"]
        for tag, attributes in Parsed(PAGES[name]).elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_the_same_evidence_gives_the_same_page():
    assert page(showcase.wished()) == PAGES["digits"]


def test_pages_are_small():
    assert len(PAGES["digits"]) < 150_000


def test_many_classes_and_examples_stay_small_and_say_so(monkeypatch):
    monkeypatch.setattr(sampling, "_TELLING", 200_000)
    evidence = showcase.many(100, 3_000)
    text, held = page(evidence), len(sampling.sample(evidence).labels)
    assert held < 3_000
    assert len(text) < 450_000
    spoken_words = spoken(text)
    assert f"this page holds {held:,} of the 3,000 test examples, drawn at random" in spoken_words
    overall = numbers.headline(evidence, evidence.alpha)
    assert f"coverage {overall['coverage']}, mean set size {overall['size']}" in spoken_words


def test_without_a_script_the_page_says_what_matters():
    spoken_words = spoken(PAGES["digits"])
    result = numbers.headline(DIGITS, DIGITS.alpha)
    assert f"{result['covered']} sets contained the true class" in spoken_words
    assert f"anywhere from {result['low']} to {result['high']} in 99 of 100 cases" in spoken_words
    assert (
        "Of 1,000 answers, about 980 or more contain the truth; about 20 at most miss it"
        in spoken_words
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_live_value_is_known_to_python(name):
    assert Parsed(PAGES[name]).values() <= set(numbers.headline(DIGITS, 0.1))


OPTIONAL = {"groups", "confusion", "training", "wishes", "coverage-chart"}


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("digits", {"confusion", "training", "wishes", "coverage-chart"}),
        ("class", {"confusion", "training"}),
        ("group", {"groups", "confusion", "training"}),
        ("wine", {"confusion", "coverage-chart"}),
        ("two", {"coverage-chart"}),
        ("nasty", {"groups", "confusion", "training", "wishes"}),
    ],
)
def test_sections_that_have_nothing_to_say_are_left_out(name, there):
    parsed = Parsed(PAGES[name])
    assert parsed.ids() & OPTIONAL == there
    linked = {a["href"][1:] for tag, a in parsed.elements if tag == "a"}
    assert linked <= parsed.ids()


def test_what_users_write_stays_text():
    plain = Parsed(page(replace(showcase.nasty(), classes=("a", "b", "c"))))
    nasty = Parsed(PAGES["nasty"])
    assert [tag for tag, _ in nasty.elements] == [tag for tag, _ in plain.elements]
    assert not any("onerror" in attributes for _, attributes in nasty.elements)
    assert json.loads(nasty.scripts[0])["classes"] == list(showcase.NASTY)


def test_names_that_cannot_be_printed_are_said_escaped_cut_and_apart():
    text = PAGES["unprintable"]
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e\ufffe\ud800-\udfff]", text)
    assert len(text.encode()) < len(PAGES["nasty"].encode()) + 20_000
    classes = json.loads(Parsed(text).scripts[0])["classes"]
    assert tuple(classes) == apart(showcase.UNPRINTABLE, 200)
    assert r"Prediction sets: \x00y\x07\x0b\x1b[31mes" in Parsed(text).said


def test_cross_entropy_chosen_is_said_honestly():
    swapped = replace(DIGITS, candidates=DIGITS.candidates[::-1])
    spoken_words = spoken(page(swapped))
    assert "Chosen: cross-entropy." in spoken_words
    assert "Training through calibration did no better" in spoken_words
    assert "did no better" not in Parsed(PAGES["digits"]).said


@pytest.mark.parametrize("shape", [(8, 8), (5, 7, 3), (300, 200), (97, 40, 3)])
def test_pictures_are_what_was_given(shape, rng):
    pixels = rng.integers(0, 256, shape).astype(np.uint8)
    kind, data = picture(pixels).split(",")
    assert kind == "data:image/png;base64"
    read = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
    step = -(-max(shape[:2]) // 96)
    np.testing.assert_array_equal(read, pixels[::step, ::step])
    assert max(read.shape[:2]) <= 96
