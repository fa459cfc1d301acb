"""In some worlds machines answer requests for content: whatever leaves them is what was public at that instant.

It is held against a model of which entries are public when; against the same workspace without its secrets, of which
the same requests get the same bytes; and against a client that follows the feed, whose entries are those of the list.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation.below.loop import Loop
from tests.simulation.below.scheduler import SECOND
from tests.simulation.ledger import HINTLESS, QUICK, Violated
from tests.simulation.published.content import ENTRIES, IDS, NEVER, milliseconds

if TYPE_CHECKING:
    from server.views.collection import ViewCollection
    from server.workspaces.workspaces import Workspaces
    from tests.simulation.machines import ReadingMachine
    from tests.simulation.published.application import Got
    from tests.simulation.world import World

_MARK = re.compile(rb"zq[0-9]*[a-z]+qz")
_NEVER = re.compile(rb"(?<![a-z0-9])(?:" + b"|".join(one.encode() for one in sorted(NEVER)) + rb")(?![a-z0-9])")
_OF_REQUESTS = (b"x-snapshot", b"x-request-id", b"ratelimit", b"ratelimit-policy")
"""Headers that tell of the request or of the version, and not of the content."""
_CHECKED = 0.2
"""The part of a worker's visits at which it is asked."""


@dataclass
class Client:
    """A client that has a list, and follows the feed from then on."""

    since: str | None = None
    titles: dict[str, str] = field(default_factory=dict)


@dataclass
class Secret:
    """The secret of a workspace's draft keys, as it was exchanged last."""

    current: bytes | None = None
    """``None`` while that is not known."""
    since: int = 0
    bound: int = 0
    old: list[bytes] = field(default_factory=list)


class Published:
    """What machines answer, in a world where ``is_there``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.chance.seed}/published")
        drawn = self._chance.random()
        self.is_there = world.given.get("answers", "only" not in world.given and drawn < 0.2)
        self.readers: Any = None
        if self.is_there:  # imported before anything is simulated
            from tests.simulation.published.application import Served, WithoutSecrets

            self.readers = world.template.readers()
            self.kinds = Served, WithoutSecrets
        self._asking: dict[str, Asking] = {}
        """By machine, what its worker is asked by."""
        self.secrets = {name: Secret() for name in world.workspaces}

    def people(self) -> list[Any]:
        """Return what people do with it."""
        return [self._exchanger] if self.is_there else []

    def _exchanger(self, workspace: str, _chance: random.Random) -> None:
        """Exchange the secret of draft keys."""
        from engine.access.keys.access import AccessFile
        from engine.administration import keys as key_changes

        world, secret = self._world, self.secrets[workspace]
        by, _ = world.office.acting(workspace, "exchanger")
        if secret.current is not None:
            secret.old.append(secret.current)
        secret.current = None
        key_changes.exchange_draft_secret(by)
        process = world.scheduler.current.process  # type: ignore[union-attr]  # a command's
        secret.since = world.scheduler.now
        secret.bound = HINTLESS * len(world.workspaces) if process.disturbed else QUICK
        access = AccessFile(by.workspace_store).read()
        secret.current = None if access is None else access.draft_secret
        world.tell(f"{process.name}: exchanged the secret of draft keys of {workspace}")

    def begin(self, machine: ReadingMachine, workspaces: Workspaces, views: ViewCollection) -> None:
        """Let a worker that has begun answer."""
        if self.is_there:
            self._asking[machine.name] = Asking(self._world, machine, workspaces, views, self.readers)

    def check(self, machine: ReadingMachine, workspace: str) -> None:
        """Ask a machine now and then, as an actor of its worker. Raises ``Violated``."""
        if not self.is_there or self._chance.random() > _CHECKED:
            return
        assert machine.workspaces is not None
        good = [
            key.text
            for key in self._world.ledger.keys
            if key.workspace == workspace and key.disabled.others == key.deleted.others == {False}
        ]
        if good and machine.workspaces.served(workspace) is not None:
            self._asking[machine.name].check(workspace, self._chance.choice(good), self._chance)


class Asking:
    """One worker, asked."""

    def __init__(
        self, world: World, machine: ReadingMachine, workspaces: Workspaces, views: ViewCollection, readers: Any
    ) -> None:
        served, without_secrets = world.published.kinds
        self._world, self._machine, self._readers = world, machine, readers
        self._at = 0
        """The instant of all requests of a check, by the machine's clock: UTC milliseconds."""
        loop, store = Loop(), machine.settings.open_store()
        self._real = served(store, workspaces, views, loop, lambda: self._at)
        without: Any = without_secrets(workspaces, readers.without_secrets)
        self._without = served(store, without, views, loop, lambda: self._at)
        self._clients = {name: Client() for name in world.workspaces}
        self._points: list[tuple[str, str]] = []
        """Workspaces, and points of earlier answers."""

    def check(self, workspace: str, key: str, chance: random.Random) -> None:
        """Ask for several things at one instant."""
        self._at = self._machine.wall_ns() // 1_000_000
        self._hold_list(workspace, key)
        self._follow_feed(workspace, key)
        for path, query in chance.sample(_REQUESTS, 3):
            self._hold_same(workspace, path, query, key)
        self._hold_pinned(workspace, key, chance)
        self._hold_draft_key(workspace, key, chance)

    def _get(self, workspace: str, path: str, query: str, **headers: str) -> Got | None:
        """Return a good answer, in which nothing is that was not public."""
        got = self._real.get(f"/v1/{workspace}/{path}", query, **headers)
        if got.status not in (200, 304, 400, 401, 403, 404, 410, 429, 503):
            raise Violated(f"{self._machine.name} answers {path}?{query} with {got.status}")
        at = self._at
        if "x_snapshot" in headers and got.status == 200:
            at = milliseconds(headers["x_snapshot"].partition("@")[2])
        self._hold_public(workspace, path, query, got, at)
        return got if got.status == 200 else None

    def _hold_public(self, workspace: str, path: str, query: str, got: Got, at: int) -> None:
        sent = f"{path} {query}".encode()
        left = b"\n".join((*(b"%b: %b" % one for one in got.headers.items()), got.body))
        marks = set(_MARK.findall(left)) - set(_MARK.findall(sent))
        if marks:
            versions = self._world.template.versions[workspace]
            number = versions.index(got.version) if got.version in versions else -1
            public = {one.mark(number).encode() for one in ENTRIES if one.is_public(at)}
            if marks - public:
                found = sorted(mark.decode() for mark in marks - public)
                raise Violated(f"{self._machine.name} tells of {found} to who asks {workspace} for {path}?{query}")
        never = set(_NEVER.findall(left)) - set(_NEVER.findall(sent))
        if never and not path.startswith("_"):  # whose words are not the content's
            raise Violated(f"{self._machine.name} tells of {sorted(never)} to who asks {workspace} for {path}?{query}")

    def _hold_list(self, workspace: str, key: str) -> None:
        got = self._get(workspace, "news", "limit=100", x_api_key=key)
        if got is None:
            return
        found = {one["id"] for one in json.loads(got.body)["contents"]}
        public = {one.id for one in ENTRIES if one.is_public(self._at) and one.lang == "en"}
        if found != public:
            raise Violated(f"{self._machine.name} lists {sorted(found)} of {workspace}; public are {sorted(public)}")
        self._points.append((workspace, got.point))
        again = self._get(workspace, "news", "limit=100", x_api_key=key, if_none_match=got.headers[b"etag"].decode())
        if again is not None and again.body == got.body:
            raise Violated(f"{self._machine.name} sends a list again to who has it")

    def _follow_feed(self, workspace: str, key: str) -> None:
        client = self._clients[workspace]
        changed: dict[str, str] = {}
        since, is_whole = client.since, False
        while not is_whole:
            got = self._get(workspace, "_changes", "" if since is None else f"since={since}&limit=2", x_api_key=key)
            if got is None:
                self._clients[workspace] = Client()
                return
            told = json.loads(got.body)
            changed |= {one["id"]: one["change"] for one in told["changes"] if one["lang"] == "en"}
            since, is_whole = told["next"], "~" not in told["next"]
        listed = self._get(workspace, "news", "limit=100&fields=id,title", x_api_key=key)
        if listed is None or since != listed.point:
            return  # another version is served by now, which the next look tells of
        titles = {one["id"]: one["title"] for one in json.loads(listed.body)["contents"]}
        if client.since is not None:
            held = {name: title for name, title in client.titles.items() if name not in changed}
            held |= {name: titles.get(name, "") for name, change in changed.items() if change != "unpublished"}
            if held != titles:
                raise Violated(
                    f"{self._machine.name}: a client that follows the feed of {workspace} has {held}, and the list "
                    f"is {titles}: it was told {changed}"
                )
        self._clients[workspace] = Client(since, titles)

    def _hold_same(self, workspace: str, path: str, query: str, key: str) -> None:
        """Hold that an answer is the same to the byte where there are no secrets."""
        real = self._real.get(f"/v1/{workspace}/{path}", query, x_api_key=key)
        self._hold_public(workspace, path, query, real, self._at)
        without = self._without.get(f"/v1/{workspace}/{path}", query, x_api_key=key)
        if 429 in (real.status, without.status) or real.version not in self._readers.without_secrets:
            return
        other = self._readers.without_secrets[real.version].version
        if without.version != other:
            return  # another version was served meanwhile
        names = other.encode(), real.version.encode()
        pairs = [(real.body, without.body.replace(*names)), (real.status, without.status)]
        tells_version = names[0] in without.body
        for name in sorted({*real.headers, *without.headers}):
            if name in _OF_REQUESTS or (name == b"etag" and tells_version):
                continue
            pairs.append((real.headers.get(name), without.headers.get(name)))  # type: ignore[arg-type]
        for one, another in pairs:
            if one != another:
                raise Violated(
                    f"{self._machine.name} answers {path}?{query} of {workspace} with {one!r}, and without what is not "
                    f"public with {another!r}"
                )

    def _hold_pinned(self, workspace: str, key: str, chance: random.Random) -> None:
        points = [point for name, point in self._points if name == workspace]
        del self._points[:-40]
        if not points:
            return
        point = chance.choice(points)
        got = self._get(workspace, "news", "limit=100", x_api_key=key, x_snapshot=point)
        at = milliseconds(point.partition("@")[2])
        if got is None:
            return
        found = {one["id"] for one in json.loads(got.body)["contents"]}
        public = {one.id for one in ENTRIES if one.is_public(at) and one.lang == "en"}
        if found != public or self._at - at > 3_601_000:
            raise Violated(f"{self._machine.name} lists {sorted(found)} as of {point}; public were {sorted(public)}")

    def _hold_draft_key(self, workspace: str, key: str, chance: random.Random) -> None:
        """Hold that a draft key opens nothing once the secret that it was made with was exchanged."""
        from engine.access.drafts.keys import derived_draft_key

        world, machine, secret = self._world, self._machine, self._world.published.secrets[workspace]
        if not secret.old:
            return
        old = chance.choice(secret.old)
        draft_key = derived_draft_key(old, workspace, f"api_{workspace}00000000", "hidden", "en")
        got = self._real.get(f"/v1/{workspace}/news/hidden", f"draftKey={draft_key}", x_api_key=key)
        if got.status != 200 or secret.current in (None, old):
            return
        late = (
            world.scheduler.now - secret.since > secret.bound and world.scheduler.now - machine.failed_at > 3 * SECOND
        )
        if late and not world._is_new(machine):
            told = machine.told()
            if not world._excuses(machine, told, workspace, ("keys", "workspace")):
                raise Violated(
                    f"{machine.name} shows a draft of {workspace} to who has a key of before: {sorted(told)}"
                )


_REQUESTS = (
    ("news", ""),
    ("news", "lang=ja"),
    ("news", "limit=2&offset=1"),
    ("news", "orders=-createdAt&fields=id,title"),
    ("news", "q=zq"),
    ("news", "q=hidden"),
    ("news", "q=draft"),
    ("news", "filters=title[contains]hidden"),
    ("news", f"ids={','.join(IDS)}"),
    *((f"news/{one}", "") for one in IDS),
    ("news/one", "lang=ja"),
    ("news/two", "lang=ja"),
    ("news/hidden", "draftKey=guessed"),
    ("_schema", ""),
    ("_openapi", ""),
    ("_types/typescript", ""),
    ("_views/news", f"ids={','.join(IDS)}&days=3"),
)
