"""Sets from any fitted scikit-learn classifier: one threshold, or one for each class."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import conftr

ALPHA = 0.1

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=600, random_state=0)
X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, train_size=600, random_state=0)

model = make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-2)).fit(X_train, y_train)

# Logs, not probabilities: this model's probabilities round to 0 and 1, their logs do not.
cal_scores = conftr.thr(model.predict_log_proba(X_cal))
test_scores = conftr.thr(model.predict_log_proba(X_test))

for name, groups in {"one threshold": None, "one a class": "class"}.items():
    tau = conftr.calibrate(cal_scores, y_cal, ALPHA, groups=groups)
    sets = conftr.predict_set(test_scores, tau)
    covered, size = conftr.coverage(sets, y_test), conftr.inefficiency(sets)
    print(f"{name:13}  covers {covered:.1%}, mean size {size:.2f}")
    print(" " * 13, " by class:", *(f"{c:.0%}" for c in conftr.class_coverage(sets, y_test)))
