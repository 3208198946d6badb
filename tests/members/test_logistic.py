import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from conftr.features.spread import Spread
from conftr.members import logistic
from conftr.members.logistic import Logistic
from conftr.members.member import FLOOR, MemberRows
from small_table import fitted, frame, one_by_one, rows, without_class


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_scikit_learns(classes):
    x, y = frame()
    training = MemberRows(x[y < classes], y[y < classes], classes)
    (member,), folds = fitted(Logistic(), training)
    spread = Spread.learn(training.inputs, training.reader.levels)
    encoded = spread.encode(training.inputs).astype(np.float64)
    model = LogisticRegression(max_iter=300).fit(
        encoded[folds[0].train], training.labels[folds[0].train]
    )
    answers = np.exp(member.models[0].logits(training.inputs))
    np.testing.assert_allclose(answers, model.predict_proba(encoded), rtol=1e-6)


def test_a_row_alone_and_a_loaded_model_give_the_same_bits():
    training = rows()
    (member,), _ = fitted(Logistic(), training)
    x, _ = frame(30, seed=1)
    np.testing.assert_array_equal(one_by_one(member, x), member.logits(x))
    inputs = training.reader.encode(x)
    again = logistic.load(member.models[0].files())
    np.testing.assert_array_equal(again.logits(inputs), member.models[0].logits(inputs))


def test_a_class_that_a_fold_lacks_gets_the_floor():
    training = rows()
    folds = without_class(training, 1)
    (member,) = Logistic().fit(training, folds, seed=0, progress=lambda *_: None)
    np.testing.assert_allclose(np.exp(member.answers(training.inputs)[:, 1]), FLOOR / 3)
