import hashlib
from importlib.metadata import version

import pytest

from conftr.features.encoders import Encoder, EncoderError


def test_an_encoder_is_told_by_the_content_of_its_files(tmp_path):
    (tmp_path / "a").write_bytes(b"weights")
    (tmp_path / "b").write_bytes(b"words")
    result = Encoder.of("mine", "numpy", [tmp_path / "a", tmp_path / "b"])
    assert result == Encoder("mine", version("numpy"), hashlib.sha256(b"weightswords").hexdigest())
    assert Encoder.from_json(result.to_json()) == result


def test_another_content_is_refused_and_another_version_of_the_same_is_not():
    known = Encoder("mine", "1", "a" * 64)
    known.check(Encoder("mine", "2", "a" * 64))
    with pytest.raises(EncoderError, match=r"fitted with the encoder mine 1 .* here is mine 2"):
        known.check(Encoder("mine", "2", "b" * 64))


def test_a_file_or_a_package_that_is_not_there_is_named(tmp_path):
    with pytest.raises(EncoderError, match=r"mine is not here as a whole.*lacking"):
        Encoder.of("mine", "numpy", [tmp_path / "lacking"])
    with pytest.raises(EncoderError, match="no-such-package"):
        Encoder.of("mine", "no-such-package", [])
