"""A provider of OpenID Connect that a test tells what to get wrong. Nobody signs in: a test makes the codes itself."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import trustme
from joserfc import jwt
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

CLIENT, SECRET = "console", "a-secret-of-43-characters-that-nobody-can-guess"


@cache
def key(name: str = "the provider's") -> RSAKey:
    """A key to sign with, of that name. It takes a tenth of a second, which no process without these tests pays."""
    return RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})


@dataclass
class Reply:
    """What the provider answers with."""

    body: Any
    """Sent as JSON unless it is bytes."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    chunk_pause: float = 0.0
    """Seconds after each byte of the body."""


class HostileProvider:
    """A running provider; every attribute may be exchanged."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.stopping = threading.Event()
        self.behave()

    def behave(self) -> None:
        """Get everything right, as at first."""
        self.address = "olga@acme.example"
        self.key = key()
        self.claims: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        """What becomes of the claims before they are signed."""
        self.signed: Callable[[dict[str, Any]], str] = self.sign
        self.replies: dict[str, Callable[[], Reply]] = {}
        """Path → what is answered there instead of what is right."""
        self.keys: Any = {"keys": [key().as_dict(private=False)]}
        self.metadata: dict[str, Any] = {}
        """What of the configuration is otherwise; ``None`` leaves a member out."""
        self.asked: list[tuple[str, dict[str, str]]] = []
        """(path, fields of the form) of every request."""
        self.headers: list[dict[str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.forgets_codes = True
        """Whether a code is good for once."""

    def code_for(self, sign_in_address: str, code: str = "a code") -> str:
        """Let somebody in whom the console sent to an address: the query with which the browser goes back."""
        self.codes[code] = dict(parse_qsl(urlsplit(sign_in_address).query))
        return f"code={code.replace(' ', '+')}&state={self.codes[code]['state']}"

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        registry = JWSRegistry(algorithms=["RS256"], strict_check_header=False)
        return jwt.encode({"alg": "RS256", "kid": "one", **header}, claims, self.key, registry=registry)

    def reply(self, path: str, form: dict[str, str], headers: dict[str, str]) -> Reply:
        self.asked.append((path, form))
        self.headers.append(headers)
        if path in self.replies:
            return self.replies[path]()
        if path == "/.well-known/openid-configuration":
            found = {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
                **self.metadata,
            }
            return Reply({name: value for name, value in found.items() if value is not None})
        if path == "/keys":
            return Reply(self.keys)
        if path == "/token":
            return self._token(form)
        return Reply({"error": "not found"}, 404)

    def _token(self, form: dict[str, str]) -> Reply:
        asked = self.codes.pop(form.get("code", ""), None) if self.forgets_codes else self.codes.get(form["code"])
        if asked is None:
            return Reply({"error": "invalid_grant"}, 400)
        digest = base64.urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        right = (asked["code_challenge"], "S256", asked["redirect_uri"], CLIENT, SECRET, "authorization_code")
        sent = (digest, asked["code_challenge_method"], *(form.get(name) for name in ("redirect_uri", "client_id")))
        if (*sent, form.get("client_secret"), form.get("grant_type")) != right:
            return Reply({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "1",
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "email": self.address,
            "email_verified": True,
        }
        token = self.signed(self.claims(claims))
        return Reply({"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": token})


@contextmanager
def hostile_provider(ca: Path | None = None) -> Iterator[HostileProvider]:
    """Run a provider on the loopback interface; with ``ca``, over TLS by an authority that is written there."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            form = {name: value[0] for name, value in parse_qs(self.rfile.read(length).decode()).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = running.reply(urlsplit(self.path).path, form, headers)
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if not reply.chunk_pause:
                self.wfile.write(body)
                return
            for byte in body:
                if running.stopping.wait(reply.chunk_pause):
                    break
                self.wfile.write(bytes([byte]))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the library gives
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that breaks off

    server = Server(("127.0.0.1", 0), Handler)
    if ca is not None:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(ca)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    start = "http://127.0.0.1" if ca is None else "https://localhost"
    running = HostileProvider(f"{start}:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def unsigned(claims: dict[str, Any]) -> str:
    """A token that nobody signed (``alg`` none)."""
    parts = (json.dumps(one).encode() for one in ({"alg": "none", "typ": "JWT"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), ""])
