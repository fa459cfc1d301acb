"""What axe-core finds wrong on a page in a browser: the rules of WCAG and its own good practice."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.programs.node_packages import node_modules

_FOUND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.flatMap(
    (rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}: ${node.failureSummary}`))"""


@cache
def _axe() -> str:
    return (node_modules() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any) -> list[str]:
    """What is wrong with a page as it is now, one text for each element. ``page`` is of a context that bypasses the
    page's content security policy, which lets nobody else in."""
    page.evaluate(f"{_axe()};0")
    found: list[str] = page.evaluate(_FOUND)
    return found
