"""The mail server: it takes letters, refuses them, hangs, is away, and does not always say that it took one.

The product's own client speaks to it, over a socket that is simulated.
"""

from __future__ import annotations

import random
import re
from collections import deque
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default
from typing import TYPE_CHECKING, Any

from tests.simulation.below.scheduler import SECOND, Process
from tests.simulation.ledger import Violated

if TYPE_CHECKING:
    from tests.simulation.world import World

URL = "smtp://mail.example?tls=none&from=cms@acme.example&timeout=20"
_ANSWER = SECOND // 20
_AT_RECIPIENT = {"refuses": b"550 No such person here", "is busy": b"451 Try again later"}
_AT_LETTER = {
    "refuses the letter": (False, b"554 No spam"),
    "loses the letter": (False, None),
    "hangs": (False, b""),
    "takes it and is gone": (True, None),
    "takes it and hangs": (True, b""),
}
"""What happens when a letter was sent: whether it is taken, and the answer; none at all for ``None``, and nothing for
a long time for an empty one."""


@dataclass
class Letter:
    """A letter that was taken."""

    at: int
    to: str
    id: str
    """Its Message-ID."""
    subject: str
    text: str
    process: Process
    """The one that sent it."""
    is_excused: bool
    """Whether it may come again: its sender was not told that it was taken, or could not note that."""


class MailServer:
    """The one mail server of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.chance.seed}/mail")
        bad = self._chance.choice((0.0, 0.1, 0.4))
        self._bad = 0.0 if world.rates.is_calm else world.given.get("bad_mail", bad)
        self.is_away = False
        self.away_since = 0
        self.letters: list[Letter] = []
        self.turned_away: dict[str, tuple[int, int, Process]] = {}
        """By machine, when it last could not use the server, how long all had been asleep then, and the process."""

    def connect(self, timeout: float) -> Connection:
        """Take a connection. Raises ``OSError``."""
        world = self._world
        world.scheduler.pause(_ANSWER)
        if self.is_away:
            self.turn_away()
            raise ConnectionRefusedError(111, "Connection refused")
        return Connection(self, timeout)

    def turn_away(self) -> None:
        """Note that a machine cannot use the server."""
        actor = self._world.scheduler.current
        assert actor is not None
        scheduler = self._world.scheduler
        self.turned_away[actor.process.machine.name] = scheduler.now, scheduler.asleep, actor.process

    def falls(self, *kinds: str) -> str | None:
        """Return what goes wrong now, of these; ``None`` for nothing."""
        kind = self._chance.choice(kinds)
        if self._world.is_over or self._chance.random() >= self._bad or not self._world.chance.falls("mail", kind):
            return None
        return kind

    def pause(self, microseconds: int) -> None:
        """Let time go by in a conversation."""
        self._world.scheduler.pause(microseconds)

    def take(self, to: str, data: bytes, *, is_told: bool) -> None:
        """Keep a letter. Raises ``Violated`` for one that came before, and has no reason to come again."""
        world = self._world
        message: Any = message_from_bytes(data, policy=default)
        text = message.get_body(("plain",)).get_content()
        actor = world.scheduler.current
        assert actor is not None
        process = actor.process
        letter = Letter(
            world.scheduler.now, to, str(message["Message-ID"]), str(message["Subject"]), text, process, not is_told
        )
        self._note_excuses(process)
        world.tell(f"mail: a letter to {to}: {letter.subject}")
        if not any(to in members for found in world.template.members.values() for members in found.values()):
            raise Violated(f"a letter goes to {to}, who is no member of anything")
        for before in self.letters:
            is_excused = before.is_excused or before.process.disturbed or not before.process.is_alive
            if (before.to, before.id) == (to, letter.id) and not is_excused:
                raise Violated(f"the letter “{letter.subject}” is sent to {to} twice, although nothing was lost")
        self.letters.append(letter)

    def _note_excuses(self, process: Process) -> None:
        """Excuse letters whose sender met with an accident since it was told."""
        if process.disturbed:
            for one in self.letters:
                one.is_excused = one.is_excused or one.process is process
            process.disturbed = False


class Connection:
    """A connection with the server, in the place of a socket and of its file."""

    def __init__(self, server: MailServer, timeout: float) -> None:
        self._server = server
        self._timeout = timeout
        self._replies: deque[bytes] = deque([b"220 mail.example"])
        self._is_open = True
        self._recipient = ""
        self._letter: bytes | None = None
        self._hangs = False

    def makefile(self, _mode: str) -> Connection:
        """Return what replies are read from."""
        return self

    def readline(self, _most: int) -> bytes:
        """Return a reply. Raises ``TimeoutError``."""
        self._server.pause(_ANSWER)
        if self._hangs:
            self._server.pause(round(self._timeout * SECOND))
            raise TimeoutError("timed out")
        return self._replies.popleft() + b"\r\n" if self._replies else b""

    def sendall(self, data: bytes) -> None:
        """Hear a command, or a letter. Raises ``OSError``."""
        if not self._is_open:
            raise BrokenPipeError(32, "Broken pipe")
        if self._letter is None:
            self._command(data.decode("ascii").strip())
            return
        self._letter += data
        if self._letter.endswith(b"\r\n.\r\n"):
            letter, self._letter = self._letter[:-3], None
            self._take(letter)

    def close(self) -> None:
        """Hear no more."""
        self._is_open = False

    def _command(self, line: str) -> None:
        verb = line.partition(" ")[0].lower()
        reply = b"250 OK"
        if verb == "ehlo":
            reply = b"250 mail.example"
        elif verb == "rcpt":
            found = re.search(r"<([^>]*)>", line)
            self._recipient = "" if found is None else found[1]
            kind = self._server.falls(*_AT_RECIPIENT)
            reply = reply if kind is None else _AT_RECIPIENT[kind]
        elif verb == "data":
            self._letter, reply = b"", b"354 Go on"
        elif verb == "quit":
            reply = b"221 Bye"
        self._replies.append(reply)

    def _take(self, letter: bytes) -> None:
        kind = self._server.falls(*_AT_LETTER)
        is_taken, reply = (True, b"250 Taken") if kind is None else _AT_LETTER[kind]
        if is_taken:
            self._server.take(self._recipient, letter, is_told=bool(reply))
        if reply:
            self._replies.append(reply)
        else:
            self._is_open, self._hangs = False, reply is not None
