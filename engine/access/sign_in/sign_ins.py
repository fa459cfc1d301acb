"""Who may come in: one-time links and sessions, in a document of the store that every worker and machine reads.

    <store>/sign_ins.json      private

Links and sessions are named by random texts of which only the SHA-256 is kept: who reads the file cannot sign in with
it. A link is used up and its session begun in one change of the document, so of two who use a link one comes in.
A sign-in at a provider is stored when it is completed, so that it is completed once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from datetime import UTC
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from engine.access.sign_in.people import Person
from snapshots.problems import ParquetryError
from snapshots.store.document import Document, JsonCodec
from snapshots.store.objects import Objects, Result
from snapshots.times import format_datetime, parse_datetime

DOCUMENT: Final = "sign_ins.json"
LINK_MS: Final = 15 * 60_000
SESSION_MS: Final = 12 * 3_600_000
MAIL_PAUSE_MS: Final = 60_000
"""Milliseconds between two links by e-mail for the same person and browser."""
MOST_LINKS: Final = 20
"""Links of one person that wait to be used; the oldest go."""
MOST_FOR_STRANGERS: Final = 10
"""Mailed links of one person that wait to be used, from which on only a browser that the person used before gets
another: whoever else asks, the person's own request is answered, and no link is pushed out by theirs."""
MOST_SESSIONS: Final = 50
"""Sessions of one person; the oldest end."""

COMPLETED_MS: Final = 3_600_000
"""Milliseconds for which a completed sign-in at a provider is remembered: longer than one may take, by any clock."""

_USED: Final = "This link was used already, or is older than 15 minutes."
_FORMAT: Final = 1


class LinkUnusable(ParquetryError):
    """A one-time link is unknown, used, too old, or was asked for in another browser."""


class AlreadyCompleted(ParquetryError):
    """A sign-in at a provider has begun its session before."""


class SignInLink(msgspec.Struct, frozen=True):
    """A one-time link that waits to be used."""

    hash: str
    person: Person
    made_at: int
    """UTC milliseconds."""
    browser: str | None
    """The SHA-256 of the text that the browser which asked for it holds; ``None`` for a link that was printed."""

    def is_for(self, browser: str | None) -> bool:
        """Whether a browser that holds the text ``browser``, or none, can use the link."""
        return self.browser is None or hmac.compare_digest(self.browser, _hash(browser or ""))


class Session(msgspec.Struct, frozen=True):
    """A browser in which somebody is signed in."""

    hash: str
    person: Person
    began_at: int
    """UTC milliseconds."""


class _Completed(msgspec.Struct, frozen=True):
    """A sign-in at a provider that has begun its session."""

    hash: str
    at: int
    """UTC milliseconds."""


class _Found(msgspec.Struct, frozen=True):
    links: tuple[SignInLink, ...] = ()
    sessions: tuple[Session, ...] = ()
    completed: tuple[_Completed, ...] = ()


class _Stored(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    hash: str
    address: str
    operator: bool
    at: str
    browser: str | None = None


class _StoredCompleted(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    hash: str
    at: str


class _StoredFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    format: int
    links: list[_Stored]
    sessions: list[_Stored]
    writes: tuple[str, ...]
    completed: list[_StoredCompleted] = []


_One = TypeVar("_One", SignInLink, Session)
_Named = TypeVar("_Named", SignInLink, Session, _Completed)


def new_token() -> str:
    """Return a random text of 43 characters that nobody can guess, for links, sessions and browsers."""
    return secrets.token_urlsafe(32)


class SignIns:
    """The links and sessions of a store. Threads may share one.

    Every method raises ``StoreError`` when the document cannot be read or written, and ``DamagedDocument``.
    """

    def __init__(self, objects: Objects) -> None:
        self._document: Document[_Found] = Document(objects, DOCUMENT, _CODEC, _Found(), private=True)

    def check(self) -> None:
        """Read the document. Raises ``ParquetryError`` where it cannot be read or is damaged."""
        self._document.read()

    def new_link(self, person: Person, now: int) -> str:
        """Make a link for a person at ``now`` (UTC milliseconds), good in any browser; return its token."""
        token = new_token()
        link = SignInLink(_hash(token), person, now, None)
        self._edit(now, lambda found: (replace(found, links=(*found.links, link)), None))
        return token

    def new_mailed_link(self, person: Person, browser: str, now: int, *, is_known: bool = False) -> str | None:
        """Make a link for the browser that holds the text ``browser`` alone; return its token.

        ``None`` where the last such link for this browser was made less than a minute ago, or too many links of the
        person wait: fewer where it is not known (``is_known``) that the person used the browser before.
        """
        token, hashed = new_token(), _hash(browser)
        most = MOST_LINKS if is_known else MOST_FOR_STRANGERS

        def add(found: _Found) -> tuple[_Found, str | None]:
            mailed = [one for one in found.links if one.person == person and one.browser is not None]
            if len(mailed) >= most or any(
                one.browser == hashed and now - MAIL_PAUSE_MS < one.made_at for one in mailed
            ):
                return found, None
            return replace(found, links=(*found.links, SignInLink(_hash(token), person, now, hashed))), token

        return self._edit(now, add)

    def link(self, token: str, now: int) -> SignInLink | None:
        """Return the link with a token where it can still be used. Looking at it does not use it up."""
        return _named(_current(self._document.read(), now).links, token)

    def use(self, token: str, browser: str | None, now: int, *, instead_of: str | None = None) -> tuple[str, Person]:
        """Use a link up and begin a session: (its token, the person). ``browser`` is the text that the browser holds.

        A session ``instead_of`` which this one begins ends. Raises ``LinkUnusable``, which leaves the link as it is.
        """
        if self.link(token, now) is None:  # guesses wait for no lock
            raise LinkUnusable(_USED)
        session = new_token()

        def begin(found: _Found) -> tuple[_Found, Person]:
            link = _named(found.links, token)
            if link is None:
                raise LinkUnusable(_USED)
            if not link.is_for(browser):
                raise LinkUnusable("This link works only in the browser in which it was asked for.")
            links = tuple(one for one in found.links if one is not link)
            others = _without(found.sessions, instead_of)
            begun = Session(_hash(session), link.person, now)
            return replace(found, links=links, sessions=(*others, begun)), link.person

        return session, self._edit(now, begin)

    def complete(self, attempt: str, person: Person, now: int, *, instead_of: str | None = None) -> str:
        """Begin a session for a person who signed in at a provider; return its token. ``attempt`` is the text by which
        the browser began that, good for one session. A session ``instead_of`` which this one begins ends.

        Raises ``AlreadyCompleted``.
        """
        session = new_token()
        completed = _Completed(_hash(attempt), now)

        def begin(found: _Found) -> tuple[_Found, None]:
            if _named(found.completed, attempt) is not None:
                raise AlreadyCompleted("This sign-in has already been completed.")
            sessions = (*_without(found.sessions, instead_of), Session(_hash(session), person, now))
            return replace(found, sessions=sessions, completed=(*found.completed, completed)), None

        self._edit(now, begin)
        return session

    def session(self, token: str, now: int) -> Session | None:
        """Return the session with a token, as long as it lasts."""
        return _named(_current(self._document.read(), now).sessions, token)

    def end(self, token: str, now: int) -> None:
        """End one session."""
        self._edit(now, lambda found: (replace(found, sessions=_without(found.sessions, token)), None), takes_away=True)

    def end_all(self, person: Person, now: int) -> int:
        """End all sessions of a person, and make the links that wait unusable; return the number of sessions."""

        def drop(found: _Found) -> tuple[_Found, int]:
            sessions = tuple(one for one in found.sessions if one.person != person)
            links = tuple(one for one in found.links if one.person != person)
            return replace(found, links=links, sessions=sessions), len(found.sessions) - len(sessions)

        return self._edit(now, drop, takes_away=True)

    def _edit(self, now: int, change: Callable[[_Found], tuple[_Found, Result]], *, takes_away: bool = False) -> Result:
        """Apply a change to what has not run out, as ``Document.edit``; return what it returned beside."""

        def changed(found: _Found, _: str) -> tuple[_Found, Result]:
            after, result = change(_current(found, now))
            return _bounded(after), result

        return self._document.edit(changed, takes_away=takes_away)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _named(those: Iterable[_Named], token: str) -> _Named | None:
    wanted = _hash(token)
    return next((one for one in those if hmac.compare_digest(one.hash, wanted)), None)


def _without(sessions: tuple[Session, ...], token: str | None) -> tuple[Session, ...]:
    gone = None if token is None else _hash(token)
    return tuple(one for one in sessions if one.hash != gone)


def _current(found: _Found, now: int) -> _Found:
    """Return what has not run out. What lets somebody in and is dated later than now is not believed: a clock was set
    back."""
    return replace(
        found,
        links=tuple(one for one in found.links if now - LINK_MS < one.made_at <= now + MAIL_PAUSE_MS),
        sessions=tuple(one for one in found.sessions if now - SESSION_MS < one.began_at <= now + MAIL_PAUSE_MS),
        completed=tuple(one for one in found.completed if now - COMPLETED_MS < one.at),
    )


def _bounded(found: _Found) -> _Found:
    return replace(found, links=_newest(found.links, MOST_LINKS), sessions=_newest(found.sessions, MOST_SESSIONS))


def _newest(those: tuple[_One, ...], most: int) -> tuple[_One, ...]:
    """Return the last ``most`` of each person."""
    kept: list[_One] = []
    counts: dict[Person, int] = {}
    for one in reversed(those):
        counts[one.person] = counts.get(one.person, 0) + 1
        if counts[one.person] <= most:
            kept.append(one)
    return tuple(reversed(kept))


def _loaded(stored: _StoredFile) -> _Found:
    return _Found(
        tuple(SignInLink(one.hash, _person(one), parse_datetime(one.at, UTC), one.browser) for one in stored.links),
        tuple(Session(one.hash, _person(one), parse_datetime(one.at, UTC)) for one in stored.sessions),
        tuple(_Completed(one.hash, parse_datetime(one.at, UTC)) for one in stored.completed),
    )


def _stored_file(found: _Found) -> _StoredFile:
    def stored(one: SignInLink | Session, at: int, browser: str | None = None) -> _Stored:
        return _Stored(one.hash, one.person.address, one.person.is_operator, format_datetime(at), browser)

    return _StoredFile(
        _FORMAT,
        [stored(one, one.made_at, one.browser) for one in found.links],
        [stored(one, one.began_at) for one in found.sessions],
        (),
        [_StoredCompleted(one.hash, format_datetime(one.at)) for one in found.completed],
    )


def _person(stored: _Stored) -> Person:
    return Person(stored.address, stored.operator)


_CODEC: Final = JsonCodec(
    _StoredFile,
    _loaded,
    _stored_file,
    repair="Remove it: everybody signs in again.",
    newest=_FORMAT,
    newest_last=True,
    for_people=True,
)
