"""Saves that are broken off or meet, in a process of its own, as it forks: broken_saves.py FOLDER.

Prints JSON. First what a folder holds after the old save, after the new one, and after two
processes at once; then a line for each save that was broken off: how it ended, and what is there.
"""

import json
import os
import resource
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

from conftr import ConformalClassifier
from conftr.classifier import artefact
from conftr.members.elsewhere import Probabilities

STEPS = {"open", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
LARGE = 20_000  # bytes of a page


def classifier(alpha):
    rng = np.random.default_rng(0)
    outputs = Probabilities(["cat", "dog"])
    p = rng.dirichlet([1, 1], 60)
    return ConformalClassifier(alpha, members=outputs).fit(p, np.array(["cat", "dog"] * 30))


def report(alpha, *figures):
    page = f"alpha {alpha} ".encode().ljust(LARGE)
    return {f"figures/{name}.svg": str(alpha).encode() for name in figures} | {"report.html": page}


OLD, NEW = classifier(0.1), classifier(0.2)
OLD_REPORT, NEW_REPORT = report(0.1, "coverage", "wishes"), report(0.2, "coverage", "sizes")


def save_new(folder):
    artefact.save(NEW, folder, report=NEW_REPORT)


def killed_before_step(number):
    """Make this process kill itself just before it opens, makes, moves or removes the n-th file."""
    left = [number]

    def count(event, arguments):
        if event in STEPS and "saved" in str(arguments[0]):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def full_after(size):
    """Let no file grow beyond so many bytes, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def outcome(folder, prepare):
    """Save in a child process that something happens to; how it ended, and what is there then."""
    child = os.fork()
    if not child:
        prepare()
        try:
            save_new(folder)
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return {"ended": os.waitstatus_to_exitcode(status)} | held(folder)


def held(folder):
    """The alphas of the model and of the report in a folder, and all files there."""
    page, figures = folder / "report.html", [*folder.glob("figures/*")]
    return {
        "model": artefact.load(folder).alpha_ if (folder / "manifest.json").exists() else None,
        "page": page.read_text().split()[1] if page.exists() else None,
        "figures": sorted({figure.read_text() for figure in figures}),
        "files": sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()),
    }


def fresh(folder, *, old=True):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    if old:
        artefact.save(OLD, folder, report=OLD_REPORT)
    return folder


def at_once(folder):
    """Two processes save the new and the old in turn; what is read meanwhile, and at the end."""
    fresh(folder)
    for _ in range(2):
        if not os.fork():
            for _ in range(10):
                save_new(folder)
                artefact.save(OLD, folder, report=OLD_REPORT)
            os._exit(0)
    seen, ended = set(), []
    while len(ended) < 2:
        seen.add(artefact.load(folder).alpha_)
        ended += [item for item in (os.waitpid(-1, os.WNOHANG),) if item[0]]
    return {"seen": sorted(seen), "statuses": [status for _, status in ended]} | held(folder)


def main(place):
    folder = place / "saved"
    tell = {"old": held(fresh(folder))}
    save_new(folder)
    tell["new"] = held(folder)
    print(json.dumps(tell | {"at once": at_once(folder)}))
    for old in (True, False):
        ended, number = -signal.SIGKILL, 0
        while ended == -signal.SIGKILL:
            fresh(folder, old=old)
            result = outcome(folder, lambda number=number: killed_before_step(number))
            ended, number = result["ended"], number + (1 if old else 3)
            save_new(folder)  # and what was left is gone
            print(json.dumps(result | {"old": old, "after": held(folder)}))
    for size in (0, 10, 100, 1000, LARGE - 1):
        result = outcome(fresh(folder), lambda size=size: full_after(size))
        print(json.dumps(result | {"full": size}))


main(Path(sys.argv[1]))
