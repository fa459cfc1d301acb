"""Answers of the bundled example workspace, which `cms demo` serves, as the document shows them."""

from __future__ import annotations

from typing import Final

from server.reference.schemas import Json

_DANIEL: Final[Json] = {
    "id": "daniel",
    "createdAt": "2025-03-14T15:00:00.000Z",
    "updatedAt": "2025-03-14T15:00:00.000Z",
    "publishedAt": "2025-03-14T15:00:00.000Z",
    "name": "Daniel Okafor",
    "about": "<p>Daniel came for a week's holiday in 2023 and asked for the recipe of the melon bread. "
    'He is still here. <a href="https://komugi.example/journal/the-night-oven">His night shift</a> '
    "is in the journal.</p>",
    "starts_at": "03:30",
    "favourite": "melon-bread",
    "portrait": {"url": "https://images.komugi.example/daniel.jpg", "width": None, "height": None, "alt": None},
}

LISTS: Final[dict[str, Json]] = {
    "list": {
        "summary": "A list: the two cheapest (`fields=name,price&orders=price&limit=2`)",
        "value": {
            "contents": [
                {"id": "milk-roll", "name": "Milk roll", "price": 180},
                {"id": "sesame-ring", "name": "Sesame ring", "price": 210},
            ],
            "totalCount": 5,
            "offset": 0,
            "limit": 2,
        },
    },
    "nothing": {
        "summary": "A list that nothing matches (`q=pizza`)",
        "value": {"contents": [], "totalCount": 0, "offset": 0, "limit": 10},
    },
    "object": {
        "summary": "The item of the object API `shop` (`fields=title,seats,todays_bread&depth=0`)",
        "value": {
            "id": "shop",
            "title": "Komugi, bread from a wood-fired oven",
            "seats": 8,
            "todays_bread": "country-rye",
        },
    },
}
ENTRIES: Final[dict[str, Json]] = {
    "entry": {
        "summary": "Some fields, references expanded (`fields=name,price,vegan,baker`)",
        "value": {"id": "melon-bread", "name": "Melon bread", "price": 240, "vegan": False, "baker": _DANIEL},
    },
    "language": {
        "summary": "In Japanese, references as IDs (`fields=name,baker&lang=ja&depth=0&include=_langs`)",
        "value": {
            "id": "melon-bread",
            "name": "メロンパン",
            "baker": "daniel",
            "_langs": {"current": "ja", "available": ["en", "ja"]},
        },
    },
}
SCHEMAS: Final[dict[str, Json]] = {
    "schema": {
        "summary": "One API, shortened",
        "value": {
            "workspace": "komugi",
            "apis": [
                {
                    "name": "Stockists",
                    "endpoint": "stockists",
                    "kind": "list",
                    "fields": [
                        {"id": "name", "name": "Name", "type": "text", "required": True},
                        {"id": "breads", "name": "Breads on the shelf", "type": "references", "required": False},
                    ],
                }
            ],
        },
    }
}
VIEWS: Final[dict[str, Json]] = {
    "views": {
        "summary": "Two entries (`ids=melon-bread,milk-roll`)",
        "value": {
            "days": 30,
            "views": {"melon-bread": {"total": 1204, "recent": 87}, "milk-roll": {"total": 0, "recent": 0}},
        },
    }
}
COUNTS: Final[dict[str, Json]] = {
    "counts": {
        "summary": "One entry and one path",
        "value": {"entries": {"melon-bread": 1204}, "paths": {"/breads/melon-bread": 1390}},
    }
}

CHANGES: Final[dict[str, Json]] = {
    "changes": {
        "summary": "One entry was published, and another edited",
        "value": {
            "changes": [
                {"api": "journal", "id": "the-night-oven", "lang": "en", "change": "published"},
                {"api": "breads", "id": "melon-bread", "lang": "ja", "change": "updated"},
            ],
            "next": "20260110T093000000Z-56a8d682@2026-01-10T09:41:07.250Z",
            "nextChange": "2026-02-01T00:00:00.000Z",
            "previous": "20260109T160000000Z-1a2b3c4d",
        },
    },
    "nothing": {
        "summary": "Nothing since",
        "value": {
            "changes": [],
            "next": "20260110T093000000Z-56a8d682@2026-01-10T09:41:07.250Z",
            "nextChange": None,
            "previous": "20260109T160000000Z-1a2b3c4d",
        },
    },
}
