"""Networks of PyTorch as members: calibrated, given wishes, saved and loaded."""

import numpy as np
import pytest
import torch

import conftr
from conftr.classifier.artefact import ArtefactError

NAMES = np.array(["cat", "dog", "eel"])


def build():
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    )


def blobs(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return (rng.normal(size=(n, 4)) + 2 * np.eye(3, 4)[y]).astype(np.float32), NAMES[y]


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    made = build()
    X, y = blobs(300, 0)
    optimiser = torch.optim.Adam(made.parameters(), lr=0.05)
    x, truth = torch.as_tensor(X), torch.as_tensor(np.searchsorted(NAMES, y))
    for _ in range(30):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(made(x), truth).backward()
        optimiser.step()
    return made


@pytest.fixture
def clf(net):
    member = conftr.torch_member(net.train(), NAMES.tolist(), build=build)
    return conftr.ConformalClassifier(alpha=0.1, members=member, random_state=0).fit(*blobs(400, 1))


def test_all_rows_calibrate_and_sets_are_those_of_its_logits(clf, net):
    X, y = blobs(300, 2)
    assert (clf.n_train_, clf.n_calibration_) == (0, 400)
    scores = conftr.thr(net.eval()(torch.as_tensor(X)).detach())
    expected = conftr.predict_set(scores, float(clf.thresholds_[0]))
    np.testing.assert_array_equal(clf.predict_set(X), expected.numpy())
    law = conftr.coverage_law(400, 300, 0.1)
    assert 1e-4 < law[round(300 * clf.coverage(X, y))] < 1 - 1e-4


def test_rows_may_be_doubles_whole_numbers_and_many(clf):
    X, _ = blobs(2500, 2)
    np.testing.assert_array_equal(clf.predict_set(X.astype(float)), clf.predict_set(X))
    assert clf.predict_set(X[:0].reshape(0, 4)).shape == (0, 3)


def test_weights_are_saved_and_code_is_given(clf, net, tmp_path):
    conftr.save(clf, tmp_path / "model")
    X, _ = blobs(300, 2)
    with pytest.raises(ArtefactError, match=r"Sequential, whose code .* conftr.load\(path, build"):
        conftr.load(tmp_path / "model")
    loaded = conftr.load(tmp_path / "model", build=build)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict_set(X), clf.predict_set(X))
    loaded.calibrate(*blobs(200, 3))
    assert loaded.n_calibration_ == 200
    with pytest.raises(ArtefactError, match="build makes another network"):
        conftr.load(tmp_path / "model", build=lambda: torch.nn.Linear(4, 3))
    names = {path.name for path in (tmp_path / "model").rglob("*")}
    assert {"member-0-0-torch.safetensors", "member-0-0-torch.json"} <= names


def test_without_build_it_is_not_saved(net, tmp_path):
    member = conftr.torch_member(net, NAMES.tolist())
    clf = conftr.ConformalClassifier(members=member, random_state=0).fit(*blobs(100, 1))
    with pytest.raises(ArtefactError, match="build="):
        conftr.save(clf, tmp_path / "model")


def test_refusals(net):
    with pytest.raises(TypeError, match="must be a module of PyTorch; got function"):
        conftr.torch_member(lambda x: x, NAMES.tolist())
    clf = conftr.ConformalClassifier(members=conftr.torch_member(net, ["a", "b"]), random_state=0)
    X, y = blobs(50, 1)
    with pytest.raises(ValueError, match="a column for each of the 2 classes"):
        clf.fit(X, np.where(y == "cat", "a", "b"))
