"""Picture files: one rule for every kind, and words for every broken one."""

import contextlib
import os

import numpy as np
import pytest
from PIL import Image

from conftr.data import DataError
from conftr.data.pictures import PictureError, PictureFiles, decoded, digest, looked_at
from odd_pictures import BROKEN, encoded

RED, GREEN = (255, 0, 0), (0, 255, 0)


def save(path, image, **options):
    image.save(path, **options)
    return path


def halves(width=8, height=8):
    """A picture whose left half is red and whose right half is green."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(GREEN, (width // 2, 0, width, height))
    return image


@pytest.mark.parametrize("kind", ["png", "jpg", "webp"])
def test_pictures_are_decoded_as_they_are(tmp_path, kind):
    path = save(tmp_path / f"a.{kind}", Image.new("RGB", (8, 6), (200, 100, 50)))
    pixels = decoded(path, (6, 8, 3))
    assert pixels.shape == (6, 8, 3)
    assert pixels.dtype == np.uint8
    np.testing.assert_allclose(pixels.mean((0, 1)), (200, 100, 50), atol=4)
    assert looked_at(path) == (6, 8, False)


def test_another_size_covers_and_cuts_the_middle_out(tmp_path):
    wide = Image.new("RGB", (30, 10), RED)
    wide.paste(GREEN, (10, 0, 20, 10))
    path = save(tmp_path / "wide.png", wide)
    assert (decoded(path, (10, 10, 3)) == GREEN).all()
    small = decoded(path, (4, 4, 3))
    assert (small[:, 1:3] == GREEN).all()


def test_a_grey_picture_stays_one_channel(tmp_path):
    path = save(tmp_path / "a.png", Image.new("L", (4, 4), 77))
    assert looked_at(path).is_grey
    assert (decoded(path, (4, 4, 1)) == 77).all()
    assert (decoded(path, (4, 4, 3)) == 77).all()


def test_sixteen_bits_become_the_upper_eight(tmp_path):
    image = Image.fromarray(np.full((4, 4), 0x4DFF, np.uint16))
    path = save(tmp_path / "a.png", image)
    assert (decoded(path, (4, 4, 1)) == 0x4D).all()


def test_what_is_transparent_lies_over_white(tmp_path):
    clear = save(tmp_path / "a.png", Image.new("RGBA", (4, 4), (0, 0, 0, 0)))
    assert (decoded(clear, (4, 4, 3)) == 255).all()
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    clear = save(tmp_path / "b.png", palette, transparency=0)
    assert (decoded(clear, (4, 4, 3)) == 255).all()
    grey = save(tmp_path / "c.png", Image.new("LA", (4, 4), (0, 0)))
    assert (decoded(grey, (4, 4, 1)) == 255).all()


def test_cmyk_becomes_colours(tmp_path):
    path = save(tmp_path / "a.jpg", Image.new("CMYK", (8, 8), (0, 255, 255, 0)))
    red, green, blue = decoded(path, (8, 8, 3)).mean((0, 1))
    assert red > 150 > 100 > max(green, blue)


def test_of_an_animation_the_first_frame_counts(tmp_path):
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, GREEN)]
    path = tmp_path / "a.webp"
    frames[0].save(path, save_all=True, append_images=frames[1:], lossless=True)
    assert (decoded(path, (8, 8, 3)) == RED).all()
    path = tmp_path / "a.png"
    frames[0].save(path, save_all=True, append_images=frames[1:])
    assert (decoded(path, (8, 8, 3)) == RED).all()


def test_pictures_are_turned_as_the_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    path = save(tmp_path / "a.jpg", halves(16, 8), exif=exif, quality=95)
    assert looked_at(path) == (16, 8, False)
    pixels = decoded(path, (16, 8, 3)).astype(int)
    assert (pixels[:6, :, 0] > 200).all()  # what was left is above
    assert (pixels[10:, :, 1] > 200).all()


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_in_words(tmp_path, name):
    content, words = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(PictureError, match=words) as refused:
        decoded(path, (8, 8, 3))
    assert "\n" not in str(refused.value)


def test_what_is_no_file_is_refused_in_words(tmp_path):
    (tmp_path / "a.png").symlink_to(tmp_path / "a.png")
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")  # opening it would wait for ever
    for name in ("a.png", "none.png", "folder.png", "pipe.png", "nul\0.png"):
        with pytest.raises(PictureError, match=r"is not there|is no file|cannot be opened"):
            decoded(tmp_path / name, (8, 8, 3))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_damaged_bytes_never_get_through_as_another_error(tmp_path, kind):
    rng, whole = np.random.default_rng(1), encoded(kind)
    path = tmp_path / f"a.{kind.lower()}"
    for _ in range(60):
        damaged = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        for place in rng.integers(0, len(damaged), 8):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(PictureError):  # and nothing else
            assert decoded(path, (8, 8, 3)).shape == (8, 8, 3)


def test_files_are_rows_that_can_be_taken_and_decoded_some_at_a_time(tmp_path):
    paths = np.array(
        [save(tmp_path / f"{i}.png", Image.new("L", (4, 4), i)) for i in range(5)], object
    )
    files = PictureFiles(paths, np.array([digest(path) for path in paths]))
    assert len(files) == 5
    assert len(set(files.digests.tolist())) == 5
    some = files[np.array([4, 1])]
    blocks = list(some.blocks((2, 2, 1), 1))
    assert [int(block.mean()) for block in blocks] == [4, 1]
    paths[4].write_bytes(b"")
    with pytest.raises(DataError, match="could be read before"):
        list(some.blocks((2, 2, 1), 1))
