"""Imports go one way, cli → server → engine → snapshots: every module is parsed, so imports in functions count too.

Inside a package they go one way too: neither its modules nor its folders form a circle. And what is heavy is not
loaded where it is not needed, so that commands and servers start quickly.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LINE = ("cli", "server", "engine", "snapshots")
"""A package may import itself and those after it."""
IMPORTERS = {"__import__", "import_module", "importlib.import_module"}
MODULES = sorted(path for package in LINE for path in (REPOSITORY / package).rglob("*.py"))


def imported(source: str, package: tuple[str, ...]) -> list[tuple[int, str]]:
    """(line, absolute name) of everything a module in ``package`` imports, wherever in it that stands."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (parent, node.module or "") if part)
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in IMPORTERS:
            for argument in node.args[:1]:
                name = argument.value if isinstance(argument, ast.Constant) else "a computed name"
                found.append((node.lineno, str(name)))
    return found


@cache
def imported_by(module: Path) -> list[tuple[int, str]]:
    """What a module of the repository imports."""
    return imported(module.read_text(encoding="utf-8"), module.relative_to(REPOSITORY).parent.parts)


def against_the_line(found: list[tuple[int, str]], package: tuple[str, ...]) -> list[tuple[int, str]]:
    """Those imports of a module in ``package`` that go back up the line, or leave the packages for the repository's
    other folders."""
    forbidden = {*LINE[: LINE.index(package[0])], "tests", "benchmarks"}
    if package[0] != LINE[0]:
        forbidden.add("a computed name")
    return [(line, name) for line, name in found if name.split(".")[0] in forbidden]


def test_modules_import_along_the_line() -> None:
    found = []
    for module in MODULES:
        name = module.relative_to(REPOSITORY)
        wrong = against_the_line(imported_by(module), name.parent.parts)
        found += [f"{name.as_posix()}:{line}: {imports}" for line, imports in wrong]
    assert not found, "\n".join(found)


def test_every_package_of_the_line_is_looked_at() -> None:
    assert {path.relative_to(REPOSITORY).parts[0] for path in MODULES} == set(LINE)


@pytest.mark.parametrize(
    ("package", "source", "expected"),
    [
        (("engine",), "import server.app", [(1, "server.app")]),
        (("engine",), "from server import app", [(1, "server.app")]),
        (
            ("snapshots",),
            "def f():\n    from engine.read.query.parameters import parse",
            [(2, "engine.read.query.parameters.parse")],
        ),
        (("server",), "if True:\n    import cli", [(2, "cli")]),
        (("server",), "import importlib\nimportlib.import_module('cli.main')", [(2, "cli.main")]),
        (("server",), "import importlib\nimportlib.import_module(name)", [(2, "a computed name")]),
        (("engine",), "from tests.model.model import Model", [(1, "tests.model.model.Model")]),
        (("server",), "from engine.read.query import parse\nimport snapshots.store\nfrom . import app", []),
        (("cli",), "from server import app\nimport importlib\nimportlib.import_module(name)", []),
        (("cli", "groups"), "from .. import output\nfrom ..main import app", []),
    ],
)
def test_imports_are_recognised(package: tuple[str, ...], source: str, expected: list[tuple[int, str]]) -> None:
    assert against_the_line(imported(source, package), package) == expected


def modules_of(package: str) -> dict[str, Path]:
    """Module → its file; a package's own module has the package's name."""
    files = (REPOSITORY / package).rglob("*.py")
    return {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"): path for path in files
    }


def arrows(package: str) -> dict[str, set[str]]:
    """Module → the modules of the same package that it imports."""
    modules = modules_of(package)
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = [name for _, name in imported_by(path)]
        ours = {name if name in modules else name.rpartition(".")[0] for name in names}
        found[module] = ours & modules.keys() - {module}
    return found


def between_folders(of_modules: dict[str, set[str]], parent: str) -> dict[str, set[str]]:
    """The arrows between the members of the folder ``parent``: its modules, and its folders each as one."""
    depth = parent.count(".") + 2

    def place(module: str) -> str:
        return ".".join(module.split(".")[:depth])

    found: dict[str, set[str]] = {}
    for module, others in of_modules.items():
        if module.startswith(f"{parent}."):
            inside = {place(other) for other in others if other.startswith(f"{parent}.")}
            found.setdefault(place(module), set()).update(inside - {place(module)})
    return found


def circle(of_any: dict[str, set[str]]) -> list[str]:
    """The first circle found, its first member once more at its end; none gives an empty list."""
    done: set[str] = set()

    def search(here: str, path: list[str]) -> list[str]:
        if here in path:
            return [*path[path.index(here) :], here]
        if here not in done:
            for other in sorted(of_any.get(here, ())):
                if found := search(other, [*path, here]):
                    return found
            done.add(here)
        return []

    return next((found for start in sorted(of_any) if (found := search(start, []))), [])


def test_neither_modules_nor_folders_form_a_circle() -> None:
    for package in LINE:
        of_modules = arrows(package)
        assert circle(of_modules) == []
        for parent in sorted({module.rpartition(".")[0] for module in of_modules} - {""}):
            assert circle(between_folders(of_modules, parent)) == [], parent


def test_circles_are_recognised() -> None:
    assert circle({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"c"}}) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}) == ["b", "c", "d", "b"]
    apart = {"p.a.x": {"p.b.x"}, "p.b.x": set(), "p.b.y": {"p.a.x"}, "p.c": {"p.b.y"}}
    assert circle(apart) == []
    assert circle(between_folders(apart, "p")) == ["p.a", "p.b", "p.a"]
    below = {"p.q.a.x": {"p.q.b.x", "p.c"}, "p.q.b.x": {"p.q.m"}, "p.q.m": set(), "p.q.b.y": {"p.q.a.x"}, "p.c": set()}
    assert circle(between_folders(below, "p")) == []
    assert circle(between_folders(below, "p.q")) == ["p.q.a", "p.q.b", "p.q.a"]


def test_lists_with_drafts_are_imported_by_nothing_that_answers_clients() -> None:
    owners = ("cli.keys.drafts", "cli.mcp.owner", "cli.query.", "engine.why.")
    rooms = (*owners, "engine.read.all_versions.", "server.console.", "server.dev.", "server.pages.")
    importers = {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for path in MODULES
        for _, name in imported_by(path)
        if name.startswith(("engine.read.all_versions", "engine.why"))
    }
    assert {one for one in importers if not one.startswith(rooms)} == set()
    assert importers


@pytest.mark.parametrize(
    ("loaded", "heavy"),
    [
        ("cli.main", {"duckdb", "numpy", "pyarrow", "pydantic", "rich", "starlette", "uvicorn"}),
        ("server.run", {"pyarrow", "pydantic", "rich"}),
    ],
)
def test_what_is_heavy_is_loaded_when_it_is_needed(loaded: str, heavy: set[str]) -> None:
    told = f"import sys, {loaded}; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()
    assert heavy.isdisjoint(modules)
