"""API keys: their text, their period of validity, and the state and label that follow for a day."""

from __future__ import annotations

import difflib
import hashlib
import re
import secrets
import string
import unicodedata
import zlib
from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum

import msgspec

from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.times import format_datetime

KEY_TEXT = re.compile(r"pq_[0-9A-Za-z]{8}_[0-9A-Za-z]{24}_[0-9A-Za-z]{6}")
"""The form of a whole key: ``pq_<8>_<24 random>_<checksum>`` (design section 3)."""
PREFIX_LENGTH = len("pq_") + 8
"""The start of a key that is stored and shown, as in ``pq_Ab12Cd34``."""
EXPIRING_DAYS = 7
LONGEST_VALIDITY_YEARS = 5
LONGEST_NAME = 100
VALIDITIES = ("30d", "90d", "1y", "none")
"""The periods that have a name (contract 5.7); the first day is today unless another is given."""
DEFAULT_VALIDITY = "90d"

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of what follows them, beyond the name too."""
_RANDOM_LENGTH = 24  # 62^24 is a little over 2^142
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class InvalidKeySettings(ParquetryError):
    """A name, a scope, a period or a limit that no key can have."""


class KeyState(StrEnum):
    """The states of contract 3.2 and decision 44, by the names ``--json`` uses (decision 49)."""

    NOT_YET_VALID = "not_yet_valid"
    VALID = "valid"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    DISABLED = "disabled"


class Period(msgspec.Struct, frozen=True):
    """A span of whole days in the workspace's time zone, the first and the last included."""

    start: date
    end: date | None
    """``None``: no expiry."""


class Key(msgspec.Struct, frozen=True):
    """One issued key. The key's text itself is not here: only its SHA-256 is kept."""

    id: str
    prefix: str
    """The start of the key, as in ``pq_Ab12Cd34``."""
    name: str
    hash: str
    """SHA-256 of the whole key, in hexadecimal."""
    scope: frozenset[str] | None
    """The ``uid`` of each allowed API (decision 27); ``None`` allows all, later ones too."""
    period: Period
    disabled: bool
    rate_limit: int | None
    """Requests a minute; ``None`` means the workspace's own limit."""
    created_at: int
    """UTC milliseconds."""


def new_key_text() -> str:
    """The text of a new key: 142 random bits between a prefix and a checksum.

    The checksum lets a scanner of source code tell a real key from look-alikes without asking a server.
    """
    start = f"pq_{_random(8)}_{_random(_RANDOM_LENGTH)}"
    return f"{start}_{_checksum(start)}"


def is_key_text(text: str) -> bool:
    """Whether a text is a whole key with the right checksum. Says nothing of whether it was ever issued."""
    return KEY_TEXT.fullmatch(text) is not None and _checksum(text[:-7]) == text[-6:]


def new_key_id() -> str:
    return f"key_{_random(12)}"


def key_hash(text: bytes) -> str:
    """The SHA-256 of a key as presented, in hexadecimal: the only form of it that is stored."""
    return hashlib.sha256(text).hexdigest()


def local_date(now: int, zone: tzinfo) -> date:
    """The day that ``now`` (UTC milliseconds) falls on in a time zone."""
    return datetime.fromtimestamp(now // 1000, zone).date()


def key_state(key: Key, today: date) -> KeyState:
    """The state of a key on a day of its workspace's time zone (contract 3.2); being disabled comes first."""
    if key.disabled:
        return KeyState.DISABLED
    if today < key.period.start:
        return KeyState.NOT_YET_VALID
    if key.period.end is None:
        return KeyState.VALID
    if today > key.period.end:
        return KeyState.EXPIRED
    return KeyState.EXPIRING if (key.period.end - today).days <= EXPIRING_DAYS else KeyState.VALID


def key_label(key: Key, today: date) -> str:
    """The label of a key's state, word for word as contract 3.2 has it, plus ``Disabled`` (decision 44)."""
    end = key.period.end
    match key_state(key, today):
        case KeyState.DISABLED:
            return "Disabled"
        case KeyState.NOT_YET_VALID:
            return f"From {key.period.start}"
        case KeyState.EXPIRED:
            return "Expired"
        case KeyState.EXPIRING if end is not None:
            days = (end - today).days
            return f"{days} days left" if days else "Expires today"
        case _:
            return "No expiry" if end is None else f"Until {end}"


def parse_date(text: str) -> date:
    """``2026-11-21`` as a date. Raises ``InvalidKeySettings`` for anything else."""
    if _DATE.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise InvalidKeySettings(f'"{text}" is not a date. Write one as YYYY-MM-DD, for example 2026-11-21.')


def new_period(validity: str | None, start: date | None, end: date | None, today: date) -> Period:
    """The period of a new key from what was asked for; with nothing given, 90 days from today (contract 5.7).

    ``validity`` is one of ``VALIDITIES`` and excludes ``end``. Raises ``InvalidKeySettings`` for a period
    that is over, ends before it starts, or ends more than five years from today.
    """
    if end is not None:
        _check_not_past(end, today)
    period = _asked_period(validity, start, end, Period(today, None), today)
    if period.end is not None:
        _check_not_past(period.end, today)
    return period


def changed_period(current: Period, validity: str | None, start: date | None, end: date | None, today: date) -> Period:
    """The period after an edit. Nothing given leaves it as it is (contract 3.2, ``Do not change``); a date
    alone keeps the other one; a named validity counts from today, or from ``start``.

    An end date already past is allowed here and expires the key at once (decision 44). Raises
    ``InvalidKeySettings`` for an end before the start or more than five years from today.
    """
    if validity is None and start is None and end is None:
        return current
    if validity is None and end is None:
        return _checked(Period(start or current.start, current.end), today)
    return _asked_period(validity, start, end, current, today)


def only_takes_away(key: Key, after: Key) -> bool:
    """Return whether a changed key can do less than before, and nothing that it could not do."""
    narrower = key.scope is None or (after.scope is not None and after.scope <= key.scope)
    shorter = key.period.start <= after.period.start and (
        key.period.end is None or (after.period.end is not None and after.period.end <= key.period.end)
    )
    changed = (after.scope, after.period) != (key.scope, key.period)
    return changed and narrower and shorter and after.rate_limit == key.rate_limit


def checked_name(name: str) -> str:
    """A key's name without blanks around it. Raises ``InvalidKeySettings`` when it is empty, longer than
    100 characters, or holds control characters, which would garble lists, logs and e-mails."""
    name = name.strip()
    if not name:
        raise InvalidKeySettings('A key needs a name. Say what will use it, for example "Website, production".')
    if len(name) > LONGEST_NAME:
        raise InvalidKeySettings(f"The name has {len(name)} characters; at most {LONGEST_NAME} are allowed.")
    if any(unicodedata.category(one) in {"Cc", "Cs", "Zl", "Zp"} or one in _TURNING for one in name):
        raise InvalidKeySettings("The name holds a line break or another control character. Leave those out.")
    return name


def checked_scope(scope: frozenset[str] | None) -> frozenset[str] | None:
    """A scope that names at least one API, or all. Raises ``InvalidKeySettings``."""
    if scope is not None and not scope:
        raise InvalidKeySettings("A key for selected APIs needs at least one API. Name one, or allow all.")
    return scope


def checked_rate_limit(rate_limit: int | None) -> int | None:
    """Requests a minute, at least 1, or the workspace's own limit. Raises ``InvalidKeySettings``."""
    if rate_limit is not None and not 1 <= rate_limit <= 1_000_000_000:
        raise InvalidKeySettings(f"A rate limit of {rate_limit} requests per minute is not possible. Give 1 or more.")
    return rate_limit


def scope_of(workspace: Workspace, endpoints: Iterable[str]) -> frozenset[str]:
    """Endpoints as the ``uid``s a key's scope holds. Raises ``InvalidKeySettings``, suggesting the nearest name."""
    scope = set()
    for endpoint in endpoints:
        api = workspace.api(endpoint)
        if api is None:
            names = [api.endpoint for api in workspace.apis]
            near = difflib.get_close_matches(endpoint, names, 1)
            hint = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names) or 'none'}."
            raise InvalidKeySettings(f'Workspace "{workspace.id}" has no API "{endpoint}". {hint}')
        scope.add(api.uid)
    return checked_scope(frozenset(scope)) or frozenset()


def scope_text(key: Key, workspace: Workspace) -> str:
    """Return a key's scope for people: ``all APIs``, or the endpoints."""
    if key.scope is None:
        return "all APIs"
    return ", ".join(api.endpoint for api in workspace.apis if api.uid in key.scope) or "none (its APIs are gone)"


def key_document(key: Key, workspace: Workspace, today: date, last_used_at: int | None = None) -> dict[str, object]:
    """A key as ``--json`` shows it (decision 49). An API of the scope that is gone has no endpoint to show."""
    scope = key.scope
    return {
        "id": key.id,
        "prefix": key.prefix,
        "name": key.name,
        "workspace": workspace.id,
        "scope": "all" if scope is None else [api.endpoint for api in workspace.apis if api.uid in scope],
        "from": key.period.start.isoformat(),
        "until": key.period.end.isoformat() if key.period.end else None,
        "state": str(key_state(key, today)),
        "label": key_label(key, today),
        "createdAt": format_datetime(key.created_at),
        "lastUsedAt": None if last_used_at is None else format_datetime(last_used_at),
        "rateLimit": key.rate_limit,
    }


def _asked_period(validity: str | None, start: date | None, end: date | None, current: Period, today: date) -> Period:
    if validity is not None and end is not None:
        raise InvalidKeySettings("Give either a validity (30d, 90d, 1y, none) or an end date, not both.")
    if end is not None:
        return _checked(Period(start or current.start, end), today)
    first = start or today
    if validity == "none":
        return Period(first, None)
    _check_limit(first, today)
    match validity or DEFAULT_VALIDITY:
        case "30d":
            last = first + timedelta(days=30)
        case "90d":
            last = first + timedelta(days=90)
        case "1y":
            last = _years_after(first, 1)
        case other:
            raise InvalidKeySettings(f'"{other}" is not a validity. Choose one of {", ".join(VALIDITIES)}.')
    return _checked(Period(first, last), today)


def _checked(period: Period, today: date) -> Period:
    if period.end is not None:
        if period.end < period.start:
            raise InvalidKeySettings(f"The end date {period.end} is before the start date {period.start}.")
        _check_limit(period.end, today)
    return period


def _check_not_past(end: date, today: date) -> None:
    if end < today:
        raise InvalidKeySettings(
            f"The end date {end} is already past: today is {today} in the workspace's time zone. "
            "Choose today or a later day."
        )


def _check_limit(day: date, today: date) -> None:
    limit = _years_after(today, LONGEST_VALIDITY_YEARS)
    if day > limit:
        raise InvalidKeySettings(
            f"{day} is more than {LONGEST_VALIDITY_YEARS} years from today. The last possible date is {limit}; "
            "a key can also be valid without an end date."
        )


def _years_after(day: date, years: int) -> date:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February in a year that has none
        return day.replace(year=day.year + years, day=28)


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _checksum(text: str) -> str:
    rest = zlib.crc32(text.encode("ascii"))
    digits = []
    for _ in range(6):
        rest, digit = divmod(rest, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
