"""The subcommands of ``cms``: imported when called; for a mistyped word, the commands that are near."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cli.output import lines

COMMANDS = {
    "demo": ("cli.creating.demo", "Serve a bundled example and print commands to try."),
    "init": ("cli.creating.init", "Create a starter workspace, ready to build."),
    "import": ("cli.creating.imports", "Create a workspace from another CMS's export."),
    "adopt": ("cli.adopt.command", "Compare a workspace with the site that it was made of."),
    "check": ("cli.check", "List every problem in a workspace."),
    "review": ("cli.review.command", "Report what publishing would change, for a pull request."),
    "snapshot": ("cli.snapshot.command", "Build and inspect snapshot versions, and make one current."),
    "serve": ("cli.serving.serve", "Serve the workspaces of a store over HTTP."),
    "dev": ("cli.serving.dev", "Build on every save, and serve to this machine only."),
    "query": ("cli.query.command", "Answer a request on this machine, without a server."),
    "why": ("cli.query.why", "Say why an entry is on the site, or why it is not."),
    "backup": ("cli.backup", "Save a whole store in another place."),
    "restore": ("cli.restore", "Make a store of a backup again."),
    "doctor": ("cli.doctor", "Find what is wrong with an installation."),
    "store": ("cli.store", "Check what a store permits, and what it costs."),
    "key": ("cli.keys.command", "Issue, list, change, disable and delete API keys."),
    "webhook": ("cli.webhooks.command", "Tell other programs what has changed."),
    "views": ("cli.views.command", "Show page views, and maintain the files they are kept in."),
    "console": ("cli.serving.console", "Print a link that signs in to the console."),
    "draft": ("cli.keys.drafts", "Preview unpublished changes: draft keys and URLs."),
    "openapi": ("cli.definitions.openapi", "Print the OpenAPI description of a workspace."),
    "editor-config": ("cli.definitions.editor_config", "Print the configuration of a browser-based editor."),
    "redirects": ("cli.redirects", "Print redirects for entries that had other IDs."),
    "mcp": ("cli.mcp.command", "Let an agent find, read and compare content."),
    "types": ("cli.definitions.types", "Print types for a workspace, with or without a client."),
    "completion": ("cli.shell_completion", "Complete commands, versions, keys and endpoints as you type."),
}
"""The module whose ``app`` is the command, and the command's summary in ``cms --help``, by name."""

GROUPS = {
    "To begin with": ("demo", "init", "import", "adopt"),
    "For content teams": ("check", "why", "dev", "draft", "review", "snapshot", "redirects", "editor-config"),
    "For application developers": ("query", "types", "openapi", "webhook", "mcp"),
    "For analysts": ("views",),
    "For operators": ("serve", "key", "console", "backup", "restore", "doctor", "store"),
    "For your shell": ("completion",),
}
"""The commands in the order of ``cms --help``, by those who use them most."""

OTHER_WORDS = {
    "clean": "snapshot prune",
    "convert": "import",
    "copy": "snapshot push",
    "deploy": "snapshot build",
    "gc": "snapshot prune",
    "help": "--help",
    "issue": "key create",
    "lint": "check",
    "login": "console",
    "migrate": "import",
    "new": "init",
    "preview": "draft list",
    "publish": "snapshot build",
    "revert": "snapshot rollback",
    "revoke": "key disable",
    "start": "serve",
    "sync": "snapshot push",
    "undo": "snapshot rollback",
    "validate": "check",
    "version": "--version",
    "versions": "snapshot list",
    "watch": "dev",
}
"""The command that does the work, by the word that people try first."""

OF_COMMANDS = frozenset({"CMS_STORE", "CMS_PUBLIC_URL", "CMS_KEEP_VERSIONS", "CMS_PROMETHEUS"})
"""Settings that commands other than ``cms serve`` read."""
PREFIX = "CMS_"
"""The beginning of the settings' names in the environment."""
NEARNESS = 0.75
"""The least likeness, from 0 to 1, of a mistyped name and the right name offered for it."""

# The base of all errors that Typer raises for wrong arguments; Typer exports its subclasses only.
UsageError: Any = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """A group of commands whose error about an unknown command names the command probably meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments name. Raises ``UsageError`` with a hint."""
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
    """Commands whose modules are imported when called, so that no command waits for the imports of others."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=summary) for name, (_, summary) in COMMANDS.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # as its base has it
        """Write the commands, in groups by those who use them."""
        width = max(map(len, self.commands))
        for group, names in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(f"{name:{width}}", COMMANDS[name][1]) for name in names])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments name, in place of its stand-in in ``--help``."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            command = _command(name)
            command.name = name
        if not ctx.resilient_parsing:
            for setting, meant in mistyped_settings(os.environ):
                lines.warning(f"The environment sets {setting}, which is not a setting. Did you mean {meant}?")
        return name, command, rest


def commands_meant(word: str, *, mistyped: bool) -> list[str]:
    """Return the commands that an unknown word may have meant: those of this name in any group, and the one that
    ``OTHER_WORDS`` gives for it; if there are none, with ``mistyped``, those of the nearest name."""
    named: dict[str, list[str]] = {}
    for group in COMMANDS:
        for name in getattr(_command(group), "commands", ()):
            named.setdefault(name, []).append(f"{group} {name}")
    for other, command in OTHER_WORDS.items():
        named.setdefault(other, [command])
    near = get_close_matches(word, named, 1, NEARNESS) if mistyped else []
    return named.get(word) or [command for name in near for command in named[name]]


def mistyped_settings(names: Any) -> Iterator[tuple[str, str]]:
    """Return (name, the setting meant) for every name in the environment that is nearly the name of a setting.

    Names that are near to no setting are passed over: settings of other programs may begin with ``CMS_`` too.
    """
    ours = [name for name in names if name.upper().startswith(PREFIX) and name not in OF_COMMANDS]
    if not ours:
        return
    from server.settings import TABLE

    known = [*(setting.variable for setting in TABLE), *OF_COMMANDS]
    for name in ours:
        near = get_close_matches(name.upper(), known, 1, NEARNESS)
        if name not in known and near:
            yield name, near[0]


@cache  # reading the signatures of its functions takes longer than many commands
def _command(name: str) -> Any:
    return typer.main.get_command(import_module(COMMANDS[name][0]).app)
