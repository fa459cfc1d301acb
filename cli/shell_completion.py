"""``cms completion``: how a shell completes words of ``cms``, and the script that teaches it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from cli.options import new_app
from cli.output import documents, lines, wording

app = new_app()

VARIABLE: Final = "_CMS_COMPLETE"
"""The environment variable by which a shell's script asks for words."""


class Shell(StrEnum):
    """A shell that can be taught."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


@app.command()
def completion(
    shell: Annotated[
        Shell | None,
        typer.Argument(help="Print the script for this shell. Without it: how to install one.", show_default=False),
    ] = None,
) -> None:
    """Complete commands, versions, keys and endpoints as you type."""
    if shell is not None:
        from typer.completion import get_completion_script  # type: ignore[attr-defined]

        script = get_completion_script(prog_name="cms", complete_var=VARIABLE, shell=shell.value)
        documents.write_text(f"{script}\n")
        return
    cms = wording.program()
    lines.answer(
        "With completion, the Tab key completes commands, options, and what is in your store: snapshot versions, API "
        "keys, endpoints, workspaces."
    )
    lines.answer("\nInstall it for the shell that you use now (bash, zsh, fish, PowerShell), and open a new terminal:")
    lines.copied(f"\n{cms} --install-completion", style="bold")
    lines.answer("\nOr write the script to a place of your own, for example for everybody on a machine:")
    lines.copied(f"\n{cms} completion bash > /etc/bash_completion.d/cms", style="bold")
