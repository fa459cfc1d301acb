"""Read credentials that renew themselves, and a region, from the AWS tools' files."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from snapshots.store.durable import StoreError

_KEPT: Final = timedelta(minutes=5)


class Profile(msgspec.Struct, frozen=True):
    """The content of a profile: credentials as obstore asks for them, and settings of the client."""

    credentials: Callable[[], Any]
    config: dict[str, str]


def profile() -> Profile | None:
    """Return the profile in force (AWS_PROFILE, else ``default``), ``None`` where there is none with credentials.

    botocore reads it, so that single sign-on, assumed roles and credential processes work as in the AWS tools.
    """
    files = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}
    if not any(Path(os.environ.get(name, file)).expanduser().is_file() for name, file in files.items()):
        return None
    from botocore import exceptions, session  # noqa: PLC0415 - 0.1 s, for those who have such files

    aws = session.Session()
    try:
        found = aws.get_credentials()
        region = aws.get_config_variable("region")
    except exceptions.BotoCoreError as error:
        raise StoreError(f"the AWS profile cannot be used: {error} Check AWS_PROFILE and ~/.aws/config.") from None
    if found is None:
        return None

    def credentials() -> dict[str, object]:
        frozen = found.get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(UTC) + _KEPT,
        }

    return Profile(credentials, {"region": region} if region else {})
