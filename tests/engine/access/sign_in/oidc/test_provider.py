"""A provider that gets one thing wrong, or is somebody else's: nobody's address comes of it."""

from __future__ import annotations

import asyncio
import base64
import hmac
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from engine.access.sign_in.oidc.attempt import SignInAttempt, new_attempt
from engine.access.sign_in.oidc.bounded_requests import LARGEST_ANSWER
from engine.access.sign_in.oidc.configuration import ProviderConfiguration
from engine.access.sign_in.oidc.failures import (
    AddressUnverified,
    AnswerRefused,
    ClocksDiffer,
    ProviderUnreachable,
    SignInDenied,
    SignInFailed,
)
from engine.access.sign_in.oidc.provider import CameBack, Provider
from snapshots.times import now_ms
from tests.servers.openid_connect.hostile_provider import (
    CLIENT,
    SECRET,
    HostileProvider,
    Reply,
    hostile_provider,
    key,
    unsigned,
)

TRUST = ssl.create_default_context()
REDIRECT = "https://acme.example/console/-/provider/callback"
Change = Callable[[HostileProvider], object]


@pytest.fixture
def hostile() -> Iterator[HostileProvider]:
    with hostile_provider() as running:
        yield running


def provider(hostile: HostileProvider, *, seconds: float = 10.0, **settings: str) -> Provider:
    given = {"issuer": hostile.issuer, "client_id": CLIENT, "client_secret": SECRET, "name": "Evil", **settings}
    return Provider(ProviderConfiguration(**given), REDIRECT, TRUST, seconds=seconds)


def sign_in(
    hostile: HostileProvider, asked: Provider | None = None, *, issuer: str | None = None, now: int | None = None
) -> str:
    """Go there and back: the address of who signed in."""
    asked, attempt = asked or provider(hostile), new_attempt(now_ms())

    async def there_and_back() -> str:
        address = await asked.sign_in_address(attempt, now_ms())
        hostile.code_for(address)
        return await asked.verified_address(attempt, CameBack("a code", issuer), now or now_ms())

    return asyncio.run(there_and_back())


def test_the_way_there(hostile: HostileProvider) -> None:
    attempt = new_attempt(1_800_000_000_000)
    address = asyncio.run(provider(hostile).sign_in_address(attempt, now_ms()))
    found = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
    challenge = found.pop("code_challenge")
    assert address.startswith(f"{hostile.issuer}/authorize?")
    assert found == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": REDIRECT,
        "scope": "openid email",
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge_method": "S256",
    }
    assert len({challenge, attempt.state, attempt.nonce, attempt.verifier, attempt.text}) == 5
    assert {attempt.verifier, attempt.text}.isdisjoint(found.values())
    assert 43 <= len(attempt.verifier) <= 128


def test_an_honest_provider(hostile: HostileProvider) -> None:
    asked = provider(hostile)
    assert sign_in(hostile, asked) == "olga@acme.example"
    assert sign_in(hostile, asked) == "olga@acme.example"
    paths = [path for path, _ in hostile.asked]
    # The addresses are kept for some minutes, the keys never.
    assert paths == ["/.well-known/openid-configuration", "/token", "/keys", "/token", "/keys"]
    assert all(one["accept-encoding"] == "identity" for one in hostile.headers)


def test_over_tls_it_has_to_be_the_provider(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    with hostile_provider(ca) as hostile:
        with pytest.raises(ProviderUnreachable, match="certificate verify failed"):
            sign_in(hostile)
        assert hostile.asked == []
        configuration = ProviderConfiguration(hostile.issuer, CLIENT, SECRET, "Evil")
        asked = Provider(configuration, REDIRECT, ssl.create_default_context(cafile=str(ca)))
        assert sign_in(hostile, asked) == "olga@acme.example"
        # Where the provider is at an https address, nothing goes unencrypted, not even to this machine.
        hostile.metadata["jwks_uri"] = "http://127.0.0.1:9/keys"
        with pytest.raises(AnswerRefused, match="without encryption"):
            sign_in(hostile, Provider(configuration, REDIRECT, ssl.create_default_context(cafile=str(ca))))


def test_keys_may_change_at_any_time(hostile: HostileProvider) -> None:
    asked = provider(hostile)
    sign_in(hostile, asked)
    hostile.key, hostile.keys = key("another"), {"keys": [key("another").as_dict(private=False)]}
    assert sign_in(hostile, asked) == "olga@acme.example"


def claims(**others: object) -> Change:
    """A change of what the ID token says; ``None`` leaves a claim out."""

    def change(found: dict[str, Any]) -> dict[str, Any]:
        values = {name: value(found) if callable(value) else value for name, value in others.items()}
        return {name: value for name, value in {**found, **values}.items() if value is not None}

    return lambda hostile: setattr(hostile, "claims", change)


def signed(by: Callable[[dict[str, Any]], str]) -> Change:
    return lambda hostile: setattr(hostile, "signed", by)


def by_secret(secret: Callable[[], bytes]) -> Change:
    """A signature by what both sides know: the client's secret, or the public key taken for a secret."""

    def token(found: dict[str, Any]) -> str:
        start = ".".join([_part(b'{"alg":"HS256","kid":"one"}'), unsigned(found).split(".")[1]])
        return f"{start}.{_part(hmac.digest(secret(), start.encode(), 'sha256'))}"

    return signed(token)


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def with_keys(keys: object) -> Change:
    """``keys`` may be a function of the provider's own key."""
    return lambda hostile: setattr(hostile, "keys", keys(_public()) if callable(keys) else keys)


def _public() -> dict[str, Any]:
    return key().as_dict(private=False)


def both(*changes: Change) -> Change:
    return lambda hostile: [change(hostile) for change in changes]


def without_user_info(hostile: HostileProvider) -> None:
    hostile.metadata["userinfo_endpoint"] = None


def _critical(found: dict[str, Any]) -> str:
    """A token with a member of its header that has to be understood."""
    start = ".".join([_part(b'{"alg":"RS256","kid":"one","crit":["evil"],"evil":1}'), unsigned(found).split(".")[1]])
    signature = key().private_key.sign(start.encode(), PKCS1v15(), SHA256())
    return f"{start}.{_part(signature)}"


def _changed(hostile: HostileProvider, found: dict[str, Any]) -> str:
    """A token of one address with the signature of another."""
    header, _, signature = hostile.sign({**found, "email": "eve@evil.example"}).split(".")
    return ".".join([header, hostile.sign(found).split(".")[1], signature])


TOKENS: list[tuple[str, Change, type[SignInFailed]]] = [
    ("a nonce of another sign-in", claims(nonce="another"), AnswerRefused),
    ("an empty nonce", claims(nonce=""), AnswerRefused),
    ("no nonce", claims(nonce=None), AnswerRefused),
    ("a nonce in a list", claims(nonce=lambda found: [found["nonce"]]), AnswerRefused),
    ("for another client", claims(aud="another"), AnswerRefused),
    ("for nobody", claims(aud=None), AnswerRefused),
    ("for an empty list", claims(aud=[]), AnswerRefused),
    ("for two, and made for the other", claims(aud=[CLIENT, "another"], azp="another"), AnswerRefused),
    ("for two, and made for nobody", claims(aud=[CLIENT, "another"]), AnswerRefused),
    ("made for another", claims(azp="another"), AnswerRefused),
    ("of another issuer", claims(iss="https://evil.example"), AnswerRefused),
    ("of an issuer that begins the same", claims(iss=lambda found: found["iss"] + "/x"), AnswerRefused),
    ("of no issuer", claims(iss=None), AnswerRefused),
    ("of nobody", claims(sub=None), AnswerRefused),
    ("of somebody without a name", claims(sub=""), AnswerRefused),
    ("expired", claims(exp=int(time.time()) - 3600), ClocksDiffer),
    ("without an end", claims(exp=None), AnswerRefused),
    ("an end that is no number", claims(exp="tomorrow"), ClocksDiffer),
    ("an end that is not a number", claims(exp=float("nan")), ClocksDiffer),
    ("not yet issued", claims(iat=int(time.time()) + 3600), ClocksDiffer),
    ("not yet valid", claims(nbf=int(time.time()) + 3600), ClocksDiffer),
    ("unsigned", signed(unsigned), AnswerRefused),
    ("signed by the secret of the client", by_secret(SECRET.encode), AnswerRefused),
    ("signed by the public key as a secret", by_secret(lambda: key().as_pem(private=False)), AnswerRefused),
    (
        "signed by a secret among the keys",
        both(
            by_secret(SECRET.encode),
            with_keys(lambda _: {"keys": [OctKey.import_key(SECRET, {"kid": "one"}).as_dict(private=True)]}),
        ),
        AnswerRefused,
    ),
    ("signed by another key", lambda hostile: setattr(hostile, "key", key("another")), AnswerRefused),
    (
        "signed by the key in its own header",
        both(
            lambda hostile: setattr(hostile, "key", key("another")),
            lambda hostile: setattr(
                hostile, "signed", lambda found: hostile.sign(found, jwk=key("another").as_dict(private=False))
            ),
        ),
        AnswerRefused,
    ),
    (
        "signed by a key of another kind",
        signed(
            lambda found: jwt.encode(
                {"alg": "ES256", "kid": "one"},
                found,
                ECKey.generate_key("P-256", {"kid": "one"}),
                algorithms=["ES256"],
            )
        ),
        AnswerRefused,
    ),
    (
        "changed after it was signed",
        lambda hostile: setattr(hostile, "signed", lambda f: _changed(hostile, f)),
        AnswerRefused,
    ),
    ("no token", signed(lambda found: "hello"), AnswerRefused),
    ("signed by a key for encryption", with_keys(lambda public: {"keys": [{**public, "use": "enc"}]}), AnswerRefused),
    ("a header that has to be understood", signed(_critical), AnswerRefused),
    ("no keys", with_keys({"keys": []}), AnswerRefused),
    ("keys that are none", with_keys({"keys": [{"kty": "RSA", "kid": "one", "n": "!", "e": 3}]}), AnswerRefused),
    ("keys as a list", with_keys(lambda public: [public]), AnswerRefused),
    ("keys as a number", with_keys({"keys": 3}), AnswerRefused),
    ("an unverified address", claims(email_verified=False), AddressUnverified),
    (
        "an address that is not said to be verified",
        both(without_user_info, claims(email_verified=None)),
        AddressUnverified,
    ),
    ("an address that is said to be unverified", claims(email_verified="false"), AddressUnverified),
    ("an address verified perhaps", claims(email_verified="yes"), AddressUnverified),
    ("an address verified by a list", claims(email_verified=[True]), AddressUnverified),
    ("no address", claims(email=""), AddressUnverified),
    ("two addresses", claims(email=["olga@acme.example", "eve@evil.example"]), AddressUnverified),
    ("an address with a null", claims(email="olga@acme.example\0"), AddressUnverified),
    ("an address with a line break", claims(email="olga@acme.example\r\neve@evil.example"), AddressUnverified),
]


@pytest.mark.parametrize(("change", "failure"), [row[1:] for row in TOKENS], ids=[row[0] for row in TOKENS])
def test_a_token_that_is_not_right(hostile: HostileProvider, change: Change, failure: type[SignInFailed]) -> None:
    change(hostile)
    with pytest.raises(SignInFailed) as raised:
        sign_in(hostile)
    assert type(raised.value) is failure, raised.value
    assert SECRET not in str(raised.value)


def test_no_address_is_read_of_a_token_that_is_not_right(hostile: HostileProvider) -> None:
    """What the others hold is not the address of a provider that cannot be told from a right one."""
    hostile.address = "Olga@ACME.example"
    assert sign_in(hostile) == "Olga@ACME.example"


def test_a_clock_may_be_a_little_wrong(hostile: HostileProvider) -> None:
    claims(exp=int(time.time()) - 30, iat=int(time.time()) + 30)(hostile)
    assert sign_in(hostile) == "olga@acme.example"


def test_other_members_of_a_header_are_ignored(hostile: HostileProvider) -> None:
    hostile.signed = lambda found: hostile.sign(found, **{"pi.atm": "abc", "jku": "https://evil.example/keys"})
    hostile.keys["keys"].insert(0, {"kty": "AKP", "kid": "post-quantum", "alg": "ML-DSA-44", "pub": "x"})
    assert sign_in(hostile) == "olga@acme.example"
    assert {path for path, _ in hostile.asked} == {"/.well-known/openid-configuration", "/token", "/keys"}


@pytest.mark.parametrize("value", [True, 1, "1", "true"])
def test_another_claim_may_say_that_an_address_is_verified(hostile: HostileProvider, value: object) -> None:
    """Entra ID has no ``email_verified``."""
    without_user_info(hostile)
    claims(email_verified=True)(hostile)
    asked = provider(hostile, verified_claim="xms_edov")
    with pytest.raises(AddressUnverified, match="does not send the claim xms_edov"):
        sign_in(hostile, asked)
    claims(email_verified=None, xms_edov=value)(hostile)
    assert sign_in(hostile, asked) == "olga@acme.example"


def user_info(**found: object) -> Change:
    def change(hostile: HostileProvider) -> None:
        claims(email=None, email_verified=None)(hostile)
        hostile.replies["/userinfo"] = lambda: Reply(found)

    return change


def test_what_the_provider_tells_outside_the_token(hostile: HostileProvider) -> None:
    user_info(sub="1", email="mika@acme.example", email_verified=True)(hostile)
    assert sign_in(hostile) == "mika@acme.example"
    assert hostile.headers[-1]["authorization"] == "Bearer access"


def answers(path: str, body: object, status: int = 200, **headers: str) -> Change:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda hostile: hostile.replies.update({path: lambda: Reply(body, status, named)})


def says(**metadata: object) -> Change:
    return lambda hostile: hostile.metadata.update(metadata)


CONFIGURATION, TOKEN, KEYS = "/.well-known/openid-configuration", "/token", "/keys"
ANSWERS: list[tuple[str, Change, type[SignInFailed], str]] = [
    ("another issuer", says(issuer="https://evil.example"), AnswerRefused, "calls itself"),
    ("no issuer", says(issuer=None), AnswerRefused, "not that of OpenID Connect"),
    ("no place for tokens", says(token_endpoint=None), AnswerRefused, "not that of OpenID Connect"),
    ("people sent elsewhere", says(authorization_endpoint="javascript:alert(1)"), AnswerRefused, "not an https"),
    ("a header among it", says(authorization_endpoint="https://a.example/\r\nX: y"), AnswerRefused, "not an https"),
    ("people sent unencrypted", says(authorization_endpoint="http://evil.example/"), AnswerRefused, "not an https"),
    ("codes sent unencrypted", says(token_endpoint="http://evil.example/token"), AnswerRefused, "encryption"),
    ("keys unencrypted", says(jwks_uri="http://evil.example/keys"), AnswerRefused, "encryption"),
    ("keys in a file", says(jwks_uri="file:///etc/passwd"), AnswerRefused, "encryption"),
    ("keys nowhere", says(jwks_uri="http://[::1"), AnswerRefused, "understood"),
    ("no client secrets", says(token_endpoint_auth_methods_supported=["private_key_jwt"]), AnswerRefused, "no client"),
    ("a fault", answers(CONFIGURATION, {}, 500), ProviderUnreachable, "500"),
    ("nothing there", answers(CONFIGURATION, {}, 404), ProviderUnreachable, "404"),
    ("a page for people", answers(CONFIGURATION, b"<html>"), AnswerRefused, "understood"),
    ("no text", answers(CONFIGURATION, b"\xff\xfe"), AnswerRefused, "understood"),
    ("a list", answers(CONFIGURATION, []), AnswerRefused, "not that of OpenID Connect"),
    ("very deep", answers(CONFIGURATION, b"[" * 100_000), AnswerRefused, "understood"),
    *(
        (f"tokens that are {body!r}", answers(TOKEN, body), AnswerRefused, "provider")
        for body in (
            [],
            [1],
            3,
            None,
            "x",
            {"access_token": []},
            {"expires_in": "x"},
            {"expires_at": {}},
            {"error": [1]},
        )
    ),
    ("another protocol", answers(CONFIGURATION, b"", 101), ProviderUnreachable, "provider"),
    ("huge", answers(CONFIGURATION, b" " * (LARGEST_ANSWER + 1)), AnswerRefused, "longer than 512 KiB"),
    ("huge keys", answers(KEYS, b" " * (8 << 20)), AnswerRefused, "longer than 512 KiB"),
    ("huge tokens", answers(TOKEN, b" " * (8 << 20)), AnswerRefused, "longer than 512 KiB"),
    ("compressed", answers(KEYS, b"x", content_encoding="gzip"), AnswerRefused, "compresses"),
    ("led elsewhere", answers(KEYS, {}, 302, location="https://evil.example/"), AnswerRefused, "redirect"),
    ("a secret led elsewhere", answers(TOKEN, {}, 307, location="https://evil.example/"), AnswerRefused, "redirect"),
    ("an unknown code", answers(TOKEN, {"error": "invalid_grant"}, 400), SignInDenied, "does not accept the code"),
    (
        "an unknown client",
        answers(TOKEN, {"error": "invalid_client", "error_description": "who?"}, 401),
        AnswerRefused,
        "invalid_client: who[?]",
    ),
    ("an error that is none", answers(TOKEN, {"error": ["x"]}, 400), AnswerRefused, "refuses this server"),
    ("tokens as a list", answers(TOKEN, []), AnswerRefused, "understood"),
    ("tokens very deep", answers(TOKEN, b'{"a":' * 80_000), AnswerRefused, "understood"),
    ("no tokens", answers(TOKEN, {}), AnswerRefused, "no ID token"),
    ("a number for a token", answers(TOKEN, {"id_token": 3}), AnswerRefused, "no ID token"),
    ("a page for tokens", answers(TOKEN, b"<html>", 429), ProviderUnreachable, "429"),
    ("of somebody else", user_info(sub="2", email="olga@acme.example", email_verified=True), AnswerRefused, "another"),
    ("of nobody", user_info(email="olga@acme.example", email_verified=True), AnswerRefused, "another"),
    ("unverified there", user_info(sub="1", email="olga@acme.example"), AddressUnverified, "does not send"),
]


@pytest.mark.parametrize(("change", "failure", "told"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_an_answer_that_is_not_right(
    hostile: HostileProvider, change: Change, failure: type[SignInFailed], told: str
) -> None:
    change(hostile)
    with pytest.raises(SignInFailed, match=told) as raised:
        sign_in(hostile)
    assert type(raised.value) is failure, raised.value
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("issuer", ["https://evil.example", "", "HTTP://127.0.0.1"])
def test_the_browser_has_to_come_from_the_provider_it_went_to(hostile: HostileProvider, issuer: str) -> None:
    with pytest.raises(AnswerRefused, match="another provider"):
        sign_in(hostile, issuer=issuer)
    assert "/token" not in [path for path, _ in hostile.asked]  # which would give the code away
    assert sign_in(hostile, issuer=hostile.issuer) == "olga@acme.example"


def test_a_provider_that_says_who_it_is_says_so_always(hostile: HostileProvider) -> None:
    hostile.metadata["authorization_response_iss_parameter_supported"] = True
    assert sign_in(hostile, issuer=hostile.issuer) == "olga@acme.example"
    with pytest.raises(AnswerRefused, match="another provider"):
        sign_in(hostile)


@pytest.mark.parametrize("path", [CONFIGURATION, TOKEN, KEYS])
def test_a_provider_that_hangs(hostile: HostileProvider, path: str) -> None:
    """One that sends a byte now and then, so that no single read takes long."""
    hostile.replies[path] = lambda: Reply(b" " * 1000, chunk_pause=0.05)
    with pytest.raises(ProviderUnreachable, match=r"does not answer within 0\.5 s"):
        sign_in(hostile, provider(hostile, seconds=0.5))


def test_a_provider_that_is_not_there(hostile: HostileProvider) -> None:
    with pytest.raises(ProviderUnreachable, match="cannot be asked"):
        sign_in(hostile, provider(hostile, issuer="http://127.0.0.1:9"))


def test_a_code_is_worth_nothing_in_another_sign_in(hostile: HostileProvider) -> None:
    """Neither for who has seen the code and the state, nor for who has planted both in another browser."""
    asked, mine, theirs = provider(hostile), new_attempt(now_ms()), new_attempt(now_ms())

    async def with_attempt(attempt: SignInAttempt) -> str:
        return await asked.verified_address(attempt, CameBack("a code", None), now_ms())

    hostile.code_for(asyncio.run(asked.sign_in_address(mine, now_ms())))
    with pytest.raises(SignInDenied):
        asyncio.run(with_attempt(theirs))


def test_the_secret_goes_as_the_provider_wants_it(hostile: HostileProvider) -> None:
    hostile.metadata["token_endpoint_auth_methods_supported"] = None  # then it is this (Discovery 3)
    with pytest.raises(SignInDenied):
        sign_in(hostile, provider(hostile, client_id="a:b", client_secret="c%d&e"))
    [(form, headers)] = [
        (form, headers) for (path, form), headers in zip(hostile.asked, hostile.headers, strict=True) if path == TOKEN
    ]
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"a%3Ab:c%25d%26e"
    assert {"client_secret", "client_id"}.isdisjoint(form)
