"""Sets from boosted trees. `predict_proba` of XGBoost and LightGBM is used in the same way."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import conftr

ALPHA = 0.05

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=500, random_state=0)
model = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X_train, y_train)
logits = conftr.logits_from_probs(model.predict_proba(X_rest))  # trees may give exact zeros
cal, test = slice(0, 700), slice(700, None)
generator = np.random.default_rng(0)  # a fresh draw for each example, for APS and RAPS
for name, scores in {
    "THR": conftr.thr(logits),
    "APS": conftr.aps(logits, generator.random(len(logits))),
    "RAPS": conftr.raps(logits, generator.random(len(logits)), penalty=0.05, free_rank=1),
}.items():
    tau = conftr.calibrate(scores[cal], y_rest[cal], ALPHA)
    sets = conftr.predict_set(scores[test], tau)
    covered, size = conftr.coverage(sets, y_rest[test]), conftr.inefficiency(sets)
    print(f"{name:4}  covers {covered:.1%}, mean size {size:.2f}")
