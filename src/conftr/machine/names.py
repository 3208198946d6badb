"""Classes and functions by names that outlive the process: of conftr, of a module, of a file.

What conftr exports is named without its module (`ConfTr`), as in the results that version 0.1
stored. Anything else is named with the digest of the file that defines it, so that a result tells
which text it was made with: `my_method.py:Bits@1f6c2b9e44d0a7c3`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from conftr.machine.digests import of_bytes

# Where a name without a module is looked up.
_HOMES = ("conftr", "conftr.training", "conftr.experiments.pooling", "conftr.search.methods")
_FILES: dict[str, str] = {}  # names of modules that were loaded as files -> digests
_OUTSIDE: dict[str, Any] = {}  # what was named in this process and is not conftr's


def name_of(thing: Any) -> str:
    """The name of a class or function.

    Args:
        thing: defined at the top of a module or of a file.

    Returns:
        A name from which `thing_of` finds it again.

    Raises:
        ValueError: it cannot be found by a name, as a lambda or a function within a function.
    """
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    name = getattr(thing, "__qualname__", "")
    if module is None or _attribute(module, name) is not thing:
        raise ValueError(
            f"{thing!r} cannot be found by a name: define it at the top of a file, not within a "
            f"function."
        )
    if module.__name__.split(".")[0] == "conftr":
        return _of_conftr(thing, name)
    full = f"{_place(module)}:{name}@{_digest(module)}"
    _OUTSIDE[full] = thing
    return full


def thing_of(name: str) -> Any:
    """The class or function of a name.

    Args:
        name: as `name_of` gives it.

    Returns:
        The very thing, the same each time.

    Raises:
        ValueError: nothing has that name, or its file has changed.
    """
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    if "@" in name:
        return _of_module(name)
    for home in _HOMES:
        thing = getattr(import_module(home), name, None)
        if callable(thing):
            return thing
    raise ValueError(f"there is no class or function {name!r} in conftr.")


def from_file(text: str) -> Any:
    """What a file of the user's defines.

    Args:
        text: FILE.py:NAME.

    Returns:
        The class, function or value of that name.

    Raises:
        ValueError: there is no such file, it fails, or has no such name.
    """
    path, _, name = text.rpartition(":")
    module = _loaded(Path(path))
    if not hasattr(module, name):
        known = [public for public in vars(module) if not public.startswith("_")]
        raise ValueError(f"{path} has no {name!r}; it has {', '.join(known)}.")
    return getattr(module, name)


def carried() -> dict[str, Any]:
    """What was named in this process and other machines do not have, by its names."""
    return dict(_OUTSIDE)


def carry(things: dict[str, Any]) -> None:
    """Know things by their names that another process has named."""
    for name, thing in things.items():
        _OUTSIDE.setdefault(name, thing)


def files() -> list[ModuleType]:
    """The modules that were loaded as files, which no other machine can import."""
    return [sys.modules[name] for name in _FILES]


def _attribute(module: Any, name: str) -> Any:
    for step in name.split("."):
        module = getattr(module, step, None)
    return module


def _of_conftr(thing: Any, name: str) -> str:
    if thing_of(name) is not thing:
        raise ValueError(f"{thing!r} of conftr has the name of another class or function.")
    return name


def _of_module(name: str) -> Any:
    place, _, rest = name.partition(":")
    if place.endswith(".py"):
        raise ValueError(
            f"{name} is defined in a file that has not been loaded, or has changed since: give it "
            f"as PATH/{place}:{rest.partition('@')[0]}."
        )
    thing = _attribute(import_module(place), rest.partition("@")[0])
    if thing is None or name_of(thing) != name:
        raise ValueError(f"{name} is not there any more: the module {place} has changed since.")
    return thing


def _place(module: ModuleType) -> str:
    """A file by its name, wherever it lies; a module that can be imported by its own."""
    alone = module.__name__ == "__main__" or module.__name__ in _FILES
    return Path(module.__file__ or "").name if alone else module.__name__


def _digest(module: ModuleType) -> str:
    if module.__name__ in _FILES:
        return _FILES[module.__name__]
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).exists():
        raise ValueError(f"{module.__name__} has no file: what is defined there cannot be named.")
    return of_bytes(Path(file).read_bytes())


def _loaded(path: Path) -> ModuleType:
    """A file as a module; the same one as long as its text is the same."""
    try:
        digest = of_bytes(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from None
    name = f"{path.stem}_{digest}"
    if name in _FILES:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"{path} fails: {type(error).__name__}: {error}.") from error
    _FILES[name] = digest
    return module
