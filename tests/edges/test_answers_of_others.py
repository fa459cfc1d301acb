"""Whatever a receiver, a mail server, a provider, a proxy or a store answers is an outcome, and no other error.

Random answers, and those in the files of ``corpus/<reader>/``: one that was once not an outcome is put there, under a
name that says what it is.
"""

from __future__ import annotations

import asyncio
import json
import smtplib
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.access.expiry import ledger
from engine.access.keys.access import ACCESS_CODEC
from engine.access.keys.last_use import decode_uses
from engine.access.sign_in import known_browsers, sign_ins
from engine.access.sign_in.oidc.address import verified_address
from engine.access.sign_in.oidc.configuration import ProviderConfiguration
from engine.access.sign_in.oidc.failures import SignInFailed
from engine.access.sign_in.oidc.id_token import checked_claims
from engine.administration.heartbeats import decode_process, decode_reader
from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer, MailRefused, MailServerError
from engine.read.materialise.part_lists import decode_list
from engine.views.collecting.addresses import TrustedProxies
from engine.views.collecting.spool import views_in
from engine.views.counting.count_rows import CountsDamaged
from engine.views.gathering.pulled_counts import opened
from engine.views.gathering.row_files import views_in_rows
from engine.webhooks import webhooks_file
from engine.webhooks.post import PostResult, read_answer
from engine.webhooks.schedule import PAUSES, next_try
from snapshots.store import changes, leases
from snapshots.store.assets import use
from snapshots.store.buckets.errors import cause
from snapshots.store.current import CURRENT_CODEC
from snapshots.store.document import DamagedDocument
from snapshots.store.holds import holds
from snapshots.store.manifest import ManifestError, decode_manifest
from snapshots.store.objects import ObjectContent
from tests.generated.budget import RANDOM, TIMES

CORPUS: Final = Path(__file__).parent / "corpus"
EXAMPLES: Final = settings(RANDOM, max_examples=40 * TIMES)
NOW: Final = 1_800_000_000_000
CONFIGURATION: Final = ProviderConfiguration("https://id.example", "client", "secret", "Example")

DOCUMENTS: Final[dict[str, Any]] = {
    "access": ACCESS_CODEC,
    "asset-use": use._CODEC,
    "browsers": known_browsers._CODEC,
    "changes": changes._CODEC,
    "current": CURRENT_CODEC,
    "holds": holds._CODEC,
    "ledger": ledger._CODEC,
    "sign-ins": sign_ins._CODEC,
    "webhooks": webhooks_file._CODEC,
}


def receiver(data: bytes) -> None:
    """A receiver's answer, in pieces of all sizes, is a result that says when to try again."""
    parts = [data[:7], data[7:40], data[40:], b""]

    async def read(_most: int) -> bytes:
        return next((parts.pop(0) for _ in list(parts) if parts[0] or len(parts) == 1), b"")

    result = asyncio.run(read_answer(read, NOW))
    assert isinstance(result, PostResult)
    assert result.accepted == (result.status is not None and 200 <= result.status < 300)
    for failures in (1, len(PAUSES)):
        at = next_try(failures, NOW, result.retry_after, 1.0)
        assert at is not None
        assert NOW < at <= NOW + 30 * 3_600_000


def mail_server(data: bytes) -> None:
    """A mail server that says what it says, whatever it is asked, takes the letter or does not."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        drain = threading.Thread(target=_drained, args=(theirs,))
        drain.start()
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "cms@acme.example", "mika@acme.example", "Hello"
        message.set_content("Hello.")
        server = parse_mail_server("smtp://127.0.0.1:25?tls=none&from=cms@acme.example")
        with (
            patch.object(smtplib.SMTP, "_get_socket", lambda *_: ours),
            suppress(MailServerError, MailRefused),
            Mailer(server) as mailer,
        ):
            mailer.send(message)
        ours.close()
        drain.join()


def _drained(end: socket.socket) -> None:
    with suppress(OSError):
        while end.recv(1 << 16):
            pass


def provider(data: bytes) -> None:
    """What a provider sends as keys, token and claims lets nobody in, and says why."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = data.decode("latin-1")
    with suppress(SignInFailed):
        checked_claims(found if isinstance(found, str) else "a.b.c", found, CONFIGURATION, "nonce", NOW)
    if isinstance(found, dict):
        with suppress(SignInFailed):
            verified_address(found, CONFIGURATION.verified_claim)


def proxy(data: bytes) -> None:
    """Whatever stands in X-Forwarded-For, a sender has bytes that stand for it."""
    text = data.decode("latin-1")
    proxies = TrustedProxies(["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"])
    for peer in ("127.0.0.1", "10.9.9.9", "2001:db8::1", None, text):
        assert isinstance(proxies.visitor(peer, text), bytes)


def documents(data: bytes) -> None:
    """A document of a store is read, or is damaged."""
    for codec in DOCUMENTS.values():
        with suppress(DamagedDocument):
            codec.decode(data, "there")
    with suppress(ManifestError):
        decode_manifest(data, "there")
    decode_reader(data)
    decode_process(data)
    decode_uses(data)
    leases._decode(data)
    decode_list(ObjectContent(data, "tag"))
    views_in(data)


def parquet(data: bytes) -> None:
    """A file of counts or rows of a store is read, or is damaged."""
    with suppress(CountsDamaged):
        opened(data, "there")
    with suppress(OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        views_in_rows(data)


def store_error(data: bytes) -> None:
    """What a store says of a failure is said in one line, without what may be a secret."""
    said = cause(data.decode("utf-8", "replace"))
    assert len(said) <= 300


READERS: Final[dict[str, Callable[[bytes], None]]] = {
    "receiver": receiver,
    "mail-server": mail_server,
    "provider": provider,
    "proxy": proxy,
    "documents": documents,
    "parquet": parquet,
    "store-error": store_error,
}

_line = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK", b"HTTP/1.1 101 Switching Protocols", b"HTTP/1.0 999 ", b"HTTP/1.1 103 Early Hints"),
        *(b"HTTP/1.1 503 Later", b"Retry-After: 99999999999999999999999", b"Retry-After: Fri, 31 Dec 99999 23:59:59"),
        *(b"Retry-After: Thu, 01 Jan 1970 00:00:00 -9999", b"Upgrade: h2c", b"Connection: upgrade", b""),
        *(b"Content-Length: -1", b"Transfer-Encoding: chunked", b"Retry-After: \xff", b"Retry-After: 1e9"),
        *(b"220 mail", b"250-mail", b"250 SIZE 10", b"250-SIZE x", b"250 SMTPUTF8", b"354 go on", b"550 no \xff\xfe"),
        *(b"421 bye", b"999 what", b"25", b"250-AUTH=", b"250 ok"),
        *(b"127.0.0.1, 10.0.0.1", b"fe80::1%eth0", b"::ffff:10.0.0.1", b",,,", b"[::1]:80"),
    ]
)
_lines = st.lists(st.one_of(_line, st.binary(max_size=40)), max_size=12).map(b"\r\n".join)
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(
                st.sampled_from(
                    [
                        *("format", "version", "previous", "keys", "writes", "endpoints", "links", "sessions", "kty"),
                        *("activated_at", "email", "email_verified", "leases", "n", "e", "crv", "x", "y", "alg", "kid"),
                        *("workspaces", "write", "holder", "until", "manifests", "terms", "draftSecret", "holds"),
                    ]
                ),
                st.text(max_size=6),
            ),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=20,
).map(lambda value: json.dumps(value).encode())
_answers = st.one_of(_lines, _json, st.binary(max_size=400))


@pytest.mark.parametrize("reader", [name for name in READERS if name != "parquet"])
def test_any_answer_is_an_outcome(reader: str) -> None:
    @EXAMPLES
    @given(_answers)
    def hold(data: bytes) -> None:
        READERS[reader](data)

    hold()


def test_a_damaged_parquet_file_is_an_outcome(tmp_path: Path) -> None:
    """Any byte of a file that was whole is another one, or the end comes early."""
    from engine.views.collecting.spool import View
    from engine.views.collecting.targets import Kind
    from engine.views.gathering.row_files import row_files

    whole = next(iter(row_files([View(NOW, Kind.PATH, f"/p{n}", "acme.example") for n in range(50)]).values()))

    @EXAMPLES
    @given(st.integers(0, len(whole) - 1), st.integers(1, 255), st.booleans())
    def hold(place: int, flip: int, ends: bool) -> None:
        parquet(whole[:place] + (b"" if ends else bytes([whole[place] ^ flip]) + whole[place + 1 :]))

    hold()


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_answers_of_the_corpus_are_outcomes(path: Path) -> None:
    READERS[path.parent.name](path.read_bytes())
