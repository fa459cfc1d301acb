"""Why a sign-in at a provider comes to nothing. The messages are for the server's log, not for whoever asked."""

from __future__ import annotations

from snapshots.problems import ParquetryError


class SignInFailed(ParquetryError):
    """A sign-in at the provider came to nothing."""


class ProviderUnreachable(SignInFailed):
    """The provider does not answer, or not in time, or says that it has a fault."""


class SignInDenied(SignInFailed):
    """The provider let nobody in, or does not know the code that the browser came back with."""


class AnswerRefused(SignInFailed):
    """The provider's answer proves nothing: it is not as OpenID Connect wants it, or is not for this sign-in."""


class ClocksDiffer(AnswerRefused):
    """The provider's answer is out of date, or not valid yet."""


class AddressUnverified(SignInFailed):
    """The provider does not say that the person's e-mail address is the person's."""
