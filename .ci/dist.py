"""What a release must pass: `python .ci/dist.py dist`, on an sdist and the wheel built from it.

The wheel holds every file of the package; in a clean environment it installs and works, first with
NumPy alone, where what needs more says so in words, then with the extra `cli`, where the demo runs.
All of it happens in a folder of its own, so that nothing is found in the source tree.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE = """
import sys
import numpy as np
import conftr
assert "site-packages" in conftr.__file__, conftr.__file__
generator = np.random.default_rng(0)
labels = generator.integers(0, 5, 2000)
logits = generator.normal(size=(2000, 5)) + 3 * np.eye(5)[labels]
scores = conftr.aps(logits, generator.random(2000))
tau = conftr.calibrate(scores[:1000], labels[:1000], alpha=0.1)
sets = conftr.predict_set(scores[1000:], tau)
covered = conftr.coverage(sets, labels[1000:])
assert 0.85 < covered < 0.95, covered
loss = conftr.ConfTr(alpha=0.1, quantile=conftr.Nearest(0.1))(logits, labels)
assert np.isfinite(loss), loss
try:
    conftr.ConformalClassifier
except ImportError as error:
    assert "pip install 'conftr[" in str(error), error
else:
    raise AssertionError("ConformalClassifier without its packages")
print(conftr.__version__)
"""


def run(*command, cwd, ok=True):
    """What a command prints, on either stream."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, text=True, capture_output=True, timeout=900
    )
    printed = done.stdout + done.stderr
    if (done.returncode == 0) is not ok:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{printed}")
    return printed


def environment(folder, wheel, extra=""):
    """A new environment with the wheel in it; its folder of programs."""
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    run(*pip, "--disable-pip-version-check", f"{wheel}{extra}", cwd=folder)
    return folder / "bin"


def check_contents(wheel):
    """The files of the package, code and data, and no others."""
    package = ROOT / "src"
    ours = {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        packed = {name: archive.read(name) for name in names}
    if ours != packed:
        differing = {name for name, _ in ours.items() ^ packed.items()}
        sys.exit(f"{wheel.name} and src/ differ in {', '.join(sorted(differing))}.")
    print(f"{wheel.name}: {len(packed)} files, as in src/")


def check_base(folder, wheel):
    """NumPy and array-api-compat alone."""
    bin_ = environment(folder, wheel)
    version = run(bin_ / "python", "-W", "error", "-c", BASE, cwd=folder).strip()
    assert wheel.name.startswith(f"conftr-{version}-"), version
    assert run(bin_ / "conftr", "--version", cwd=folder).strip() == f"conftr {version}"
    printed = run(bin_ / "conftr", "fit", "data.csv", cwd=folder, ok=False)
    assert "pip install 'conftr[cli]'" in printed, printed
    assert "Traceback" not in printed, printed
    print(f"with NumPy alone: sets, an objective, and in words: {printed.strip()}")


def check_command_line(folder, wheel):
    """Everything that the command line takes."""
    bin_ = environment(folder, wheel, "[cli]")
    run(bin_ / "conftr", "demo", "--quiet", "--out", "demo", cwd=folder)
    assert (folder / "demo" / "report.html").stat().st_size > 10_000
    assert "digits" in run(bin_ / "conftr", "data", "list", cwd=folder)
    print("with the extra cli: the demo and its report")


def main():
    """Check the one wheel in the folder that is named."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    check_contents(wheel)
    with tempfile.TemporaryDirectory() as folder:
        check_base(Path(folder) / "base", wheel)
        check_command_line(Path(folder) / "cli", wheel)


if __name__ == "__main__":
    main()
