"""What goes wrong with data, in words, and the optional packages some sources need."""

from importlib import import_module
from types import ModuleType


class DataError(ValueError):
    """Data that is missing, wrong or out of reach; the message says what to do about it."""


def need(module: str, *, package: str, purpose: str) -> ModuleType:
    """The optional `module`, or an error that says which package to install and what for."""
    try:
        return import_module(module)
    except ImportError as missing:
        raise DataError(
            f"{purpose} needs the package {package!r}, which is not installed: "
            f"run `pip install {package}` (or `pip install 'conftr[data]'`)."
        ) from missing
