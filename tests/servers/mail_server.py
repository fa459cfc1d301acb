"""A real SMTP server in a process of its own: STARTTLS or TLS from the start, passwords, and mails kept as files.

``python -m tests.servers.mail_server FOLDER`` takes its settings from FOLDER and writes the port it listens on there.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from trustme import CA

ROOT = Path(__file__).resolve().parents[2]
USER, PASSWORD = "cms@acme.example", "p@ss/word:geheim"
DEADLINE = 60.0


@dataclass(frozen=True)
class MailServer:
    """A running server. What it does can be changed while it runs, by files in its folder."""

    process: subprocess.Popen[bytes]
    folder: Path
    port: int

    def url(self, scheme: str = "smtp", *, password: str = PASSWORD, **options: str) -> str:
        """What CMS_SMTP_URL has to be; its certificate's authority is trusted unless ``ca`` is empty."""
        given = {"ca": str(self.folder / "ca.pem"), **options}
        query = urlencode({name: value for name, value in given.items() if value})
        return f"{scheme}://{quote(USER, safe='')}:{quote(password, safe='')}@localhost:{self.port}?{query}"

    def refuse(self, *addresses: str) -> None:
        """Answer 550 to mails to these addresses from now on."""
        (self.folder / "refused.json").write_text(json.dumps(addresses))

    def refuse_sender(self, *addresses: str) -> None:
        """Answer 553 to mails from these addresses from now on."""
        (self.folder / "refused-senders.json").write_text(json.dumps(addresses))

    def hang_after_accepting(self, seconds: float) -> None:
        """Keep a mail, and answer only after ``seconds``."""
        (self.folder / "hang").write_text(str(seconds))

    def mails(self) -> list[EmailMessage]:
        """The mails accepted so far, in their order."""
        found = [message_from_bytes(path.read_bytes(), policy=default) for path in sorted(self.folder.glob("mail-*"))]
        assert all(isinstance(mail, EmailMessage) for mail in found)
        return found  # type: ignore[return-value]  # the policy makes them so

    def recipients(self) -> list[str]:
        """Whom the mails accepted so far were handed over for, sorted."""
        return sorted(str(mail["X-Recipient"]) for mail in self.mails())

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def mail_server(
    folder: Path,
    *,
    tls: str = "starttls",
    host: str = "localhost",
    authority: CA | None = None,
    not_after: datetime | None = None,
) -> Iterator[MailServer]:
    """Run a server with a certificate for ``host``, of an authority of its own or a given one: ``tls`` is ``starttls``,
    ``always`` or ``none``."""
    import trustme

    folder.mkdir(exist_ok=True)
    authority = authority or trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert(host, not_after=not_after).private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    (folder / "tls").write_text(tls)
    (folder / "port").unlink(missing_ok=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.mail_server", str(folder)], cwd=ROOT, stderr=log
        )
    began = time.monotonic()
    try:
        while not (folder / "port").exists():
            assert process.poll() is None
            assert time.monotonic() - began < DEADLINE
            time.sleep(0.02)
        yield MailServer(process, folder, int((folder / "port").read_text()))
    finally:
        process.kill()
        process.wait()


class Postbox:
    """What the server does with mails."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def handle_MAIL(  # noqa: N802 - the name the library calls
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        refused = self._folder / "refused-senders.json"
        if refused.exists() and address in json.loads(refused.read_text()):
            return "553 Sender address rejected"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - the name the library calls
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        refused = self._folder / "refused.json"
        if refused.exists() and address in json.loads(refused.read_text()):
            return "550 No such person here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - the name the library calls
        path = self._folder / f"mail-{time.time_ns()}"
        header = f"X-Recipient: {','.join(envelope.rcpt_tos)}\r\n".encode()
        path.with_name(f".{path.name}").write_bytes(header + envelope.content)
        path.with_name(f".{path.name}").rename(path)
        hang = self._folder / "hang"
        if hang.exists():
            await asyncio.sleep(float(hang.read_text()))
        return "250 Accepted"


async def serve(folder: Path) -> None:
    from aiosmtpd.smtp import SMTP, AuthResult

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    tls = (folder / "tls").read_text()

    def authenticate(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        good = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=good, handled=False, auth_data=data)

    def connection() -> SMTP:
        return SMTP(
            Postbox(folder),
            hostname="mail.test",
            tls_context=context if tls == "starttls" else None,
            require_starttls=tls == "starttls",
            authenticator=None if tls == "none" else authenticate,
            auth_required=tls != "none",
            auth_require_tls=tls == "starttls",
            enable_SMTPUTF8=True,
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "localhost", 0, ssl=context if tls == "always" else None)
    port = folder / ".port"
    port.write_text(str(server.sockets[0].getsockname()[1]))
    port.rename(folder / "port")
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
