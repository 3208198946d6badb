"""The program `conftr`, also `python -m conftr`: the command line, or what it takes to have one."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; say in words which packages it lacks."""
    try:
        from conftr.cli import main as program

        program()
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] == "conftr":
            raise
        if sys.argv[1:] == ["--version"]:
            from conftr import __version__

            print(f"conftr {__version__}")
            return
        sys.exit(
            f"The command line needs a package that is not here ({missing.name}). "
            f"Install them all: pip install 'conftr[cli]'"
        )


if __name__ == "__main__":
    main()
