"""`conftr export`: a saved model as an ONNX file, in words where it cannot be."""

import numpy as np
import pytest

import conftr
from commands import run

onnxruntime = pytest.importorskip("onnxruntime", reason="exports are checked in onnxruntime")

NAMES = ["cat", "dog", "eel"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("exported"), np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    p = rng.dirichlet(np.ones(3), 500) + np.eye(3)[y]
    lines = [",".join([*map(str, row / row.sum()), NAMES[k]]) for row, k in zip(p, y, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["cat,dog,eel,y", *lines]))
    out = folder / "model"
    done = run("calibrate", "probabilities", folder / "rows.csv", "--target", "y", "--out", out)
    assert done.exit_code == 0, done.output
    return out


def test_the_file_makes_the_sets_of_the_model(model, tmp_path):
    rows = model.parent / "rows.csv"
    command = ["export", model, tmp_path / "model.onnx", "--alpha", 0.05, "--rows", rows]
    done = run(*command, "--license", "CC0")
    assert done.exit_code == 0, done.output
    assert "are those of the model" in " ".join(done.stdout.split())
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    p = np.random.default_rng(1).dirichlet(np.ones(3), 200)
    (sets,) = session.run(["sets"], {"outputs": p})
    np.testing.assert_array_equal(sets, conftr.load(model).predict_set(p, alpha=0.05))
    metadata = session.get_modelmeta().custom_metadata_map
    assert (metadata["license"], metadata["file"]) == ("CC0", "rows.csv")


def test_thresholds_can_be_left_to_be_given(model, tmp_path):
    assert run("export", model, tmp_path / "model.onnx", "--no-default").exit_code == 0
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert [node.name for node in session.get_inputs()] == ["outputs", "thresholds"]


def test_refusals(model, tmp_path):
    for out, words in [
        (tmp_path / "model.pt", "must end in .onnx"),
        (tmp_path / "none" / "model.onnx", "cannot be written"),
    ]:
        done = run("export", model, out)
        assert done.exit_code == 1
        assert words in done.output
