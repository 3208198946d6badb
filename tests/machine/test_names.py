"""Names of classes and functions: of conftr, of modules, of files."""

import pytest

import conftr
from conftr.machine import names
from conftr.machine.names import from_file, name_of, thing_of

SOURCE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Bits:
    weight: float = 1.0

def bits(sets, labels):
    return sets.mean()
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_method.py"
    path.write_text(SOURCE)
    return path


def test_what_conftr_exports_has_its_plain_name():
    for thing in (conftr.ConfTr, conftr.thr, conftr.identity):
        assert name_of(thing) == thing.__name__
        assert thing_of(thing.__name__) is thing
    with pytest.raises(ValueError, match=r"no class or function 'os.system' in conftr"):
        thing_of("os.system")


def test_what_a_file_defines_is_named_with_the_digest_of_its_text(file, tmp_path):
    bits = from_file(f"{file}:bits")
    assert name_of(bits).startswith("my_method.py:bits@")
    assert thing_of(name_of(bits)) is bits
    assert from_file(f"{file}:bits") is bits
    (tmp_path / "elsewhere").mkdir()
    moved = file.rename(tmp_path / "elsewhere" / file.name)
    assert name_of(from_file(f"{moved}:bits")) == name_of(bits)
    moved.write_text(SOURCE + "\n")
    assert name_of(from_file(f"{moved}:bits")) != name_of(bits)


def test_what_a_module_defines_is_found_without_having_been_named(monkeypatch, tmp_path):
    (tmp_path / "some_module.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    import some_module

    name = name_of(some_module.Bits)
    assert name.startswith("some_module:Bits@")
    monkeypatch.setattr(names, "_OUTSIDE", {})
    assert thing_of(name) is some_module.Bits
    monkeypatch.setattr(names, "_OUTSIDE", {})
    with pytest.raises(ValueError, match="the module some_module has changed since"):
        thing_of(name[:-1] + "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.py:bits", "nowhere.py cannot be read"),
        ("FILE:bytes", "has no 'bytes'; it has dataclass, Bits, bits"),
        ("BROKEN:bits", "broken.py fails: ZeroDivisionError"),
    ],
)
def test_what_is_not_there_is_refused(file, text, message):
    broken = file.with_name("broken.py")
    broken.write_text("1 / 0")
    with pytest.raises(ValueError, match=message):
        from_file(text.replace("FILE", str(file)).replace("BROKEN", str(broken)))


def test_what_no_process_can_find_is_refused(file):
    with pytest.raises(ValueError, match=r"give it as PATH/my_method.py:Other"):
        thing_of("my_method.py:Other@0123456789abcdef")
    with pytest.raises(ValueError, match="at the top of a file"):
        name_of(lambda: 0)


def test_what_was_named_elsewhere_is_known_once_carried(file, monkeypatch):
    bits = from_file(f"{file}:bits")
    name = name_of(bits)
    taken = names.carried()
    monkeypatch.setattr(names, "_OUTSIDE", {})
    names.carry(taken)
    assert thing_of(name) is bits
