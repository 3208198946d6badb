import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from conftr.members.elsewhere import Function, Probabilities, load
from conftr.members.member import MemberError, MemberRows
from conftr.members.scikit import Frozen, Scikit
from small_table import fitted, frame


def numbers(n=60, seed=0):
    x, y = frame(n, seed)
    return np.nan_to_num(x[["u", "v", "w"]].to_numpy()), y


def test_any_classifier_of_scikit_learn_is_fitted_on_each_fold():
    x, y = numbers()
    small = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3)
    (member,), folds = fitted(Scikit(small), MemberRows(x, y, 3))
    assert member.name == "HistGradientBoostingClassifier"
    assert len(member.models) == 2
    answers = member.out_of_fold(member.reader.encode(x), folds)
    assert (answers.argmax(axis=1) == y).mean() > 0.5


def test_a_classifier_of_scikit_learn_cannot_be_saved():
    x, y = numbers()
    (member,), _ = fitted(Scikit(LogisticRegression()), MemberRows(x, y, 3))
    with pytest.raises(MemberError, match="only pickle could save"):
        member.models[0].files()


def test_a_classifier_without_probabilities_is_refused():
    x, y = numbers()
    (member,), _ = fitted(Scikit(LinearSVC()), MemberRows(x, y, 3))
    with pytest.raises(MemberError, match="must have predict_proba"):
        member.logits(x)


def test_a_frozen_classifier_is_taken_with_its_class_names():
    x, y = numbers()
    names = np.array(["red", "green", "blue"])
    model = LogisticRegression().fit(x, names[y])
    (member,), _ = fitted(Frozen(FrozenEstimator(model)), MemberRows(x, y, 3, names))
    assert member.name == "LogisticRegression"
    order = [model.classes_.tolist().index(name) for name in names]
    np.testing.assert_allclose(
        np.exp(member.logits(x)), model.predict_proba(x)[:, order], atol=1e-3
    )


def test_logits_of_a_function_stay_as_they_are():
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(3, 3)
    x, y = numbers()
    given = Function(lambda rows: net(torch.tensor(rows, dtype=torch.float32)), "abc", "my network")
    (member,), _ = fitted(given, MemberRows(x, y, 3))
    expected = net(torch.tensor(x, dtype=torch.float32)).detach().numpy()
    np.testing.assert_array_equal(member.logits(x), expected)
    with pytest.raises(MemberError, match="code of yours"):
        member.models[0].files()


def test_outputs_alone_are_enough_and_are_saved():
    p = np.array([[0.2, 0.8], [1.0, 0.0]])
    (member,), _ = fitted(Probabilities("ab"), MemberRows(p, np.array([1, 0], np.int32), 2))
    answers = member.logits(p)
    np.testing.assert_allclose(np.exp(answers), p, atol=1e-12)
    assert np.isfinite(answers).all()
    np.testing.assert_array_equal(
        load(member.models[0].files()).logits(member.reader.encode(p)), answers
    )


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([[0.2, 0.9], [0.5, 0.5]], "row 0 sum to 1.1"),
        ([[2.0, -1.0], [0.5, 0.5]], "must lie in 0..1"),
        ([[0.2, 0.3, 0.5]] * 2, "one column for each of the 2 classes"),
    ],
)
def test_outputs_that_are_no_probabilities_are_refused(outputs, words):
    (member,), _ = fitted(Probabilities("ab"), MemberRows(np.eye(2), np.array([0, 1], np.int32), 2))
    with pytest.raises(ValueError, match=words):
        member.logits(np.array(outputs))
