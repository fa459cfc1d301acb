"""People at browsers: they sign in to the console by letters and at the provider, look at pages, and sign out.

Held at each of their requests: nobody is in who was not let in, and nobody for longer than that.
"""

from __future__ import annotations

import random
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.below.scheduler import SECOND
from tests.simulation.ledger import Violated
from tests.simulation.outside.console import Answer, Browser

if TYPE_CHECKING:
    from tests.simulation.machines import ReadingMachine
    from tests.simulation.world import World

MIKA, NILS, EVE = "mika@acme.example", "nils@acme.example", "eve@elsewhere.example"
"""An owner in all versions, a maintainer in some of them, and a stranger."""
SESSION_HOURS = 12
_LINK = re.compile(r"https://console\.example/console/-/link\?(token=([A-Za-z0-9_-]{43}))")
_LETTER_SECONDS = 6


@dataclass
class KnownSession:
    """A session that began."""

    person: str
    machine: str
    asked_at: int
    began_at: int
    """The true times between which that was, UTC milliseconds: all may have been asleep for a day meanwhile."""
    began: int
    """When that was known, in microseconds since the beginning."""
    is_unsure: bool = False
    """Whether somebody has begun to end it."""
    ended: int | None = None
    """When its end was acknowledged."""


class Visitors:
    """All browsers of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.sessions: dict[str, KnownSession] = {}
        self._browsers = {
            name: [(person, Browser(world, f"{person.partition('@')[0]}/{name}")) for person in (MIKA, MIKA, NILS, EVE)]
            for name in world.workspaces
        }
        self.came_in: set[str] = set()
        """The machines on which somebody has come in and seen a page since all faults have ended."""

    def _visitor(self, workspace: str, chance: random.Random) -> None:
        """Do a few things, one after the other."""
        for _ in range(chance.choice((1, 3, 8))):
            self._act(workspace, chance)
            time.sleep(2 * chance.random())

    def _act(self, workspace: str, chance: random.Random) -> None:
        """Do something in one browser."""
        person, browser = chance.choice(self._browsers[workspace])
        machine = chance.choice(self._world.readers)
        if browser.session is None:
            self._sign_in(browser, person, machine, chance)
        drawn = chance.random()
        if browser.session is None or drawn < 0.6:
            self.look(browser, machine, workspace)
        elif drawn < 0.75:
            self._sign_out(browser, machine, everywhere=False)
        elif drawn < 0.85:
            self._sign_out(browser, machine, everywhere=True)
        else:
            self._sign_in(browser, person, machine, chance)

    def look(self, browser: Browser, machine: ReadingMachine, workspace: str) -> bool:
        """Ask for a page of a workspace; return whether it was shown."""
        world, token = self._world, browser.session
        now, asleep, wall = world.scheduler.now, world.scheduler.asleep, world.wall_ms()
        answer = browser.ask(machine, f"/console/{workspace}/readers")
        if answer is None:
            return False
        known = None if token is None else self.sessions.get(token)
        if answer.status == 200:
            self._hold_shown(browser, machine, workspace, known, now, wall)
        elif answer.status == 503:
            self._hold_excused(machine, "has no page")
        elif answer.status == 303:
            is_same = known is not None and known.machine == machine.name and not self._clocks_jump()
            if known is not None and is_same and known.ended is None and not known.is_unsure:
                age = world.wall_ms() - known.asked_at
                if age < SESSION_HOURS * 3_600_000 and asleep == world.scheduler.asleep:
                    raise Violated(f"{machine.name} signs {browser.name} out, after {age / 1000:.0f} s")
        elif answer.status == 404:
            if known is not None and all(known.person in one for one in self._members(workspace, now)):
                raise Violated(f"{machine.name} does not know {known.person}, a member of {workspace}")
        else:
            raise Violated(f"{machine.name} answers a page of the console with {answer.status}")
        return answer.status == 200

    def _hold_shown(
        self,
        browser: Browser,
        machine: ReadingMachine,
        workspace: str,
        known: KnownSession | None,
        asked: int,
        wall: int,
    ) -> None:
        """Hold that a page may be shown that was ``asked`` for, when the true time was ``wall``."""
        if known is None:
            raise Violated(f"{machine.name} shows a page to {browser.name}, who did not sign in")
        if known.ended is not None and known.ended < asked:
            ago = (asked - known.ended) / SECOND
            raise Violated(f"{machine.name} shows a page to {browser.name}, who signed out {ago:.1f} s ago")
        hours = (wall - known.began_at) / 3_600_000
        if hours > SESSION_HOURS + 1 and not self._clocks_jump():
            raise Violated(f"{machine.name} shows a page to {browser.name}, who signed in {hours:.0f} hours ago")
        if not any(known.person in one for one in self._members(workspace, asked)):
            raise Violated(f"{machine.name} shows a page of {workspace} to {known.person}, who is no member any more")

    def _members(self, workspace: str, since: int) -> list[dict[str, str]]:
        """Return the members of each version that was current at some time since then."""
        history = self._world.ledger.versions.get(workspace, [])
        members = self._world.template.members[workspace]
        if not history:
            return [{}]
        ends = [at for at, _ in history[1:]] + [self._world.scheduler.now]
        found = [members[version] for (_, version), end in zip(history, ends, strict=True) if end >= since]
        return found if history[0][0] <= since else [{}, *found]

    def _clocks_jump(self) -> bool:
        return bool(self._world.rates.jump)

    def _hold_excused(self, machine: ReadingMachine, what: str) -> None:
        """Hold that a console which cannot answer has a reason."""
        process = self._world.outside.consoles[machine.name].process
        is_away = self._world.scheduler.now - machine.failed_at < 60 * SECOND
        if not (process.disturbed or is_away or machine.is_full or machine.refused):
            raise Violated(f"the console of {machine.name} {what}, and nothing is wrong")

    # Coming in.

    def _sign_in(self, browser: Browser, person: str, machine: ReadingMachine, chance: random.Random) -> None:
        if chance.random() < 0.5:
            self._by_letter(browser, person, machine, chance)
        else:
            self.at_provider(browser, person, machine, chance)

    def _by_letter(self, browser: Browser, person: str, machine: ReadingMachine, chance: random.Random) -> None:
        mail, before = self._world.outside.mail, len(self._world.outside.mail.letters)
        answer = browser.ask(machine, "/console/-/sign-in", form={"email": person})
        if answer is None or answer.status != 200 or person == EVE:  # to whom no letter comes
            return
        for _ in range(_LETTER_SECONDS):
            for letter in mail.letters[before:]:
                before += 1
                found = _LINK.search(letter.text) if letter.to == person else None
                if found is not None and self._use_link(browser, person, machine, found[1], chance):
                    return
            time.sleep(1)

    def _use_link(
        self, browser: Browser, person: str, machine: ReadingMachine, query: str, chance: random.Random
    ) -> bool:
        shown = browser.ask(machine, "/console/-/link", query)
        if shown is None or shown.status != 200:
            return False  # it is another browser's
        form = {"token": query.removeprefix("token=")}
        if chance.random() < 0.2:
            other = Browser(self._world, "another")
            other.ask(machine, "/console/-/link", form=form)
            if other.session is not None:
                raise Violated(f"another browser can use the link of {browser.name}")
        wall = self._world.wall_ms()
        self._came_in(browser, person, machine, browser.ask(machine, "/console/-/link", form=form), wall)
        if browser.session is not None and chance.random() < 0.2:
            self._hold_once(browser, machine, lambda again: again.ask(machine, "/console/-/link", form=form))
        return True

    def at_provider(
        self, browser: Browser, person: str, machine: ReadingMachine, chance: random.Random | None = None
    ) -> None:
        """Sign in at the provider."""
        world = self._world
        began, asleep = world.scheduler.now, world.scheduler.asleep
        sent = browser.ask(machine, "/console/-/provider")
        if sent is None or sent.status != 303 or not sent.location.startswith("https://id.example/authorize"):
            return
        attempt = dict(browser.cookies)
        query = world.outside.provider.let_in(sent.location, person)
        there = next(reversed(world.outside.provider.codes.values()))
        had, wall = browser.session, world.wall_ms()
        answer = browser.ask(machine, "/console/-/provider/callback", query)
        if answer is None:
            return
        if browser.session is not None and browser.session != had:
            if there.has_lied or person == EVE:
                raise Violated(f"{machine.name} lets {browser.name} in by a lie of the provider")
            self._came_in(browser, person, machine, answer, wall)
            if chance is not None and chance.random() < 0.3:
                again = Browser(world, "again")
                again.cookies = attempt
                again.ask(machine, "/console/-/provider/callback", query)
                if again.session not in (None, had):
                    raise Violated("a sign-in at the provider begins two sessions")
            return
        is_undisturbed = began > machine.failed_at + 60 * SECOND and asleep == world.scheduler.asleep
        process = world.outside.consoles[machine.name].process
        is_good = not (there.has_lied or there.has_failed or machine.offset or process.disturbed)
        is_member = any(found[0][0] < began for found in world.ledger.versions.values())  # as of all versions
        if (
            is_member
            and is_undisturbed
            and is_good
            and person == MIKA
            and not world.rates.jump
            and answer.status != 503
        ):
            raise Violated(f"{machine.name} does not let {browser.name} in, whom the provider did: {answer.status}")

    def _came_in(
        self, browser: Browser, person: str, machine: ReadingMachine, answer: Answer | None, wall: int
    ) -> None:
        token, world = browser.session, self._world
        if answer is None or token is None or token in self.sessions:
            return
        world.tell(f"{browser.name} has come in on {machine.name}")
        self.sessions[token] = KnownSession(person, machine.name, wall, world.wall_ms(), world.scheduler.now)

    def _hold_once(self, browser: Browser, machine: ReadingMachine, use: object) -> None:
        again = Browser(self._world, "again")
        again.cookies = {name: value for name, value in browser.cookies.items() if "session" not in name}
        use(again)  # type: ignore[operator]
        if again.session is not None:
            raise Violated(f"a link lets {browser.name} in twice on {machine.name}")

    # Going.

    def _sign_out(self, browser: Browser, machine: ReadingMachine, *, everywhere: bool) -> None:
        world, token = self._world, browser.session
        known = self.sessions.get(token or "")
        if known is None:
            browser.cookies.pop("__Host-parquetry-session", None)
            return
        began = world.scheduler.now
        ending = [known]
        if everywhere:
            ending = [one for one in self.sessions.values() if one.person == known.person and one.began < began]
        for one in ending:
            one.is_unsure = True
        form = {"everywhere": "1"} if everywhere else {"here": "1"}
        answer = browser.ask(machine, "/console/-/sign-out", form=form)
        if answer is None or answer.status != 303:
            return
        # A session that was found to have ended already, as by a clock that is behind, ends no others.
        for one in ending if not everywhere or self._is_seen(known, machine) else [known]:
            one.ended = one.ended or world.scheduler.now
        world.tell(f"{browser.name} has signed out {'everywhere' if everywhere else 'here'}")

    def _is_seen(self, known: KnownSession, machine: ReadingMachine) -> bool:
        """Whether a machine is sure to take a session for one that lasts."""
        age = self._world.wall_ms() - known.asked_at
        is_old = age > (SESSION_HOURS - 1) * 3_600_000
        return known.ended is None and known.machine == machine.name and not is_old and not self._clocks_jump()
