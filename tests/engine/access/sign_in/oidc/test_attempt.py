"""A sign-in that is under way: what the browser holds decides everything, and only for some minutes."""

from __future__ import annotations

import pytest

from engine.access.sign_in.oidc.attempt import ATTEMPT_MS, held_attempt, new_attempt

NOW = 1_800_000_000_000


def test_what_a_browser_holds_is_the_sign_in_that_it_began() -> None:
    attempt = new_attempt(NOW)
    held = held_attempt(attempt.text, NOW + 1)
    assert held == attempt
    assert held is not None
    assert (held.state, held.nonce, held.verifier) == (attempt.state, attempt.nonce, attempt.verifier)
    other = new_attempt(NOW)
    assert {held.state, held.nonce, held.verifier}.isdisjoint({other.state, other.nonce, other.verifier})


def test_it_lasts_ten_minutes() -> None:
    text = new_attempt(NOW).text
    assert held_attempt(text, NOW + ATTEMPT_MS - 1) is not None
    assert held_attempt(text, NOW + ATTEMPT_MS) is None
    assert held_attempt(text, NOW - 30_000) is not None  # by the clock of another machine
    assert held_attempt(text, NOW - 61_000) is None


def test_another_beginning_is_another_sign_in() -> None:
    """So nobody who has seen the way back can put off its end."""
    attempt = new_attempt(NOW)
    later = held_attempt(attempt.text.replace(str(NOW), str(NOW + 1)), NOW)
    assert later is not None
    assert later.state != attempt.state
    assert later.nonce != attempt.nonce


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        ".",
        f"{NOW}",
        f"{NOW}.short",
        f"{NOW}.{'x' * 44}",
        f"-{NOW}.{'x' * 43}",
        f"１{NOW}.{'x' * 43}",
        f"{'9' * 16}.{'x' * 43}",
        f"{NOW}.{'x' * 42}é",
        f"{NOW}.{'x' * 43}\n",
    ],
)
def test_other_texts_are_none(text: str | None) -> None:
    assert held_attempt(text, NOW) is None
