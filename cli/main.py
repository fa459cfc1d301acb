"""The ``cms`` command: its subcommands, and the one place where an error becomes an exit status."""

from __future__ import annotations

import errno
import gc
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cli import output
from snapshots.problems import ParquetryError
from snapshots.version import PROGRAM

# NumPy's linear algebra, which nothing here uses, would start a thread a core that spins for a while: 60 ms.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

INTERRUPTED = 130
"""The exit status of a program that was stopped with Ctrl-C: 128 + SIGINT."""

_OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}

COMMANDS = {
    "demo": ("cli.demo", "Serve a bundled example and print commands to try."),
    "init": ("cli.init", "Write a starter workspace that builds."),
    "check": ("cli.check", "Print every problem of a workspace."),
    "snapshot": ("cli.snapshot", "Build versions, look at them, make one current."),
    "serve": ("cli.serve", "Serve the workspaces of a store over HTTP."),
    "dev": ("cli.dev", "Build on every save and serve, to this machine only."),
    "query": ("cli.query", "Answer a request here, without a server."),
    "key": ("cli.keys", "Issue API keys, look at them, change them, take them away."),
    "views": ("cli.views", "See what was viewed, and keep the files behind it right."),
    "draft": ("cli.drafts", "Preview unpublished changes: draft keys and URLs."),
    "openapi": ("cli.openapi", "Print the OpenAPI definition of a workspace."),
    "types": ("cli.types", "Print a workspace's entries and queries as types."),
}
"""Name → the module whose ``app`` it is, and what ``cms --help`` says of it."""


class LateCommands(TyperGroup):
    """Imports a subcommand's module when it is called, so that each command pays for itself alone."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=summary) for name, (_, summary) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, in place of what stands for it in ``--help``."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            command = typer.main.get_command(import_module(COMMANDS[name][0]).app)
            command.name = name
        return name, command, rest


app = typer.Typer(
    cls=LateCommands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        output.answer(PROGRAM)
        raise typer.Exit


@app.callback()
def cms(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Content files in git → versioned Parquet snapshots → a read-only JSON API."""


def main() -> None:
    """Run ``cms``. Exit status: 0 done, 1 the answer is no or the work failed, 2 wrong usage, 130 interrupted."""
    output.prepare_streams()
    # What is imported stays, and a command makes few cycles: only servers search for them, once they run.
    gc.disable()
    try:
        app(prog_name="cms")
    except ParquetryError as error:
        output.failure(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:
        # A file or an output that cannot be read or written is the user's to mend; anything else is a defect to see.
        if error.filename is None and error.errno not in _OUTPUT_ERRORS:
            raise
        output.failure(f"{error.filename or 'The output cannot be written'}: {error.strerror}.")
        if error.filename is None:
            output.give_up_stdout()
        sys.exit(1)
    finally:
        gc.enable()
        # At its end the interpreter searches all that was ever imported for cycles: a tenth of a second for nothing.
        # DuckDB's module complains of what that leaves behind.
        if "duckdb" not in sys.modules:
            gc.freeze()


if __name__ == "__main__":
    main()
