"""The addresses at which a draft is previewed: its path below the workspace, and its page on the site."""

from __future__ import annotations

import pytest

from engine.access.drafts.draft import Draft, draft_of
from engine.access.drafts.keys import derived_draft_key
from snapshots.model import Api, ApiKind, Workspace


@pytest.mark.parametrize(
    ("template", "page"),
    [
        ("https://s.example/{lang}/{id}?k={draftKey}", "https://s.example/pt%2FBR/a%26b%3D%7Bid%7D?k=%C3%A9%20%23"),
        ("https://s.example/preview", "https://s.example/preview"),
    ],
)
def test_values_are_percent_encoded_and_filled_in_once(template: str, page: str) -> None:
    """Nothing that a build accepts needs it, but the address of a page is no place to trust in that."""
    api = Api("u", "Blog", "blog", ApiKind.LIST, True, (), template)
    assert Draft(api, "a&b={id}", "pt/BR", "é #", derived=False).page() == page
    assert Draft(api, "a", "en", None, derived=True).page() is None


def test_without_a_preview_url_there_is_no_page() -> None:
    assert Draft(Api("u", "Blog", "blog", ApiKind.LIST, True, ()), "a", "en", "k", derived=True).page() is None


@pytest.mark.parametrize(
    ("kind", "lang", "key", "path"),
    [
        (ApiKind.LIST, "en", "k", "blog/a?draftKey=k"),
        (ApiKind.LIST, "de", "k", "blog/a?lang=de&draftKey=k"),
        (ApiKind.OBJECT, "en", "k", "blog?draftKey=k"),
        (ApiKind.OBJECT, "de", "k", "blog?lang=de&draftKey=k"),
        (ApiKind.LIST, "en", None, "blog/a?draftKey="),
    ],
)
def test_a_path_names_each_language_but_the_main_one(kind: ApiKind, lang: str, key: str | None, path: str) -> None:
    assert Draft(Api("u", "Blog", "blog", kind, True, ()), "a", lang, key, derived=True).path("en") == path


@pytest.mark.parametrize(
    ("given", "secret", "key", "derived"),
    [
        ("own", b"secret", "own", False),
        ("own", None, "own", False),
        (None, b"secret", derived_draft_key(b"secret", "acme", "u", "a", "de"), True),
        (None, None, None, True),
        (None, b"", None, True),
    ],
)
def test_the_key_of_a_file_goes_before_the_derived_one(
    given: str | None, secret: bytes | None, key: str | None, *, derived: bool
) -> None:
    api = Api("u", "Blog", "blog", ApiKind.LIST, True, ())
    found = draft_of(Workspace("acme", "Acme", ("en", "de")), api, "a", "de", given, secret)
    assert (found.key, found.derived) == (key, derived)
