"""The ``cms`` command: the one place where an error becomes an exit status."""

from __future__ import annotations

import errno
import gc
import os
import sys
from typing import Annotated, Any

import typer

from cli.commands import LateCommands
from cli.output import documents, lines, streams
from snapshots.problems import ParquetryError
from snapshots.version import PROGRAM, commit

# NumPy's linear algebra, which is not used here, would start a spinning thread on every core: 60 ms.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

WRONG_USAGE = 2
INTERRUPTED = 130
"""The exit status of a program stopped with Ctrl-C: 128 + SIGINT."""

_FULL = {errno.ENOSPC, errno.EDQUOT}
_DISK_ERRORS = {*_FULL, errno.EFBIG, errno.EIO, errno.EROFS}

# The base of all errors that Typer raises for wrong usage; Typer exports its subclasses only.
_ClickException: Any = typer.BadParameter.__mro__[2]
_UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    cls=LateCommands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        lines.answer(f"{PROGRAM} (commit {commit()})")
        raise typer.Exit


STORE = """\
The store is where snapshot versions, keys and page views are kept: a directory, or the URL of a bucket, such as
s3://bucket/prefix. It is the one that --store names, else the environment's CMS_STORE, else .cms in the workspace,
else .cms in the current directory.
"""


@app.callback(epilog=STORE)
def cms(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and commit, and exit."
        ),
    ] = False,
) -> None:
    """Content files in git → versioned Parquet snapshots → a read-only JSON API."""


def main() -> None:
    """Run ``cms``. Exit status: 0 done, 1 the answer is no or the work failed, 2 wrong usage, 130 interrupted.

    Where ``--json`` is among the arguments, an error is on standard output too, as ``{"error": message}``.
    """
    streams.prepare_streams()
    documents.begin_command()
    # Imported modules stay, and a command makes few cycles: only servers collect garbage, once they run.
    gc.disable()
    try:
        status = _run()
        if status:
            sys.exit(status)
    finally:
        gc.enable()
        # At exit the interpreter would search every imported module for cycles: 0.1 s for nothing.
        # With DuckDB imported the search has to run: otherwise its module complains of objects left over.
        if "duckdb" not in sys.modules:
            gc.freeze()


def _run() -> int:
    """Run the command that the arguments name; return its exit status."""
    try:
        return app(prog_name="cms", standalone_mode=False) or 0
    except _ClickException as error:
        _show_usage_error(error)
        _print_document(error.format_message())
        return WRONG_USAGE
    except typer.Abort:
        return _failed("The input ended without an answer.")
    except KeyboardInterrupt:
        return INTERRUPTED
    except ParquetryError as error:
        return _failed(str(error))
    except OSError as error:
        # The user can mend a file that cannot be read or written; other errors are defects, shown with a traceback.
        if error.filename is None and error.errno not in _DISK_ERRORS:
            raise
        cause = "the disk is full. Free some space and try again" if error.errno in _FULL else error.strerror
        return _failed(f"{error.filename or 'A file cannot be written'}: {cause}.")


def _show_usage_error(error: Any) -> None:
    """Say on standard error what is wrong with the arguments, as Typer does, with lines broken at words."""
    is_help = type(error).show is not _UsageError.show  # a group of commands was called without one
    if is_help or error.ctx is None:
        error.show()
        return
    lines.message(error.ctx.get_usage())
    lines.message(f"Try '{error.ctx.command_path} --help' for help.\n")
    lines.message(f"Error: {error.format_message()}")


def _failed(message: str) -> int:
    lines.failure(message)
    _print_document(message)
    return 1


def _print_document(message: str) -> None:
    """Print the error as a JSON document if ``--json`` was asked for and standard output can still be written."""
    if "--json" in sys.argv[1:]:
        try:
            documents.write_error_document(message)
        except (OSError, streams.OutputFailed):
            return


if __name__ == "__main__":
    main()
