"""The page in a real browser: it asks nothing of a network, fits every screen, and re-calibrates.

What its script finds is compared with Python, set by set and word by word.
"""

import json
import shutil
import time

import numpy as np
import pytest
import showcase
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import conftr
from conftr.conformal.quantile import rank
from conftr.conformal.shown_names import apart
from conftr.report import numbers, page
from conftr.report.slider import fraction, stops

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no Chromium with chromedriver here; .ci/run installs one"
)
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EVIDENCE = {
    "digits": showcase.wished,
    "class": lambda: showcase.digits("class"),
    "group": lambda: showcase.digits("group"),
    "wine": showcase.wine,
    "two": showcase.two,
    "nasty": showcase.nasty,
    "unprintable": showcase.unprintable,
    "many": lambda: showcase.many(60, 400),
    "rare": showcase.rare,
    "rare-by-group": lambda: showcase.rare("group"),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = Options()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(60)
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Where the page of each evidence lies."""
    folder = tmp_path_factory.mktemp("pages")
    for name, evidence in EVIDENCE.items():
        (folder / f"{name}.html").write_text(page(evidence()), encoding="utf-8")
    return folder


def opened(browser, pages, name, width=1280):
    browser.get_log("browser")
    browser.get_log("performance")
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get((pages / f"{name}.html").as_uri())
    until(browser, "return document.documentElement.dataset.ready === 'yes'")
    return EVIDENCE[name]()


def until(browser, condition, seconds=30):
    end = time.monotonic() + seconds
    while not browser.execute_script(condition):
        assert time.monotonic() < end, f"waited {seconds} s for: {condition}"
        time.sleep(0.02)


def move_to(browser, stop):
    """Set the slider as a hand would, and wait until the page has followed."""
    browser.execute_script(
        "const slider = document.querySelector('#slider'); slider.value = arguments[0];"
        "slider.dispatchEvent(new Event('input'));",
        stop,
    )
    followed(browser, stop)


def followed(browser, stop):
    told = f"return conftr.data.stops[{stop}].promise"
    until(browser, f"{told} === document.querySelector('h1 .live').textContent")


def press(browser, selector):
    button = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", button)
    button.click()


def texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
    return browser.execute_script(script, selector)


def lines(browser, table):
    """The cells of a table's body, with notes left out."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map((line) =>"
        "[...line.cells].map((cell) => { const own = cell.cloneNode(true);"
        "own.querySelectorAll('small, .sign').forEach((one) => one.remove());"
        "return own.textContent; }))",
        table,
    )


@pytest.mark.parametrize("name", EVIDENCE)
def test_no_errors_no_requests_and_no_overflow(browser, pages, name):
    opened(browser, pages, name, width=390)
    overflow = (
        "return [document.documentElement.scrollWidth - document.documentElement.clientWidth,"
        "...[...document.querySelectorAll('details')].map((one) => { one.open = true; "
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth })]"
    )
    assert max(browser.execute_script(overflow)) <= 0
    move_to(browser, 0)
    move_to(browser, len(stops(EVIDENCE[name]().alpha)) - 1)
    assert max(browser.execute_script(overflow)) <= 0
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"].endswith("WillBeSent")]
    assert asked
    # The browser's own first page, which may still be loading, has addresses of chrome:.
    ours = ("file:", "data:", "blob:", "chrome:")
    assert [url for url in asked if not url.startswith(ours)] == []
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(
    "name", ["digits", "class", "group", "two", "many", "rare", "rare-by-group"]
)
def test_sets_and_words_are_those_of_python_at_every_stop(browser, pages, name):
    evidence = opened(browser, pages, name)
    found = browser.execute_script(
        """
        const { data, measured, headline } = conftr, width = data.classes.length;
        return data.stops.map((stop, s) => {
          const now = measured(data, s);
          return {
            sets: now.all.map(({ has }) => Array.from(data.labels, (_, i) =>
              data.classes.map((_, k) => (has(i, k) ? "1" : "0")).join("")).join("")),
            words: headline(data, stop, now.found, now.groups),
            groups: now.groups.map((g) => [g.tests, g.covered, g.total, g.low, g.high, g.verdict]),
          };
        });
        """
    )
    alphas = stops(evidence.alpha)
    assert len(found) == len(alphas)
    for alpha, there in zip(alphas, found, strict=True):
        for c, bits in enumerate(there["sets"]):
            sets = np.frombuffer(bits.encode(), np.uint8).reshape(len(evidence.labels), -1) == 49
            np.testing.assert_array_equal(sets, evidence.sets(c, alpha), err_msg=f"{alpha}")
        assert there["words"] == numbers.headline(evidence, alpha)
        here = numbers.tallies(evidence, alpha)
        assert there["groups"] == [[*one[2:7], one.verdict] for one in here]


def test_ranks_are_exact_for_any_alpha(browser, pages):
    opened(browser, pages, "two")
    alphas = [0.1, 1 - 0.9, 1 / 3, 0.3, 0.07, 0.0005, 1e-5, 0.29, 0.975, 2 / 7]
    sizes = [0, 1, 2, 9, 10, 99, 100, 499, 4_999, 10**6 - 1]
    ratios = [fraction(alpha) for alpha in alphas]
    found = browser.execute_script(
        "return arguments[0].map((ratio) => arguments[1].map((n) => conftr.rank(n, ratio)))",
        [[str(ratio.numerator), str(ratio.denominator)] for ratio in ratios],
        sizes,
    )
    assert found == [[rank(n, alpha) for n in sizes] for alpha in alphas]


def test_the_page_follows_the_keys(browser, pages):
    evidence = opened(browser, pages, "digits")
    start = stops(evidence.alpha).index(evidence.alpha)
    slider = browser.find_element(By.ID, "slider")
    for key, stop in [(Keys.ARROW_LEFT, start - 1), (Keys.HOME, 0), (Keys.ARROW_RIGHT, 1)]:
        slider.send_keys(key)
        followed(browser, stop)
        expected = numbers.headline(evidence, stops(evidence.alpha)[stop])
        for name in ("promise", "alpha", "coverage", "size", "single", "covered", "hits"):
            assert set(texts(browser, f"[data-value={name}]")) == {expected[name]}
        assert expected["coverage"] in slider.get_attribute("aria-valuetext")
    press(browser, "#reset")
    followed(browser, start)


@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_tables_are_the_metrics(browser, pages, alpha):
    evidence = opened(browser, pages, "digits")
    move_to(browser, stops(evidence.alpha).index(alpha))
    press(browser, "[data-sort=name]")
    sets, labels = evidence.sets(alpha=alpha), evidence.labels
    shares, sizes = conftr.class_coverage(sets, labels), conftr.class_inefficiency(sets, labels)
    for y, (name, _, coverage, size, tests) in enumerate(lines(browser, "#class-table")):
        assert (name, int(tests)) == (str(y), int(np.sum(labels == y)))
        assert float(coverage[:-2]) == pytest.approx(100 * shares[y], abs=0.051)
        assert float(size) == pytest.approx(sizes[y], abs=0.0051)
    histogram, held = (
        f(sets, labels)
        for f in (lambda s, _: conftr.size_histogram(s), conftr.size_stratified_coverage)
    )
    for size, (_, _, count, truth) in enumerate(lines(browser, "#size-table")):
        assert int(count) == histogram[size]
        if histogram[size]:
            assert float(truth[:-2]) == pytest.approx(100 * held[size], abs=0.051)
        else:
            assert truth == "–"
    rates = conftr.coverage_confusion(sets, labels) / np.bincount(labels)[:, None] * len(labels)
    for y, (_, *cells) in enumerate(lines(browser, "#confusion")):
        shown = [float(cell.replace("<1", "0.3") or 0) for cell in cells]
        np.testing.assert_allclose(shown, 100 * rates[y], atol=0.71)
    for c, (_, coverage, size, _) in enumerate(lines(browser, "#candidate-table")):
        own = evidence.sets(c, alpha)
        assert float(coverage[:-2]) == pytest.approx(100 * conftr.coverage(own, labels), abs=0.051)
        assert float(size) == pytest.approx(conftr.inefficiency(own), abs=0.0051)
    wishes = {name: cells for name, *cells in lines(browser, "#wish-table")}
    for c in range(2):
        own = evidence.sets(c, alpha)
        mixed = conftr.miscoverage(own, labels, [4], [9])
        assert float(wishes["true 4"][c][:-2]) == pytest.approx(100 * mixed, abs=0.051)
        size = conftr.class_inefficiency(own, labels)[8]
        assert float(wishes["mean size, true 8"][c]) == pytest.approx(size, abs=0.0051)


def test_example_sets_follow(browser, pages):
    evidence = opened(browser, pages, "digits")
    for alpha in (0.02, 0.001, 0.3):
        move_to(browser, stops(evidence.alpha).index(alpha))
        cards = browser.execute_script(
            "return [...document.querySelectorAll('.card')].map((card) => ["
            "Number(card.dataset.row), card.querySelector('.state').textContent,"
            "[...card.querySelectorAll('li.in')].map((one) => Number(one.dataset.class)),"
            "[...card.querySelectorAll('li')].map((one) => Number(one.dataset.class))])"
        )
        assert len(cards) > 12
        sets = evidence.sets(alpha=alpha)
        for row, state, inside, shown in cards:
            assert inside == [k for k in shown if sets[row, k]]
            assert state.endswith("right" if sets[row, evidence.labels[row]] else "wrong")
            assert state.startswith(str(sets[row].sum() or "no class"))


def test_long_tables_open_and_the_least_covered_come_first(browser, pages):
    evidence = opened(browser, pages, "many")
    assert len(lines(browser, "#class-table")) == 15
    worst = sorted(numbers.class_tallies(evidence, evidence.alpha), key=lambda one: one.luck)
    known = [one for one in worst if one.tests]
    assert lines(browser, "#class-table")[0][0] == known[0].name
    assert texts(browser, "#more-classes") == ["Show all 60 classes"]
    press(browser, "#more-classes")
    assert len(lines(browser, "#class-table")) == 60
    assert len(lines(browser, "#confusion")) == 20


def test_signs_are_explained(browser, pages):
    evidence = opened(browser, pages, "class")
    short = [one.name for one in numbers.tallies(evidence, evidence.alpha) if one.everything]
    assert short
    assert len(texts(browser, "#class-table .sign")) == len(short)
    assert texts(browser, "#class-table caption")[0].startswith("∗ too few calibration examples")
    move_to(browser, stops(evidence.alpha).index(0.1))
    assert texts(browser, "#class-table caption") == [""]


def test_classes_far_below_the_promise_follow_the_slider(browser, pages):
    evidence = opened(browser, pages, "rare")
    shown = "return !document.querySelector('#lagging').hidden"
    found = []
    for alpha in (0.1, 0.001, 0.3):
        move_to(browser, stops(evidence.alpha).index(alpha))
        expected = numbers.headline(evidence, alpha)
        assert browser.execute_script(shown) == bool(expected["lagging"])
        for name in ("lagging", "known", "coverage"):
            assert set(texts(browser, f"[data-value={name}]")) == {expected[name]}
        found.append(expected["lagging"])
    assert found[0].startswith("ill (")
    assert found[1] == ""


def test_what_users_write_stays_text(browser, pages):
    opened(browser, pages, "nasty")
    for stop in (0, 60, 40):
        move_to(browser, stop)
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.scripts.length") == 2
    names = [line[0] for line in lines(browser, "#class-table")]
    assert sorted(names) == sorted(showcase.NASTY)
    assert browser.title == f"Prediction sets: {showcase.NASTY[0]}"


def test_names_that_cannot_be_printed_are_told_apart(browser, pages):
    opened(browser, pages, "unprintable")
    names = [line[0] for line in lines(browser, "#class-table")]
    assert sorted(names) == sorted(apart(showcase.UNPRINTABLE, 200))
    cells = texts(browser, "#example-list td, #example-list dd, #example-list th, #example-list dt")
    assert not [text for text in cells if len(text) > 300 or "\x1b" in text or "\0" in text]


def test_figures_can_be_pointed_into(browser, pages):
    evidence = opened(browser, pages, "digits")
    for chart in ("#size-chart", "#coverage-chart"):
        browser.execute_script(
            "const box = document.querySelector(arguments[0]);"
            "box.dispatchEvent(new PointerEvent('pointerdown', { buttons: 1,"
            "clientX: box.getBoundingClientRect().left + arguments[1] }));",
            chart,
            0 if chart == "#size-chart" else 5_000,
        )
        followed(browser, 0 if chart == "#size-chart" else len(stops(evidence.alpha)) - 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, pages, scheme):
    opened(browser, pages, "digits")
    scheme_of = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme_of})
    colours = browser.execute_script(
        "const style = (selector) => getComputedStyle(document.querySelector(selector));"
        "return [style('body').backgroundColor, ...['body', '.eyebrow', '.card li', 'a',"
        "'.missed .state'].map((one) => style(one).color)]"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    ground, *inks = [luminance(colour) for colour in colours]
    assert (ground > 0.5) == (scheme == "light")
    for ink in inks:  # the contrast that accessibility guidelines ask of text
        assert (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) >= 4.5


def luminance(colour):
    """Relative luminance of "rgb(r, g, b)", as accessibility guidelines define it."""
    parts = np.array([float(part) for part in colour[4:-1].split(",")]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
