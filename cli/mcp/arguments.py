"""A server of the Model Context Protocol that says in plain words what is wrong with the arguments of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from snapshots.version import VERSION

_EXPECTED: Final = {"int": "an integer", "string": "a text", "list": "a list", "bool": "true or false"}
"""What was expected, by the beginning of pydantic's name of the mistake."""


class ReadingServer(MCPServer):
    """A server whose tools return texts, and nothing beside them."""

    def __init__(self, instructions: str) -> None:
        super().__init__("parquetry", version=VERSION, instructions=instructions, log_level="WARNING")
        self._arguments: dict[str, list[str]] = {}

    def reads(self, tool: Callable[..., str]) -> None:
        """Add a tool that only reads, under the name of the function."""
        self._arguments[tool.__name__] = list(inspect.signature(tool).parameters)
        about = " ".join((tool.__doc__ or "").split())
        hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        self.add_tool(tool, description=about, annotations=hints, structured_output=False)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool. Raises ``ToolError`` in words that an agent can act on."""
        taken = self._arguments.get(name, [])
        for given in arguments if name in self._arguments else ():
            if given not in taken:
                near = get_close_matches(given, taken, 1)
                meant = f'Did you mean "{near[0]}"?' if near else f"It takes: {', '.join(taken) or 'none'}."
                raise ToolError(f'{name} has no argument "{given}". {meant}')
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(" ".join(_worded(name, one) for one in cause.errors())) from cause
            if type(cause) is ToolError:
                raise ToolError(str(cause)) from cause
            raise


def _worded(tool: str, mistake: Any) -> str:
    argument, kind, given = str(mistake["loc"][0]), str(mistake["type"]), mistake["input"]
    if kind == "missing":
        return f'{tool} needs the argument "{argument}".'
    if kind == "literal_error":
        return f"{argument}: expected {mistake['ctx']['expected']}, got {given!r}."
    for beginning, expected in _EXPECTED.items():
        if kind.startswith(beginning):
            inside = " inside the list" if len(mistake["loc"]) > 1 else ""
            return f"{argument}: expected {expected}{inside}, got {given!r}."
    return f"{argument}: {mistake['msg']}."
