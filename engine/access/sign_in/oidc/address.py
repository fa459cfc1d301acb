"""Choose the e-mail address that is a person's from what a provider says of the person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from engine.access.sign_in.oidc.failures import AddressUnverified

_ADDRESS: Final = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]{1,255}")
_TRUE: Final = (True, 1, "true", "1")
"""How providers write that a claim is true: the standard wants the first, and Entra ID writes the others too."""


def tells_address(claims: Mapping[str, Any], verified_claim: str) -> bool:
    """Whether claims have an e-mail address, and say whether it is verified."""
    return "email" in claims and verified_claim in claims


def verified_address(claims: Mapping[str, Any], verified_claim: str) -> str:
    """Return the e-mail address in the claims of a provider. Raises ``AddressUnverified`` unless the claim
    ``verified_claim`` says that the provider has verified it."""
    address = claims.get("email")
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise AddressUnverified(
            "the provider sends no e-mail address: check that this client has the scope email there"
        )
    found = claims.get(verified_claim)
    if found is None:
        raise AddressUnverified(f"the provider does not send the claim {verified_claim}")
    if isinstance(found, float | list | dict) or found not in _TRUE:
        raise AddressUnverified(f"the claim {verified_claim} is not true: the provider has not verified the address")
    return address
