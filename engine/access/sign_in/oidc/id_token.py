"""Read what a provider says of a person from an ID token, once everything about it is right."""

from __future__ import annotations

from typing import Any, Final, cast

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError
from joserfc.jwk import KeySet, KeySetSerialization
from joserfc.jws import JWSRegistry

from engine.access.sign_in.oidc.configuration import ProviderConfiguration
from engine.access.sign_in.oidc.failures import AnswerRefused, ClocksDiffer

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures that only the holder of a private key can make: not none, and not those by a secret that both know."""
LEEWAY_SECONDS: Final = 60
"""Seconds by which the clocks of this server and the provider may differ."""
_CLOCK_CLAIMS: Final = ("exp", "iat", "nbf")
_CLOCKS: Final = "do the clocks of this server and of the provider agree?"


def checked_claims(
    token: str, keys: object, configuration: ProviderConfiguration, nonce: str, now: int
) -> dict[str, Any]:
    """Return the claims of an ID token that one of the provider's ``keys`` (a JWK set) has signed for this server and
    for the sign-in with a ``nonce``, at ``now`` (UTC milliseconds).

    Raises ``AnswerRefused`` for any other, and ``ClocksDiffer`` where only the time is wrong.
    """
    try:
        key_set = KeySet.import_key_set(cast(KeySetSerialization, keys))
        # What a header says beside the algorithm and the key is to be ignored (RFC 7515, 4).
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        decoded = jwt.decode(token, key_set, algorithms=ALGORITHMS, registry=registry)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            {
                "iss": {"essential": True, "value": configuration.issuer},
                "aud": {"essential": True, "value": configuration.client_id},
                "sub": {"essential": True},
            },
            {"nonce": nonce, "client_id": configuration.client_id},
        )
        claims.validate(now // 1000, LEEWAY_SECONDS)
    except ExpiredTokenError:
        raise ClocksDiffer(f"the ID token has expired: {_CLOCKS}") from None
    except InvalidClaimError as error:
        if error.claim in _CLOCK_CLAIMS:
            raise ClocksDiffer(f"the ID token is not valid yet: {_CLOCKS}") from None
        raise AnswerRefused(f"the claim {error.claim} of the ID token is not valid") from None
    except JoseError as error:
        raise AnswerRefused(f"the ID token could not be verified: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        what = type(error).__name__
        raise AnswerRefused(f"the ID token or the provider's keys cannot be understood: {what}") from None
    return dict(claims)
