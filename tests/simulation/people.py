"""What people do with commands: they issue and take away keys, publish, go back, delete old versions.

Each command is a process of its own, which can die. Whoever was told that a change is made writes that down; of a
change of which that is not known, that it may have been.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engine.access.audit.log import Author, Via
from engine.access.keys.access import KeyChange
from engine.access.sign_in.people import member as person_of
from engine.access.sign_in.sign_ins import MAIL_PAUSE_MS, SignIns
from engine.administration import keys as key_changes
from engine.administration import versions as version_changes
from engine.administration import webhooks as webhook_changes
from engine.administration.administrator import Administrator
from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.store.carrying import carry
from snapshots.store.locations import open_objects
from snapshots.store.reserve import RESERVE
from snapshots.store.store import WorkspaceStore, open_store
from snapshots.times import now_ms
from tests.simulation.below.scheduler import SECOND, Process
from tests.simulation.ledger import HINTLESS, QUICK, Fact, KnownKey, Violated
from tests.simulation.machines import DIRECTORY, Machine
from tests.simulation.stewards import Stewards

if TYPE_CHECKING:
    from tests.simulation.world import World

MOST_KEYS = 12
ENOUGH = 1 << 18
"""Bytes of a reserve that are enough for any change."""
MIKA = person_of("mika@acme.example")


class Office(Machine):
    """The machine on which people run commands."""

    def __init__(self, world: World, name: str, offset: int = 0) -> None:
        super().__init__(world, name, offset)
        self._workspaces = {one.id: one for one in world.template.workspaces}
        self._asked_at: dict[str, int] = {}
        self.shared = {name: world.template.store.workspace(name) for name in self._workspaces}

    def begin(self) -> None:
        """Have people begin their work."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.add_webhooks()
        if not self.world.is_directory:
            self.leave_assets()
        others = [*self.world.outside.begin(self), *self.world.published.people()]
        for name in self.world.workspaces:
            for person in (
                self._stranger,
                self._member,
                self._warden,
                self._namer,
                self._issuer,
                self._publisher,
                self._pruner,
            ):
                self.employ(name, person)
            for person in others:
                self.employ(name, person)
        if self.world.has_stewards:
            Stewards(self).begin()

    def employ(self, workspace: str, person: Callable[[str, random.Random], None]) -> None:
        """Have a person do something every now and then, each time by a command of its own."""
        world = self.world
        name = f"{self.name}/{person.__name__[1:]}/{workspace}"
        chance = random.Random(f"{world.chance.seed}/{name}")
        # In some workspaces people act at the same instants, so that what they do meets.
        times = random.Random(f"{world.chance.seed}/{workspace}/times")
        meets = times.random() < 0.4 if world.meets is None else world.meets
        if not meets:
            times = chance
        pace = times.choice((2, 5, 15, 40)) * SECOND
        process: Process | None = None

        def next_command() -> None:
            nonlocal process
            if world.is_over:
                return
            if (process is None or not process.is_alive) and world.chance.falls(name, "acts"):
                process = world.scheduler.process(self, name)
                process.is_command = True
                world.scheduler.spawn(process, name, partial(self._command, process, person, workspace, chance))
            world.scheduler.at(1 + round(2 * pace * times.random()), next_command)

        later = round(SECOND / 5 * chance.random()) if meets else 0
        world.scheduler.at(later + round(pace * times.random()), next_command)

    def _command(
        self, process: Process, person: Callable[[str, random.Random], None], workspace: str, chance: random.Random
    ) -> None:
        try:
            person(workspace, chance)
        except ParquetryError as error:
            self.world.tell(f"{process.name}: {error}")
        except Exception as error:
            self.world.scheduler.failure = error
        self.world.scheduler.kill(process)

    def _shared(self, workspace: str) -> WorkspaceStore:
        """Return the workspace in the bucket, as a command of this machine opens it."""
        return open_store(self.world.location, cache=self.root / "cache").workspace(workspace)

    def acting(self, workspace: str, who: str, now: int | None = None) -> tuple[Administrator, Workspace]:
        """Return somebody who changes a workspace now, or did so then, and its definitions."""
        by = self._by(workspace, who)
        return (by if now is None else replace(by, now=now)), self._workspaces[workspace]

    def _by(self, workspace: str, who: str) -> Administrator:
        return Administrator(self._shared(workspace), Author(f"{who}@office", "operator", Via.COMMAND_LINE), now_ms())

    def _changed(self, fact: Fact, value: object, change: Callable[[], Any], audit: tuple[str, str]) -> Any:
        """Make a change of a fact, and write down what is known of it."""
        world, process = self.world, self.world.scheduler.current.process  # type: ignore[union-attr]  # a command's
        ledger = world.ledger
        fact.others.add(value)
        ledger.unsure_audit[audit] += 1
        result = change()
        # What was under way before may still be carried out by the store; it has this write below it then.
        fact.value, fact.since = value, world.scheduler.now
        fact.others = {value}
        fact.bound = HINTLESS * len(world.workspaces) if process.disturbed else QUICK
        ledger.unsure_audit[audit] -= 1
        ledger.audit[audit] += 1
        world.tell(f"{process.name}: {audit[1]}")
        return result

    def _taking_away(self, change: Callable[[], Any]) -> Callable[[], Any]:
        """Return a change that only takes rights away: a full disk must not refuse it."""

        def made() -> Any:
            held = self.world.disks.size(f"{DIRECTORY}/{RESERVE}")
            try:
                return change()
            except ParquetryError as error:
                if held >= ENOUGH and "disk is full" in str(error):
                    raise Violated(f"rights cannot be taken away: {error}") from error
                raise

        return made

    def _some_key(self, workspace: str, chance: random.Random) -> KnownKey | None:
        found = [one for one in self.world.ledger.keys if one.workspace == workspace and one.deleted.others == {False}]
        return chance.choice(found) if found else None

    def _warden(self, workspace: str, chance: random.Random) -> None:
        key = self._some_key(workspace, chance)
        if key is None:
            return
        by = self._by(workspace, "warden")
        if chance.random() < 0.6:
            audit = (workspace, f"key_disabled {key.prefix}")
            self._changed(key.disabled, True, self._taking_away(lambda: key_changes.disable_key(by, key.prefix)), audit)
        else:
            audit = (workspace, f"key_enabled {key.prefix}")
            self._changed(key.disabled, False, lambda: key_changes.enable_key(by, key.prefix), audit)

    def _namer(self, workspace: str, chance: random.Random) -> None:
        key = self._some_key(workspace, chance)
        if key is None:
            return
        name = f"Name {chance.randrange(1000)}"
        by, change = self._by(workspace, "namer"), KeyChange(name=name)
        definitions = self._workspaces[workspace]
        audit = (workspace, f"key_changed {key.prefix}")
        self._changed(key.name, name, lambda: key_changes.edit_key(by, definitions, key.prefix, change), audit)

    def _issuer(self, workspace: str, chance: random.Random) -> None:
        ledger = self.world.ledger
        there = [one for one in ledger.keys if one.workspace == workspace and False in one.deleted.others]
        by = self._by(workspace, "issuer")
        if len(there) >= MOST_KEYS or (there and chance.random() < 0.25):
            key = self._some_key(workspace, chance)
            if key is not None:
                audit = (workspace, f"key_deleted {key.prefix}")
                self._changed(
                    key.deleted, True, self._taking_away(lambda: key_changes.delete_key(by, key.prefix)), audit
                )
            return
        name, unknown = f"Key {chance.randrange(10**6)}", Fact(None, 0)

        def issue() -> None:
            key, text = key_changes.issue_key(by, self._workspaces[workspace], name=name, scope=None)
            now = self.world.scheduler.now
            disturbed = self.world.scheduler.current.process.disturbed  # type: ignore[union-attr]  # a command's
            bound = HINTLESS * len(self.world.workspaces) if disturbed else QUICK
            facts = [Fact(value, now, bound, {value}) for value in (False, name, False)]
            ledger.keys.append(KnownKey(workspace, text, key.prefix, *facts))

        self._changed(unknown, name, issue, (workspace, f"key_issued {name}"))

    def _publisher(self, workspace: str, chance: random.Random) -> None:
        here, by = self.shared[workspace], self._by(workspace, "publisher")
        there = by.workspace_store
        before = there.current()
        if before is not None and before.previous and chance.random() < 0.2:
            version_changes.roll_back(by)
            return
        version = chance.choice(self.world.template.versions[workspace])
        self.world.ledger.gone.pop((workspace, version), None)
        self.world.ledger.pushed[workspace, version] = math.inf
        carry(here.objects, there.objects, workspace, version, digest=here.digests().get(version))
        self.world.ledger.pushed[workspace, version] = self.world.scheduler.now
        version_changes.activate(by, version, expected=None if before is None else before.version)

    def leave_assets(self) -> None:
        """Have assets in the store from long ago that no version names any more: those of versions to come."""
        for name, here in self.shared.items():
            for path in here.assets.iterdir():
                self.world.service.leave(f"{name}/assets/{path.name}", path.read_bytes())

    def add_webhooks(self) -> None:
        """Add a webhook for each receiver, before anything befalls anybody."""
        for host, receiver in self.world.receivers.items():
            url = f"https://{host}/"
            by = self._by(receiver.workspace, "hooker")
            options: dict[str, Any] = {"form": "standard", "token": None, "apis": None, "langs": None, "reasons": None}
            webhook_changes.add_webhook(by, url, **options, allow_loopback=False)

    def _stranger(self, _workspace: str, chance: random.Random) -> None:
        """Ask for a member's sign-in link, as anybody can who knows the address."""
        name = f"stranger {chance.randrange(10**9)}"
        SignIns(open_objects(self.world.location)).new_mailed_link(MIKA, name, now_ms())

    def _member(self, workspace: str, _chance: random.Random) -> None:
        """Ask for a link in one's own browser, and use it."""
        world, now = self.world, now_ms()
        last, self._asked_at[workspace] = self._asked_at.get(workspace), now
        browser = f"Mika's for {workspace}"
        sign_ins = SignIns(open_objects(self.world.location))
        link = sign_ins.new_mailed_link(MIKA, browser, now, is_known=True)
        if link is None:
            if world.rates.jump or (last is not None and now - last < MAIL_PAUSE_MS):
                return
            raise Violated("a member gets no link, since others ask for one")
        sign_ins.use(link, browser, now_ms())

    def _pruner(self, workspace: str, chance: random.Random) -> None:
        by, ledger, began = self._by(workspace, "pruner"), self.world.ledger, self.world.scheduler.now
        if chance.random() < 0.2:
            found = by.workspace_store.versions()
            removed, _ = version_changes.withdraw(by, chance.choice(found)) if found else ([], 0)
        else:
            removed = version_changes.prune(by, chance.choice((1, 1, 2, 4))).removed
        disturbed = self.world.scheduler.current.process.disturbed  # type: ignore[union-attr]  # a command's
        bound = HINTLESS * len(self.world.workspaces) if disturbed else QUICK
        for version in removed:
            if ledger.pushed.get((workspace, version), -math.inf) < began:  # else perhaps after it was deleted
                ledger.gone[workspace, version] = Fact(None, self.world.scheduler.now, bound)
