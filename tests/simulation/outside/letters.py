"""Keys that are about to expire, people who change when, and the letters that owners and maintainers get of it."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from engine.access.expiry.ledger import LedgerFile
from engine.access.keys.access import AccessFile, KeyChange
from engine.access.keys.keys import local_date
from engine.administration import keys as key_changes
from engine.webhooks.webhooks_file import WebhooksFile
from snapshots.store.store import Store
from tests.simulation.ledger import Violated
from tests.simulation.outside.mail import Letter

if TYPE_CHECKING:
    from tests.simulation.people import Office
    from tests.simulation.world import World

_DAYS = 24 * 3_600_000
_BEFORE = timedelta(days=7)
_TOLD = frozenset(("owner", "maintainer"))
_ABOUT = re.compile(r"Begins with: *(pq_\w{8})\s+Expiry date: *([0-9-]{10})")
_WEBHOOK = re.compile(r"Webhook: *(\S+)")


class Expiry:
    """One key of each workspace, issued long ago."""

    def __init__(self, world: World, office: Office) -> None:
        self._world = world
        self._office = office
        self._keys: dict[str, str] = {}
        """By workspace, the key's prefix."""
        self._asked: dict[str, set[date]] = {}
        """By prefix, the last days that were asked for."""

    def begin(self) -> None:
        """Issue the keys, before anything befalls anybody."""
        for name in self._world.workspaces:
            by, definitions = self._office.acting(name, "keeper", self._world.wall_ms() - 100 * _DAYS)
            key, _ = key_changes.issue_key(by, definitions, name="Old key", scope=None, validity="1y")
            self._keys[name], self._asked[key.prefix] = key.prefix, set()

    def _extender(self, workspace: str, chance: random.Random) -> None:
        """Choose another last day of the key."""
        prefix = self._keys[workspace]
        by, definitions = self._office.acting(workspace, "extender")
        end = local_date(by.now, ZoneInfo(definitions.timezone)) + timedelta(days=chance.randrange(9))
        self._asked[prefix].add(end)
        key_changes.edit_key(by, definitions, prefix, KeyChange(end=end))

    def check(self, store: Store) -> None:
        """Hold at the end that whoever is to be told was told, and of nothing else. Raises ``Violated``."""
        letters = self._world.outside.mail.letters
        told: set[tuple[str, date, str]] = set()
        for letter in letters:
            found = _ABOUT.search(letter.text)
            if found is not None:
                told.add((found[1], date.fromisoformat(found[2]), letter.to))
        for prefix, end, to in told:
            if end not in self._asked.get(prefix, ()):
                raise Violated(f"{to} was told that {prefix} expires on {end}, which nobody has asked for")
        for name in self._world.workspaces:
            self._check_workspace(store, name, told)
            self._check_webhooks(store, name, letters)

    def _check_workspace(self, store: Store, name: str, told: set[tuple[str, date, str]]) -> None:
        workspace_store = store.workspace(name)
        current, access = workspace_store.current(), AccessFile(workspace_store).read()
        if current is None or access is None:
            return
        members = self._world.template.members[name][current.version]
        definitions = workspace_store.manifest(current.version).workspace
        today = local_date(self._world.wall_ms(), ZoneInfo(definitions.timezone))
        for key in access.keys:
            end = key.period.end
            if key.prefix != self._keys[name] or end is None or not today <= end <= today + _BEFORE:
                continue
            for to, role in members.items():
                if role in _TOLD and (key.prefix, end, to) not in told:
                    raise Violated(f"{to} was not told that {key.prefix} of {name} expires on {end}")
        prefixes = {key.id: key.prefix for key in access.keys}
        for mail, record in LedgerFile(workspace_store).read().items():
            is_there = (prefixes.get(mail.key, ""), mail.until, mail.address) in told
            if record.sent_at is not None and mail.key in prefixes and not is_there:
                raise Violated(f"the letter to {mail.address} on {mail.until} of {name} is noted, and was not sent")

    def _check_webhooks(self, store: Store, name: str, letters: list[Letter]) -> None:
        told = {(found[1], one.to) for one in letters if (found := _WEBHOOK.search(one.text)) is not None}
        members = self._world.template.members[name]
        always = set.intersection(*({to for to, role in one.items() if role == "owner"} for one in members.values()))
        for endpoint in WebhooksFile(store.objects, name).read():
            if endpoint.stopped is None or self._world.wall_ms() - endpoint.stopped.at > _BEFORE.days * _DAYS:
                continue  # a letter that is refused is tried again for a week
            for to in always:
                if (endpoint.id, to) not in told:
                    raise Violated(f"{to} was not told that webhook {endpoint.id} of {name} was given up")
