"""Which problems of a build are new, and how many of those before are gone."""

from __future__ import annotations

import pytest

from cli.serving.dev import Screen
from server.dev.builds import Built
from server.dev.new_problems import news
from snapshots.problems import KEPT_PER_KIND, Problems


def found(*problems: tuple[str, int, str]) -> Problems:
    """Errors of one kind, as (file, line, message)."""
    made = Problems()
    for file, line, message in problems:
        made.error(file, line, "kind", message)
    return made


def many(count: int, first: int = 0) -> Problems:
    return found(*(("a.md", number, f"message {number}") for number in range(first, first + count)))


def difference(before: Problems, now: Problems) -> tuple[list[str], int, int]:
    """(messages of the new ones, how many are new, how many are gone)."""
    told = news(before, now)
    return [one.message for one in told.new.kept], told.new.errors + told.new.warnings, told.gone


def test_a_problem_that_moved_is_not_new() -> None:
    before = found(("a.md", 3, "x"), ("b.md", 1, "y"))
    assert difference(before, found(("a.md", 9, "x"), ("c.md", 1, "y"))) == (["y"], 1, 1)
    assert difference(before, before) == ([], 0, 0)
    assert difference(before, Problems()) == ([], 0, 2)
    assert difference(Problems(), before) == (["x", "y"], 2, 0)


def test_the_same_message_twice_counts_twice() -> None:
    one, two = found(("a.md", 1, "x")), found(("a.md", 1, "x"), ("a.md", 2, "x"))
    assert difference(one, two) == (["x"], 1, 0)
    assert difference(two, one) == ([], 0, 1)


def test_an_error_that_becomes_a_warning_is_another_problem() -> None:
    warned = Problems()
    warned.warning("a.md", 1, "kind", "x")
    assert difference(found(("a.md", 1, "x")), warned) == (["x"], 1, 1)


@pytest.mark.parametrize(
    ("before", "now", "shown", "new", "gone"),
    [
        (0, 1000, KEPT_PER_KIND, 1000, 0),
        (10, 1000, KEPT_PER_KIND - 10, 990, 0),
        (1000, 1001, 0, 1, 0),
        (1000, 1000, 0, 0, 0),
        (1000, 10, 0, 0, 990),
        (1000, 0, 0, 0, 1000),
    ],
)
def test_of_very_many_the_number_is_told(before: int, now: int, shown: int, new: int, gone: int) -> None:
    messages, *rest = difference(many(before), many(now))
    assert (len(messages), *rest) == (shown, new, gone)


def test_the_screen_tells_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen("site", "http://x")

    def said(built: Built) -> list[str]:
        capsys.readouterr()
        screen.show(built)
        return capsys.readouterr().out.splitlines()[:-1]  # the last line says whether it is served

    first = found(("a.md", 1, "x"), ("b.md", 2, "y"))
    assert said(Built(problems=first))[-3:] == ["a.md:1: error: x", "b.md:2: error: y", "2 errors, 0 warnings"]
    assert said(Built(problems=first)) == ["2 errors, 0 warnings (none new)"]
    second = found(("a.md", 5, "x"), ("c.md", 3, "z"))
    assert said(Built(problems=second)) == ["c.md:3: error: z", "1 new, 1 gone: 2 errors, 0 warnings"]
    assert said(Built(failure="no room")) == []
    assert said(Built(problems=found(("a.md", 5, "x")))) == ["none new, 1 gone: 1 error, 0 warnings"]
    assert said(Built()) == ["none new, 1 gone: no problems"]
    assert said(Built()) == []
