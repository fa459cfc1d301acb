"""The form of a key's name, scope, validity and limit: read settings from it, or tell what is wrong with each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final, TypeVar

import msgspec

from engine.access.keys.keys import (
    DEFAULT_VALIDITY,
    InvalidKeySettings,
    Key,
    changed_period,
    checked_name,
    checked_rate_limit,
    checked_scope,
    new_period,
    parse_date,
    scope_of,
)
from server.console.visit import Form, Visit

KEEP: Final = "keep"
CUSTOM: Final = "custom"
CHOICES: Final = (
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("1y", "1 year"),
    ("none", "No expiry"),
    (CUSTOM, "Custom period"),
)
"""The choices of validity for a new key (contract 5.7)."""
EDIT_CHOICES: Final = ((KEEP, "Do not change"), *CHOICES)
"""The choices of validity for an existing key (contract 3.2)."""
_Value = TypeVar("_Value")


class KeySettings(msgspec.Struct, frozen=True):
    """A form's settings of a key, named as the arguments of ``issue_key`` and ``edit_key``."""

    name: str
    scope: frozenset[str] | None
    validity: str | None
    start: date | None
    end: date | None
    rate_limit: int | None


class KeyForm(msgspec.Struct, frozen=True):
    """A form as it is shown: the text or choice of each field, and what is wrong with it."""

    name: str
    scope: str
    """``all`` or ``selected``."""
    endpoints: frozenset[str]
    validity: str
    start: str
    end: str
    rate_limit: str
    errors: Mapping[str, str] = {}
    """Messages about invalid values, by field."""


def empty_form(visit: Visit) -> KeyForm:
    """Return the form of a key that is to be issued."""
    return KeyForm("", "all", frozenset(), DEFAULT_VALIDITY, visit.today.isoformat(), "", "")


def form_of(key: Key, visit: Visit) -> KeyForm:
    """Return the form of a key that there is."""
    allowed = key.scope or frozenset()
    return KeyForm(
        name=key.name,
        scope="all" if key.scope is None else "selected",
        endpoints=frozenset(api.endpoint for api in visit.workspace.apis if api.uid in allowed),
        validity=KEEP,
        start=key.period.start.isoformat(),
        end=key.period.end.isoformat() if key.period.end else "",
        rate_limit=str(key.rate_limit or ""),
    )


def read_key_form(visit: Visit, key: Key | None) -> tuple[KeySettings | None, KeyForm]:
    """Return (the settings, the form as it was filled in), for a ``key`` that is changed, or a new one. Where something
    cannot be used there are no settings, and the form says what is wrong."""
    form, errors = visit.form, {}

    def read(field: str, value: Callable[[], _Value]) -> _Value | None:
        try:
            return value()
        except InvalidKeySettings as error:
            errors[field] = str(error)
            return None

    name = read("name", lambda: checked_name(form.one("name")))
    scope = read("scope", lambda: _scope(visit, form))
    limit = read("rate_limit", lambda: _rate_limit(form.one("rate_limit")))
    period = read("validity", lambda: _period(visit, form, key))
    filled = KeyForm(
        name=form.one("name"),
        scope="selected" if form.one("scope") == "selected" else "all",
        endpoints=frozenset(form.all("api")),
        validity=form.one("validity"),
        start=form.one("start"),
        end=form.one("end"),
        rate_limit=form.one("rate_limit"),
        errors=errors,
    )
    if errors or name is None or period is None:
        return None, filled
    return KeySettings(name, scope, *period, limit), filled


def _scope(visit: Visit, form: Form) -> frozenset[str] | None:
    if form.one("scope") != "selected":
        return None
    return checked_scope(scope_of(visit.workspace, form.all("api")) if form.has("api") else frozenset())


def _rate_limit(text: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise InvalidKeySettings(
            f'"{text[:40]}" is not a number of requests per minute. Give 1 or more, or leave it empty.'
        )
    return checked_rate_limit(int(text))


def _period(visit: Visit, form: Form, key: Key | None) -> tuple[str | None, date | None, date | None]:
    """Return (validity, start, end) as the functions of the engine take them, once they have accepted them."""
    chosen = form.one("validity")
    if chosen == KEEP and key is not None:
        return None, None, None
    if chosen == CUSTOM:
        if not form.one("start") or not form.one("end"):
            raise InvalidKeySettings("A custom period needs a start date and an end date.")
        validity, start, end = None, parse_date(form.one("start")), parse_date(form.one("end"))
    elif chosen in dict(CHOICES):
        validity, start, end = chosen, None, None
    else:
        raise InvalidKeySettings("Choose how long the key is valid.")
    if key is None:
        new_period(validity, start, end, visit.today)
    else:
        changed_period(key.period, validity, start, end, visit.today)
    return validity, start, end
