"""Derived draft keys (contract 4.10, decision 25)."""

from __future__ import annotations

from engine.access.drafts.keys import derived_draft_key, draft_key_matches
from snapshots.ids import valid_id

SECRET = bytes(range(32))


def test_form_and_stability() -> None:
    key = derived_draft_key(SECRET, "acme", "api_blog", "hello", "ja")
    assert valid_id(key)
    assert key == derived_draft_key(SECRET, "acme", "api_blog", "hello", "ja")
    # Frozen: changing how keys are derived would break every preview link in use.
    assert key == "D2pz8DkFEbnOBkN5M9R6o7LffoSDeT9GvbCmS3W-5jU"


def test_every_part_counts() -> None:
    versions = [
        (SECRET, "acme", "api_blog", "hello", "ja"),
        (SECRET[::-1], "acme", "api_blog", "hello", "ja"),
        (SECRET, "acme2", "api_blog", "hello", "ja"),
        (SECRET, "acme", "api_news", "hello", "ja"),
        (SECRET, "acme", "api_blog", "hello2", "ja"),
        (SECRET, "acme", "api_blog", "hello", "en"),
        (SECRET, "acme", "api_blo", "ghello", "ja"),
        (SECRET, "acme", "api_blog", "hell", "oja"),
        (SECRET, "", "acmeapi_blog", "hello", "ja"),
    ]
    assert len({derived_draft_key(*version) for version in versions}) == len(versions)


def test_matching() -> None:
    derived = derived_draft_key(SECRET, "acme", "api_blog", "hello", "ja")
    assert draft_key_matches(derived, None, derived)
    assert not draft_key_matches(derived[:-1], None, derived)
    assert draft_key_matches("chosen", "chosen", derived)
    assert not draft_key_matches(derived, "chosen", derived), "a key in the file replaces the derived one"
    for odd in ("", "é", "\udcff", "\x00"):
        assert not draft_key_matches(odd, None, derived)
