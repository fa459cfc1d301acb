"""Signatures, checked by the library of those who receive them and by hand."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from engine.webhooks.signatures import microcms_headers, new_secret, standard_headers
from snapshots.times import now_ms

BODY = json.dumps({"type": "content.changed", "data": {"title": "日本語 ✓"}}, ensure_ascii=False)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/St_Johns"])
def test_a_receiver_accepts_it_in_whatever_time_zone_the_server_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", zone)
    time.tzset()
    try:
        secret = new_secret()
        headers = standard_headers([secret], "msg_1", now_ms(), BODY)
        assert Webhook(secret).verify(BODY, headers) == json.loads(BODY)
        assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    finally:
        monkeypatch.undo()
        time.tzset()


def test_either_of_two_secrets_is_enough_and_no_other() -> None:
    new, old, other = new_secret(), new_secret(), new_secret()
    headers = standard_headers([new, old], "msg_1", now_ms(), BODY)
    for secret in (new, old):
        Webhook(secret).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(BODY + " ", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(BODY, {**headers, "webhook-id": "msg_2"})


def test_secrets_have_the_usual_form_and_are_never_the_same() -> None:
    found = {new_secret() for _ in range(100)}
    assert len(found) == 100
    assert all(len(secret) == len("whsec_") + 44 and secret.startswith("whsec_") for secret in found)


def test_the_microcms_signature_is_a_hexadecimal_hmac_of_the_body() -> None:
    body = BODY.encode()
    headers = microcms_headers("whsec_abc", body)
    assert headers == {"x-microcms-signature": hmac.new(b"whsec_abc", body, hashlib.sha256).hexdigest()}
