"""Everything that one can write with a client is explained where an editor shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from engine.typed.clients import python_client, typescript_client
from tests.engine.typed import clients

NOTE = "Told to people who write programs."
POSTS, SITE = clients.ACME.apis
DESCRIBED = msgspec.structs.replace(
    clients.ACME,
    apis=(
        msgspec.structs.replace(
            POSTS, description=NOTE, fields=(msgspec.structs.replace(clients.TITLE, description=NOTE),)
        ),
        SITE,
    ),
)


def test_typescript() -> None:
    lines = typescript_client(DESCRIBED).splitlines()
    exported = [number for number, line in enumerate(lines) if line.startswith("export ")]
    assert len(exported) > 30
    assert [lines[number] for number in exported if not lines[number - 1].endswith("*/")] == []
    assert f"/** An entry of Posts, `posts`. {NOTE} */" in lines
    assert f"  /** Title. {NOTE} */" in lines


def test_python() -> None:
    tree = ast.parse(python_client(DESCRIBED))
    found = [*public(tree)]
    assert len(found) > 60
    assert [name for name, text in found if not text] == []
    told = dict(found)
    assert told["Posts"] == f"An entry of Posts (`posts`) at depth 1. {NOTE}"
    assert told["Client.posts"] == told["_PostsApi"] == f"The entries of Posts, `posts`. {NOTE}"
    assert told["Posts.title"] == f"Title. {NOTE}"


def public(tree: ast.Module | ast.ClassDef, path: str = "") -> Iterator[tuple[str, str | None]]:
    """Yield what users of a module meet, with its docstring: classes, calls and members of dictionaries with one."""
    for place, node in enumerate(tree.body):
        following = tree.body[place + 1] if place + 1 < len(tree.body) else None
        if isinstance(node, ast.ClassDef) and (not node.name.startswith("_") or node.name.endswith(("Api", "Async"))):
            yield path + node.name, ast.get_docstring(node)
            yield from public(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            if not any(isinstance(one, ast.Name) and one.id == "overload" for one in node.decorator_list):
                yield path + node.name, ast.get_docstring(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(following, ast.Expr) and isinstance(node.target, ast.Name):
            assert isinstance(following.value, ast.Constant)
            yield path + node.target.id, str(following.value.value)
