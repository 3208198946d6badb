"""Post-hoc sets on handwritten digits: any classifier's probabilities, one threshold, a promise.

Data and classifier come with scikit-learn; a minute at most. Run with `make demo`.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import conftr

ALPHA = 0.02
SHADES = " .:-=+*#%@"


def draw(image: np.ndarray) -> list[str]:
    """An 8 x 8 image as text."""
    return ["".join(2 * SHADES[int(v * 9 / 16)] for v in row) for row in image.reshape(8, 8)]


def show(images: np.ndarray, sets: np.ndarray, labels: np.ndarray) -> None:
    """Images side by side, each above its set and its true class."""
    for lines in zip(*(draw(image) for image in images), strict=True):
        print("   ".join(lines))
    answers = ["{" + ", ".join(map(str, np.flatnonzero(s))) + "}" for s in sets]
    print("   ".join(f"{answer:16}" for answer in answers))
    print("   ".join(f"{f'truth: {label}':16}" for label in labels))


def main() -> None:
    """Train, calibrate, predict, and say what came out."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, cal, test = np.split(order, [800, 1300])
    model = LogisticRegression(C=0.002, max_iter=500).fit(X[train], y[train])

    scores_cal = conftr.thr(model.predict_log_proba(X[cal]))
    tau = conftr.calibrate(scores_cal, y[cal], ALPHA)
    sets = conftr.predict(conftr.thr(model.predict_log_proba(X[test])), tau)

    law = conftr.coverage_law(len(cal), len(test), ALPHA)
    low, high = np.searchsorted(law, [0.005, 0.995]) / len(test)
    sizes = sets.sum(axis=1)
    print(
        f"A classifier that names one digit is right {model.score(X[test], y[test]):.1%} of the "
        f"time.\nAsked instead for sets that hold the right digit with probability "
        f"{1 - ALPHA:.0%}, calibrated on {len(cal)} examples:\n"
        f"  coverage on {len(test)} new examples: {conftr.coverage(sets, y[test]):.1%} "
        f"(99 % of calibration and test draws give {low:.1%} to {high:.1%})\n"
        f"  mean set size: {conftr.inefficiency(sets):.2f}; "
        f"{np.mean(sizes == 1):.0%} of the sets hold a single digit\n"
    )
    print("Where it is sure, and where it is not:\n")
    chosen = [*np.flatnonzero(sizes == 1)[:2], *np.argsort(-sizes, kind="stable")[:2]]
    show(X[test][chosen], sets[chosen], y[test][chosen])
    print("\nNext: README.md shows how to train through this, and how to have a say in the sets.")


if __name__ == "__main__":
    main()
