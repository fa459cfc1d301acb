"""The provider of OpenID Connect: it is away, slow, tells lies, and changes its keys.

The product's own client asks it, over a transport that is simulated.
"""

from __future__ import annotations

import asyncio
import json
import random
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import OKPKey
from joserfc.jws import JWSRegistry

if TYPE_CHECKING:
    from tests.simulation.world import World

ISSUER = "https://id.example"
CLIENT, SECRET = "console", "the secret of the console"
_ALGORITHM = "Ed25519"

Claims = dict[str, Any]
_LIES: dict[str, Callable[[Claims], Claims]] = {
    "answers for another sign-in": lambda claims: {**claims, "nonce": "another"},
    "answers for another client": lambda claims: {**claims, "aud": "another"},
    "calls itself another": lambda claims: {**claims, "iss": "https://evil.example"},
    "answers with an old token": lambda claims: {**claims, "iat": claims["iat"] - 9000, "exp": claims["exp"] - 9000},
    "does not know the address": lambda claims: {**claims, "email_verified": False},
    "says nothing of the address": lambda claims: {name: one for name, one in claims.items() if name != "email"},
}
"""What it says instead of what is true; a person must not come in by any of it."""
_UNSIGNED = ("signs with a key that is not its own", "signs nothing", "sends no token", "sends nonsense")
_ANSWERS = ("is away", "is slow", "has a fault", "leads elsewhere", "answers without end")


@dataclass
class SignInThere:
    """A person who was let in by the provider and goes back with a code."""

    address: str
    asked: dict[str, str]
    """The parameters with which the browser came."""
    is_used: bool = False
    has_lied: bool = False
    """Whether the provider has said anything else of it than the truth."""
    has_failed: bool = False
    """Whether it has not answered a request about it as it should have."""


class Provider:
    """The one provider of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.chance.seed}/provider")
        bad = self._chance.choice((0.0, 0.1, 0.4))
        self._bad = 0.0 if world.rates.is_calm else world.given.get("bad_provider", bad)
        self._lies = world.given.get("lies", (*_LIES, *_UNSIGNED))
        self._bad_answers = _ANSWERS if "lies" not in world.given else ()
        self._numbers = 0
        self._keys = [self._new_key()]
        self.codes: dict[str, SignInThere] = {}
        self._under_way: SignInThere | None = None
        """The sign-in of which a code was asked last: its keys are asked for next."""

    def rotate(self) -> None:
        """Sign with a new key from now on. The one before stays published, for tokens that are on their way, and none
        before that."""
        self._keys = [self._keys[-1], self._new_key()]
        self._world.tell("provider: signs with a new key")

    def let_in(self, sign_in_address: str, address: str) -> str:
        """Let a person in whom the console has sent; return the query with which the browser goes back."""
        asked = dict(parse_qsl(urlsplit(sign_in_address).query))
        code = f"code-{len(self.codes)}"
        self.codes[code] = SignInThere(address, asked)
        return f"code={code}&state={asked['state']}"

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request, well or not."""
        await asyncio.sleep(0.2 * self._chance.random())
        path = request.url.path
        form = {name: found[0] for name, found in parse_qs(request.content.decode()).items()}
        asked = self.codes.get(form.get("code", ""))
        kind = self._falls(self._bad_answers)
        if kind is not None:
            self._note_failure(asked)
            return await self._badly(kind, request)
        if path == "/.well-known/openid-configuration":
            return _json(
                {
                    "issuer": ISSUER,
                    "authorization_endpoint": f"{ISSUER}/authorize",
                    "token_endpoint": f"{ISSUER}/token",
                    "jwks_uri": f"{ISSUER}/keys",
                    "token_endpoint_auth_methods_supported": ["client_secret_post"],
                }
            )
        if path == "/keys":
            return _json({"keys": [key.as_dict(private=False) for key in self._keys]})
        return self._token(form, asked)

    def _token(self, form: dict[str, str], asked: SignInThere | None) -> httpx2.Response:
        if asked is None or asked.is_used or not _is_right(form, asked):
            return _json({"error": "invalid_grant"}, 400)
        asked.is_used = True
        now = self._world.wall_ms() // 1000
        claims = {
            "iss": ISSUER,
            "aud": CLIENT,
            "sub": asked.address,
            "iat": now,
            "exp": now + 300,
            "nonce": asked.asked["nonce"],
            "email": asked.address,
            "email_verified": True,
        }
        lie = self._falls(self._lies)
        asked.has_lied = lie is not None
        token = self._signed(claims if lie not in _LIES else _LIES[lie](claims), lie)  # type: ignore[index]  # it is in
        body = {"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": token}
        if lie == "sends no token":
            del body["id_token"]
        return _json(body)

    def _signed(self, claims: Claims, lie: str | None) -> str:
        if lie == "sends nonsense":
            return "a.b.c"
        if lie == "signs nothing":
            parts = (json.dumps(one).encode() for one in ({"alg": "none"}, claims))
            return ".".join([*(urlsafe_b64encode(one).rstrip(b"=").decode() for one in parts), ""])
        key = self._keys[-1]
        if lie == "signs with a key that is not its own":
            key = self._new_key()
        header = {"alg": _ALGORITHM, "kid": key.kid or ""}
        return jwt.encode(header, claims, key, registry=JWSRegistry(algorithms=[_ALGORITHM]))

    async def _badly(self, kind: str, request: httpx2.Request) -> httpx2.Response:
        match kind:
            case "is away":
                raise httpx2.ConnectError("Connection refused", request=request)
            case "is slow":
                await asyncio.sleep(30)
                return _json({})
            case "has a fault":
                return httpx2.Response(500, content=b"<h1>No</h1>")
            case "leads elsewhere":
                return httpx2.Response(302, headers={"Location": "https://evil.example/"})
        return httpx2.Response(200, content=b" " * (1 << 20))

    def _falls(self, kinds: tuple[str, ...]) -> str | None:
        if not kinds:
            return None
        kind = self._chance.choice(kinds)
        if self._world.is_over or self._chance.random() >= self._bad or not self._world.chance.falls("provider", kind):
            return None
        return kind

    def _note_failure(self, asked: SignInThere | None) -> None:
        """Note of a sign-in that it may fail; where it cannot be told which, of all that are under way."""
        for one in [asked] if asked is not None else self.codes.values():
            one.has_failed = True

    def _new_key(self) -> OKPKey:
        self._numbers += 1
        raw = sha256(f"{self._world.chance.seed}/provider/{self._numbers}".encode()).digest()
        public = Ed25519PrivateKey.from_private_bytes(raw).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        parts = {"x": _text(public), "d": _text(raw), "kid": str(self._numbers)}
        return OKPKey.import_key({"kty": "OKP", "crv": _ALGORITHM, "alg": _ALGORITHM, **parts})


def transport_of(provider: Provider) -> type[httpx2.AsyncBaseTransport]:
    """Return the class of transports that reach this provider, and nobody else."""

    class Transport(httpx2.AsyncBaseTransport):
        def __init__(self, **_: Any) -> None:
            pass

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            await request.aread()
            return await provider.answer(request)

    return Transport


def _is_right(form: dict[str, str], asked: SignInThere) -> bool:
    challenge = _text(sha256(form.get("code_verifier", "").encode()).digest())
    said = (challenge, form.get("redirect_uri"), form.get("client_id"), form.get("client_secret"))
    return said == (asked.asked["code_challenge"], asked.asked["redirect_uri"], CLIENT, SECRET)


def _json(found: Any, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, json=found)


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
