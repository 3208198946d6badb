# ruff: noqa: E402
"""Post-hoc sets from 100,000 x 100 logits, 10,000 calibration rows: conftr, MAPIE, plain NumPy.

One thread, one run, ratios of the least processor time of several runs in turn. "From logits" is
the whole way for everybody: MAPIE's classifier makes its probabilities from them. "From
probabilities" hands both the same array, as a model with `predict_proba` does: to conftr they are
THR's scores as they are (only their order counts), and for APS it takes their logs. `make bench`
installs MAPIE and runs this.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from mapie.classification import SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin

import conftr
from timing import best_times, temporary_megabytes

RANDOMIZED = {"include_last_label": "randomized"}  # with U, as conftr.aps is given it
ALPHA, N_CAL, N_TEST, K = 0.05, 10_000, 100_000, 100
LIMITS = {("logits", "THR"): 8, ("logits", "APS with U"): 3}


class ReadyMade(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its probabilities."""

    def fit(self, X, _):
        self.classes_ = np.arange(X.shape[1])
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


class FromLogits(ReadyMade):
    """A classifier whose features are its logits."""

    def predict_proba(self, X):
        return softmax(X)


def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, K, N_CAL + N_TEST)
    logits = 1.5 * rng.normal(size=(N_CAL + N_TEST, K)).astype(np.float32)
    logits[np.arange(len(labels)), labels] += 4
    return logits, labels, rng.random(len(labels)).astype(np.float32)


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


LOGITS, LABELS, U = data()
CAL, TEST = slice(0, N_CAL), slice(N_CAL, None)


def conftr_thr():
    tau = conftr.calibrate(LOGITS[CAL], LABELS[CAL], ALPHA, score=conftr.thr)
    return (conftr.predict_set(LOGITS[TEST], tau, score=conftr.thr),)


def conftr_thr_scores():
    tau = conftr.calibrate(conftr.thr(LOGITS[CAL]), LABELS[CAL], ALPHA)
    scores = conftr.thr(LOGITS[TEST])
    return scores, conftr.predict_set(scores, tau)


def conftr_aps(logits=LOGITS):
    tau = conftr.calibrate(conftr.aps(logits[CAL], U[CAL]), LABELS[CAL], ALPHA)
    scores = conftr.aps(logits[TEST], U[TEST])
    return scores, conftr.predict_set(scores, tau)


def plain_rank():
    return int(np.floor(ALPHA * (N_CAL + 1)))


def plain_thr():
    true_scores = softmax(LOGITS[CAL])[np.arange(N_CAL), LABELS[CAL]]
    tau = np.sort(true_scores)[plain_rank() - 1]
    scores = softmax(LOGITS[TEST])
    return scores, scores >= tau


def plain_aps_scores(logits, u):
    p = softmax(logits)
    order = np.argsort(p, axis=1)
    ascending = np.take_along_axis(p, order, axis=1)
    mass = np.cumsum(ascending, axis=1) - u[:, None] * ascending
    return np.take_along_axis(mass, np.argsort(order, axis=1), axis=1)


def plain_aps():
    true_scores = plain_aps_scores(LOGITS[CAL], U[CAL])[np.arange(N_CAL), LABELS[CAL]]
    tau = np.sort(true_scores)[plain_rank() - 1]
    scores = plain_aps_scores(LOGITS[TEST], U[TEST])
    return scores, scores >= tau


def conftr_ready(scores):
    tau = conftr.calibrate(scores[CAL], LABELS[CAL], ALPHA)
    return (conftr.predict_set(scores[TEST], tau),)


def mapie(score, classifier, features):
    def run():
        conformal = SplitConformalClassifier(
            classifier().fit(features[CAL], LABELS[CAL]),
            confidence_level=1 - ALPHA,
            conformity_score=score,
            prefit=True,
            random_state=0,
        )
        conformal.conformalize(features[CAL], LABELS[CAL])
        options = {"conformity_score_params": RANDOMIZED} if score == "aps" else {}
        return conformal.predict_set(features[TEST], **options)[1][:, :, 0]

    return run


def show(view, name, ours, peer, plain=None):
    runs = {"conftr": ours, "MAPIE": peer} | ({} if plain is None else {"plain NumPy": plain})
    seconds = best_times(runs, 15)
    limit = LIMITS.get((view, name))
    for other in list(runs)[1:]:
        ratio = seconds[other] / seconds["conftr"]
        wanted = f"  (at least {limit:g})" if limit and other == "MAPIE" else ""
        missed = ": MISSED" if wanted and ratio < limit else ""
        print(f"  {name}: {other} takes {ratio:5.1f} x{wanted}{missed}")
    sizes = f"mean size {ours()[-1].mean() * K:.3f} (MAPIE {peer().mean() * K:.3f})"
    memory = f"temporary memory {temporary_megabytes(ours):.1f} MB"
    if plain is not None:
        memory += f" (plain NumPy {temporary_megabytes(plain):.0f} MB)"
    print(f"  {name}: conftr {seconds['conftr']:.3f} s; {memory}; {sizes}", flush=True)


def main() -> None:
    ready = softmax(LOGITS)
    print("From logits: MAPIE's classifier makes probabilities of them, conftr its scores")
    lac = mapie("lac", FromLogits, LOGITS)
    show("logits", "THR", conftr_thr, lac, plain_thr)
    show("logits", "THR, scores kept", conftr_thr_scores, lac, plain_thr)
    show("logits", "APS with U", conftr_aps, mapie("aps", FromLogits, LOGITS), plain_aps)
    print("From probabilities: both are handed the same")
    view = "probabilities"
    show(view, "THR", lambda: conftr_ready(ready), mapie("lac", ReadyMade, ready))
    show(view, "APS with U", lambda: conftr_aps(np.log(ready)), mapie("aps", ReadyMade, ready))


if __name__ == "__main__":
    main()
