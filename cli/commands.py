"""The subcommands of ``cms``: each imported when it is called, and a mistyped one told from what it may have meant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cli import output

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

OTHER_WORDS = {
    "clean": "snapshot prune",
    "deploy": "snapshot build",
    "gc": "snapshot prune",
    "help": "--help",
    "issue": "key create",
    "lint": "check",
    "new": "init",
    "preview": "draft list",
    "publish": "snapshot build",
    "revert": "snapshot rollback",
    "revoke": "key disable",
    "start": "serve",
    "undo": "snapshot rollback",
    "validate": "check",
    "version": "--version",
    "versions": "snapshot list",
    "watch": "dev",
}
"""Words that people try first → the command that does it."""

PREFIX = "CMS_"
"""The beginning of the settings' names in the environment."""
NEARNESS = 0.75
"""The least likeness, from 0 to 1, of a name and what it is taken to be mistyped for."""

# Typer raises it for whatever is wrong with the arguments, and exports its subclasses only.
UsageError: Any = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """A group of commands that names the one that was meant where there is none of a name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name. Raises ``UsageError`` with a hint."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError as error:
            near_here = get_close_matches(args[0], self.commands)
            meant = commands_meant(args[0], mistyped=not near_here)
            if meant:
                commands = " or ".join(f"`cms {command}`" for command in meant)
                error.message = f"No such command '{args[0]}'. Did you mean {commands}?"
            raise


class LateCommands(Commands):
    """Imports a subcommand's module when it is called, so that each command pays for itself alone."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=summary) for name, (_, summary) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, in place of what stands for it in ``--help``."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            command = _command(name)
            command.name = name
        if not ctx.resilient_parsing:
            for setting, meant in mistyped_settings(os.environ):
                output.warning(f"The environment sets {setting}, which is no setting. Did you mean {meant}?")
        return name, command, rest


def commands_meant(word: str, *, mistyped: bool) -> list[str]:
    """The commands that a word may have meant which is none itself: those of that name in any group, or that go by
    the word elsewhere; with ``mistyped`` also those of a name that is near."""
    named: dict[str, list[str]] = {}
    for group in COMMANDS:
        for name in getattr(_command(group), "commands", ()):
            named.setdefault(name, []).append(f"{group} {name}")
    for other, command in OTHER_WORDS.items():
        named.setdefault(other, [command])
    near = get_close_matches(word, named, 1, NEARNESS) if mistyped else []
    return named.get(word) or [command for name in near for command in named[name]]


def mistyped_settings(names: Any) -> Iterator[tuple[str, str]]:
    """(name, the setting meant) of every name in the environment that is nearly a setting's.

    What is not near to any is left alone: other programs may begin their settings alike.
    """
    ours = [name for name in names if name.upper().startswith(PREFIX) and name not in {"CMS_STORE", "CMS_PUBLIC_URL"}]
    if not ours:
        return
    from server.settings import TABLE

    known = [*(setting.variable for setting in TABLE), "CMS_PUBLIC_URL"]
    for name in ours:
        near = get_close_matches(name.upper(), known, 1, NEARNESS)
        if name not in known and near:
            yield name, near[0]


def _command(name: str) -> Any:
    return typer.main.get_command(import_module(COMMANDS[name][0]).app)
