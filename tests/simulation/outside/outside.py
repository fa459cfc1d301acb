"""In some worlds there are a mail server, a provider of OpenID Connect, and people at browsers."""

from __future__ import annotations

import random
import smtplib
import socket
import ssl
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tests.simulation.below.scheduler import SECOND
from tests.simulation.ledger import Violated

if TYPE_CHECKING:
    from snapshots.store.store import Store
    from tests.simulation.machines import ReadingMachine
    from tests.simulation.people import Office
    from tests.simulation.world import World

HOUR = 3601 * SECOND
"""Microseconds that all machines sleep now and then, so that what is done once an hour is done."""
_LOOK = 4.0
"""Seconds between two looks whether letters are due, and whether a mail server is back."""
_NOTED = 3 * SECOND
"""Microseconds after which a machine says that the mail server is away."""


class Outside:
    """All of that. It is in the world where ``is_there``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.chance.seed}/outside")
        drawn = self._chance.random()
        self.is_there = world.given.get("outside", "only" not in world.given and drawn < 0.4)
        self.consoles: dict[str, Any] = {}
        """By machine, the console that its keeper serves."""
        if not self.is_there:
            return
        # They import what takes a second, which worlds without it need not; and before anything is simulated.
        for module in ("process.serving", "provider_sign_in"):
            import_module(f"server.console.{module}")
        from tests.simulation.outside.mail import MailServer
        from tests.simulation.outside.provider import Provider
        from tests.simulation.outside.visitors import Visitors

        self.mail = MailServer(world)
        self.provider = Provider(world)
        self.visitors = Visitors(world)

    def settings(self) -> dict[str, Any]:
        """Return the settings of servers that know all of that."""
        if not self.is_there:
            return {}
        from tests.simulation.outside.console import SITE
        from tests.simulation.outside.mail import URL
        from tests.simulation.outside.provider import CLIENT, ISSUER, SECRET

        provider = {"oidc_issuer": ISSUER, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
        return {"smtp_url": URL, "console": True, "public_url": SITE, **provider}

    def doors(self) -> list[tuple[Any, str, Any]]:
        """Return what stands in the place of what: (module, name, function)."""
        if not self.is_there:
            return []
        import httpx2

        from server.background import expiry_mail, keeper
        from server.console.process import serving
        from tests.simulation.outside.console import server_of
        from tests.simulation.outside.provider import transport_of

        return [
            # A run of minutes is to have more than one round.
            (expiry_mail, "LOOK_SECONDS", _LOOK),
            (keeper, "MAIL_ASK_SECONDS", _LOOK),
            (smtplib.SMTP, "_get_socket", lambda _self, _host, _port, timeout: self.mail.connect(timeout)),
            (socket, "getfqdn", lambda *_: "host.example"),
            (httpx2, "AsyncHTTPTransport", transport_of(self.provider)),
            (ssl, "create_default_context", lambda *_, **__: None),
            (serving, "GracefulServer", server_of(self._world)),
        ]

    def begin(self, office: Office) -> list[Callable[[str, random.Random], None]]:
        """Plan what befalls it; return what people do with it."""
        if not self.is_there:
            return []
        from tests.simulation.outside.letters import Expiry

        self.expiry = Expiry(self._world, office)
        self.expiry.begin()
        if self._world.receivers and self._world.given.get("gone", self._chance.random() < 0.5):
            next(iter(self._world.receivers.values())).is_gone = True
        return [self.visitors._visitor, self.expiry._extender]

    def plan(self, end: int) -> None:
        """Decide what befalls it until then."""
        if not self.is_there:
            return
        scheduler, chance = self._world.scheduler, self._chance
        rate = 0.0 if self._world.rates.is_calm else self._world.given.get("mail_away", chance.choice((0.0, 0.5)))
        for minute in range(end // (60 * SECOND) + 1):
            at = round((60 * minute + 15 * chance.random()) * SECOND)
            lasts = round((5 + chance.choice((10, 40, 90)) * chance.random()) * SECOND)
            if chance.random() < rate:
                scheduler.at(at, partial(self._be_away, lasts))
        for _ in range(self._world.given.get("rotations", 2)):
            scheduler.at(round(end * chance.random()), self._rotate)
        for _ in range(self._world.given.get("hours", 3)):
            scheduler.at(round(end * chance.random()), self._sleep)

    def _be_away(self, lasts: int) -> None:
        world = self._world
        if world.is_over or not world.chance.falls("mail", "is away"):
            return
        self.mail.is_away, self.mail.away_since = True, world.scheduler.now
        world.tell(f"mail: away for {lasts / SECOND:.1f} s")
        world.scheduler.at(lasts, self._come_back)

    def _come_back(self) -> None:
        self.mail.is_away = False

    def _rotate(self) -> None:
        if not self._world.is_over and self._world.chance.falls("provider", "signs with a new key"):
            self.provider.rotate()

    def _sleep(self) -> None:
        if not self._world.is_over and self._world.chance.falls("all", "sleep an hour"):
            self._world.put_to_sleep(HOUR)
            self._world.tell("all machines were asleep for an hour")

    def calm(self) -> None:
        """End all faults; let the hour pass after which letters are tried again, and people come in once more."""
        if not self.is_there:
            return
        world = self._world
        self.mail.is_away = False

        def pass_an_hour() -> None:
            world.scheduler.asleep += HOUR

        world.scheduler.at(10 * SECOND, pass_an_hour)
        for machine in world.readers:
            process = world.scheduler.process(world.office, f"{world.office.name}/last visitor/{machine.name}")
            world.scheduler.spawn(process, process.name, partial(self._last_visit, machine), 15 * SECOND)

    def _last_visit(self, machine: ReadingMachine) -> None:
        import time

        from tests.simulation.outside.console import Browser
        from tests.simulation.outside.visitors import MIKA

        while machine.name not in self.visitors.came_in and not self._world.is_resting:
            browser = Browser(self._world, f"last/{machine.name}")
            self.visitors.at_provider(browser, MIKA, machine)
            for workspace in self._world.workspaces:
                if browser.session is not None and self.visitors.look(browser, machine, workspace):
                    self.visitors.came_in.add(machine.name)
            time.sleep(5)

    def check(self, machine: ReadingMachine) -> None:
        """Hold that a machine says so which could not use the mail server, as long as that is away."""
        if not self.is_there or not self.mail.is_away or machine.name not in self.mail.turned_away:
            return
        at, asleep, process = self.mail.turned_away[machine.name]
        if asleep != self._world.scheduler.asleep:  # what was noted before is old
            return
        if not process.is_alive or not self.mail.away_since < at < self._world.scheduler.now - _NOTED:
            return
        told = machine.told()
        if self.mail.is_away and not self._world._excuses(machine, told, "", ("mail", "cache")) and process.is_alive:
            raise Violated(f"{machine.name} cannot send letters, and says nothing of it: {sorted(told)}")

    def check_end(self, store: Store) -> None:
        """Hold what has to hold at the end. Raises ``Violated``."""
        if not self.is_there:
            return
        self.expiry.check(store)
        for machine in self._world.readers:
            if self._world.ledger.versions and machine.name not in self.visitors.came_in:
                raise Violated(f"nobody can come in to the console of {machine.name}")
