"""Progress on standard error, errors in words, and where standard output goes."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conftr.conformal.shown_names import printable

if TYPE_CHECKING:
    from conftr.experiments.runner import Workspace
    from conftr.machine.cluster import Executor
    from conftr.machine.progress import Display
    from conftr.machine.table import Table

RESUMABLE = "The same command goes on where it was; nothing that was saved is done again."


def workspace(results: Path, runs: Path, data_dir: Path | None, display: Display) -> Workspace:
    """The folders of a run; compiled programs are kept from now on."""
    from functools import partial

    from conftr import data
    from conftr.experiments.runner import Workspace
    from conftr.experiments.store import Store
    from conftr.training import use_compilation_cache

    use_compilation_cache()
    load = partial(data.load, data_dir=data_dir)
    is_here = partial(data.is_here, data_dir=data_dir)
    return Workspace(Store(results), runs, load, display, is_here=is_here)


def lines(quiet: bool) -> Display:
    """Lines on standard error, as in a log."""
    from conftr.machine.progress import Lines, Silent

    return (
        Silent()
        if quiet
        else Lines(lambda line: typer.echo(f"conftr: {printable(line)}", err=True))
    )


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Display]:
    """Bars on a terminal, lines in a log, nothing where it is to be quiet; on standard error."""
    from rich.console import Console

    from conftr.machine.progress import Bars

    console = Console(stderr=True)
    if console.is_terminal and not quiet:
        with Bars(console) as bars:
            yield bars
    else:
        yield lines(quiet)


def draw(tables: Iterable[Table]) -> None:
    """Print tables, as wide as the terminal or, into a file, as they need."""
    from rich.console import Console

    from conftr.machine import table

    # A table that goes to a file must not be cut or folded to the width of no terminal.
    terminal = Console(width=None if sys.stdout and sys.stdout.isatty() else 1000)
    for content in tables:
        terminal.print(table.draw(content))


@contextmanager
def warnings_as_notes(display: Display) -> Iterator[None]:
    """Warnings meant for the user become notes; those meant for programmers stay what they are."""

    shown = warnings.showwarning

    def note(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, UserWarning):
            display.note(str(message))
        else:
            shown(message, category, *where)

    with warnings.catch_warnings():
        warnings.showwarning = note  # type: ignore[assignment]
        warnings.simplefilter("always", UserWarning)
        yield


@contextmanager
def counted_rows(quiet: bool) -> Iterator[Callable[[int], None]]:
    """How many rows are done, on standard error: on a terminal as it goes on."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    with console.status("...") as status:
        yield lambda rows: status.update(f"{rows:,} rows")


@contextmanager
def connected(address: str | None) -> Iterator[Executor]:
    """Connect to a cluster for as long as the block lasts; see `conftr.machine.cluster.connect`.

    Ray says on standard output, which is for results, that a worker died, some of it only as it
    disconnects. What is printed from before it is connected until after goes to standard error.
    """
    from conftr.machine.cluster import connect

    with redirect_stdout(sys.stderr if address else sys.stdout), connect(address) as executor:
        yield executor


def keep_standard_output() -> None:
    """Make standard output the program's own for good, whatever other code prints.

    `sys.stdout` gets a descriptor of its own. Descriptor 1, which libraries in other languages and
    processes that are started print to, leads to standard error. One that was closed by the caller
    leads nowhere, or else the next file that is opened would get what is printed.
    """
    for number in (0, 1, 2):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    if sys.stdout is not None:
        usual = sys.stdout
        sys.stdout = os.fdopen(os.dup(1), "w", encoding=usual.encoding, errors=usual.errors)
    os.dup2(2, 1)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def unless_written(file: Path | None, words: str) -> Callable[[], str]:
    """What to say on Ctrl-C: that nothing was written, or `words` once a file is a new one."""
    before = _stamp(file)
    return lambda: "Nothing was written." if _stamp(file) == before else words


def _stamp(file: Path | None) -> tuple[int, int] | None:
    """Tells a file from one that takes its place; None where there is none."""
    if file is None:
        return None
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


@contextmanager
def errors_in_words(stopped: Callable[[], str] = lambda: RESUMABLE) -> Iterator[None]:
    """Say what went wrong in words and exit with 1; CONFTR_TRACEBACK=1 shows where it did.

    Args:
        stopped: Gives what to say on Ctrl-C, at that moment.
    """
    try:
        yield
    except (KeyboardInterrupt, typer.Abort):  # the latter at a question
        typer.echo(f"conftr: stopped. {stopped()}", err=True)
        raise typer.Exit(1) from None
    except (typer.Exit, BrokenPipeError):  # typer ends quietly where nobody reads on
        raise
    except Exception as error:
        if os.environ.get("CONFTR_TRACEBACK"):
            raise
        typer.echo(f"conftr: {printable(_words(error)) or type(error).__name__}", err=True)
        raise typer.Exit(1) from None


def _words(error: Exception) -> str:
    """What an error says; a disk that is read-only is named with what to do."""
    if isinstance(error, OSError) and error.errno == errno.EROFS and error.filename:
        return (
            f"{error.filename} cannot be written, as its disk is read-only: name a place on "
            f"another disk, or copy the folder there."
        )
    return str(error)


@contextmanager
def reporting(stopped: Callable[[], str], *, quiet: bool) -> Iterator[Display]:
    """Show progress, warnings and errors to the user, as the functions above do."""
    with errors_in_words(stopped), shown_progress(quiet) as display, warnings_as_notes(display):
        yield display
