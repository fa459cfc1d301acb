"""A provider of OpenID Connect: where to send a browser that wants to sign in, and who came back from there.

The authorization code flow with PKCE. Nothing is asked of the provider but while somebody signs in; its keys are asked
for each time, so that new ones count at once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote

import httpx2
import msgspec
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client, OAuth2ClientAuth

from engine.access.sign_in.oidc.address import tells_address, verified_address
from engine.access.sign_in.oidc.attempt import SignInAttempt
from engine.access.sign_in.oidc.bounded_requests import HEADERS, BoundedTransport
from engine.access.sign_in.oidc.configuration import ProviderConfiguration, is_secure
from engine.access.sign_in.oidc.failures import AnswerRefused, ProviderUnreachable, SignInDenied, SignInFailed
from engine.access.sign_in.oidc.id_token import checked_claims

SECONDS: Final = 10.0
"""The longest that all requests of one step may take together."""
KEPT_MS: Final = 10 * 60_000
"""Milliseconds for which the provider's addresses are kept. They hardly ever change, and anybody can ask for them."""
SCOPE: Final = "openid email"

_POST: Final = "client_secret_post"
_BASIC: Final = "client_secret_basic"


class CameBack(msgspec.Struct, frozen=True):
    """The parameters with which the provider sends a browser back."""

    code: str
    issuer: str | None
    """The issuer that the parameters name (RFC 9207); ``None`` where they name none."""


class _Metadata(msgspec.Struct, frozen=True):
    """The members that are read of a provider's configuration (OpenID Connect Discovery 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = (_BASIC,)
    authorization_response_iss_parameter_supported: bool = False


class Provider:
    """A provider, which sends browsers back to ``redirect_uri`` and proves who it is as ``trust`` wants it. To be used
    on one event loop."""

    def __init__(
        self,
        configuration: ProviderConfiguration,
        redirect_uri: str,
        trust: ssl.SSLContext,
        *,
        seconds: float = SECONDS,
    ) -> None:
        self.configuration: Final = configuration
        self._redirect_uri = redirect_uri
        self._seconds = seconds
        self._trust = trust
        self._loopback = not is_secure(configuration.issuer, loopback=False)
        self._kept: tuple[int, _Metadata] | None = None

    async def sign_in_address(self, attempt: SignInAttempt, now: int) -> str:
        """Return the address at the provider where a browser goes to begin an attempt. Raises ``SignInFailed``."""
        async with self._client() as client:
            metadata = await self._metadata(client, now)
            address, _ = client.create_authorization_url(
                metadata.authorization_endpoint,
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
        return str(address)

    async def verified_address(self, attempt: SignInAttempt, came_back: CameBack, now: int) -> str:
        """Return the e-mail address of who signed in at the provider. Raises ``SignInFailed``, whatever is wrong."""
        configuration = self.configuration
        async with self._client() as client:
            metadata = await self._metadata(client, now)
            expected = metadata.issuer if metadata.authorization_response_iss_parameter_supported else None
            if came_back.issuer not in (expected, metadata.issuer):
                raise AnswerRefused("the browser came back from another provider than the one it was sent to")
            tokens = await self._tokens(client, metadata, attempt, came_back.code)
            id_token = tokens.get("id_token")
            if not isinstance(id_token, str):
                raise AnswerRefused("the provider sends no ID token: is this client one of OpenID Connect there?")
            keys = await _json(client, metadata.jwks_uri)
            claims: Mapping[str, Any] = checked_claims(id_token, keys, configuration, attempt.nonce, now)
            if metadata.userinfo_endpoint and not tells_address(claims, configuration.verified_claim):
                claims = await _user_info(client, metadata.userinfo_endpoint, tokens, claims["sub"])
        return verified_address(claims, configuration.verified_claim)

    async def _metadata(self, client: AsyncOAuth2Client, now: int) -> _Metadata:
        if self._kept is not None and 0 <= now - self._kept[0] < KEPT_MS:
            return self._kept[1]
        issuer = self.configuration.issuer
        found = await _json(client, f"{issuer.removesuffix('/')}/.well-known/openid-configuration")
        try:
            metadata = msgspec.convert(found, _Metadata)
        except msgspec.ValidationError as error:
            raise AnswerRefused(f"the provider's configuration is not that of OpenID Connect: {error}") from None
        if metadata.issuer != issuer:
            raise AnswerRefused(
                f'the provider calls itself "{metadata.issuer}". CMS_OIDC_ISSUER has to be exactly that, and no other'
            )
        if not is_secure(metadata.authorization_endpoint, loopback=self._loopback):
            raise AnswerRefused("the provider's sign-in address is not an https address")
        self._kept = (now, metadata)
        return metadata

    async def _tokens(
        self, client: AsyncOAuth2Client, metadata: _Metadata, attempt: SignInAttempt, code: str
    ) -> Mapping[str, Any]:
        configuration, methods = self.configuration, metadata.token_endpoint_auth_methods_supported
        if _POST in methods:
            auth = OAuth2ClientAuth(configuration.client_id, configuration.client_secret, _POST)
        elif _BASIC in methods:  # whose two parts are percent-encoded (RFC 6749, 2.3.1), which the library leaves to us
            name, secret = quote(configuration.client_id, safe=""), quote(configuration.client_secret, safe="")
            auth = OAuth2ClientAuth(name, secret, _BASIC)
        else:
            raise AnswerRefused("the provider takes no client secret")
        found: Mapping[str, Any] = await client.fetch_token(
            metadata.token_endpoint,
            grant_type="authorization_code",
            code=code,
            code_verifier=attempt.verifier,
            auth=auth,
        )
        return found

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[AsyncOAuth2Client]:
        """Yield a client for one step, in which every failure becomes a ``SignInFailed``."""
        transport = BoundedTransport(httpx2.AsyncHTTPTransport(verify=self._trust), loopback=self._loopback)
        client = AsyncOAuth2Client(
            self.configuration.client_id,
            scope=SCOPE,
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256",
            headers=HEADERS,
            transport=transport,
            timeout=self._seconds,
            follow_redirects=False,
        )
        try:
            async with asyncio.timeout(self._seconds), client:
                yield client
        except SignInFailed:
            raise
        except TimeoutError:
            raise ProviderUnreachable(f"the provider does not answer within {self._seconds:g} s") from None
        except AuthlibBaseError as error:
            if error.error == "invalid_grant":
                raise SignInDenied("the provider does not accept the code; it may have expired") from None
            raise AnswerRefused(f"the provider refuses this server: {error.error}: {error.description}") from None
        except httpx2.HTTPStatusError as error:
            raise ProviderUnreachable(
                f"the provider answers {error.request.url.path} with {error.response.status_code}"
            ) from None
        except (httpx2.HTTPError, OSError) as error:
            raise ProviderUnreachable(f"the provider cannot be asked: {error or type(error).__name__}") from None
        except (httpx2.InvalidURL, ValueError, RecursionError) as error:
            raise AnswerRefused(f"an answer of the provider cannot be understood: {error}") from None
        except Exception as error:  # of a library that took the answer for what it is not
            raise AnswerRefused(f"an answer of the provider cannot be understood: {type(error).__name__}") from None


async def _json(client: AsyncOAuth2Client, url: str, token: str | None = None) -> Any:
    authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = await client.request("GET", url, withhold_token=True, headers=authorization)
    answer.raise_for_status()
    return msgspec.json.decode(answer.content)


async def _user_info(
    client: AsyncOAuth2Client, url: str, tokens: Mapping[str, Any], subject: object
) -> Mapping[str, Any]:
    """Return what the provider says of a person outside the ID token (OpenID Connect Core 5.3)."""
    access_token = tokens.get("access_token")
    if not isinstance(access_token, str):
        raise AnswerRefused("the provider sends no access token")
    found = await _json(client, url, access_token)
    if not isinstance(found, dict) or found.get("sub") != subject:
        raise AnswerRefused("the provider's information is about another person than its ID token")
    return found
