"""The command line within the process of a test."""

import pytest
from typer.testing import CliRunner

from conftr import training
from conftr.cli import app


def run(*arguments):
    """`conftr ARGUMENTS`, without a place for compiled programs of the whole process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "use_compilation_cache", lambda: None)
        return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ran(*arguments):
    """The same, of a command that must succeed."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done
