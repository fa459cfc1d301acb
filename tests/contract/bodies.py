"""The entries of the contract workspace as the API must deliver them, written out by hand.

References are as stored (``depth=0``); cases replace the ones that an answer expands. Nothing here is computed by the
product or by the naive evaluator.
"""

from __future__ import annotations

from typing import Any

Entry = dict[str, Any]

NO_ARTICLE: Entry = {
    "summary": None,
    "body": None,
    "rank": None,
    "eventAt": None,
    "featured": None,
    "category": None,
    "tags": [],
    "author": None,
    "related": [],
    "topic": None,
    "cover": None,
    "origin": None,
    "sources": [],
}
"""An article's fields other than its title, with no stored value (decision 10)."""

ALPHA: Entry = {
    "id": "alpha",
    "createdAt": "2020-03-01T00:00:00.000Z",
    "updatedAt": "2020-03-20T12:34:56.789Z",
    "publishedAt": "2020-03-09T15:00:00.000Z",
    "title": "Café Society",
    "summary": "First line\n  second line",
    "body": "<p>Hello <strong>bold</strong> world &amp; <em>co</em></p><ul><li>one</li><li>two</li></ul>",
    "rank": 5,
    "eventAt": "2020-05-01T01:00:00.000Z",
    "featured": True,
    "category": "news",
    "tags": ["red", "light blue"],
    "author": "mika",
    "related": ["bravo", "ghost", "sleeper", "charlie"],
    "topic": "science",
    "cover": {"url": "https://img.example/a.png", "width": 800, "height": 600, "alt": "A cup"},
    "origin": "wire-77",
    "sources": ["arc-1", "arc-2"],
}

BRAVO: Entry = {
    **NO_ARTICLE,
    "id": "bravo",
    "createdAt": "2020-02-01T00:00:00.000Z",
    "updatedAt": "2020-02-02T00:00:00.000Z",
    "publishedAt": "2020-03-08T00:00:00.000Z",
    "title": "bravo & sons <ltd>",
    "summary": "",
    "body": "",
    "rank": -1.5,
    "eventAt": "2020-04-01T00:00:00.000Z",
    "featured": False,
    "category": "guide",
    "tags": ["red"],
    "author": "nobody",
    "topic": "history",
    "cover": {"url": "https://img.example/b.png", "width": None, "height": None, "alt": None},
}

CHARLIE: Entry = {
    **NO_ARTICLE,
    "id": "charlie",
    "createdAt": "2020-01-05T00:00:00.000Z",
    "updatedAt": "2020-01-05T00:00:00.000Z",
    "publishedAt": "2020-01-05T00:00:00.000Z",
    "title": "100% _sure_ [ok]",
}

DELTA: Entry = {
    **NO_ARTICLE,
    "id": "delta",
    "createdAt": "2020-03-06T00:00:00.000Z",
    "updatedAt": "2020-03-06T00:00:00.000Z",
    "publishedAt": "2020-03-06T00:00:00.000Z",
    "title": "東京の本",
    "summary": "ＴＯＫＹＯ guide",
    "body": "<p>Tag&lt;soup&gt;</p><p>next &nbsp; stop</p>",
    "rank": 5,
    "featured": True,
    "category": "event",
    "tags": ["red", "日本"],
    "author": "ken",
    "related": ["delta"],
    "topic": "hidden",
}

ECHO: Entry = {
    **NO_ARTICLE,
    "id": "echo",
    "createdAt": "2020-03-01T00:00:00.000Z",
    "updatedAt": "2020-03-01T00:00:00.000Z",
    "publishedAt": "2020-03-06T00:00:00.000Z",
    "title": "Echo",
    "body": "<h2>Red</h2><p>fish<br>bowl</p>",
    "rank": 10,
    "eventAt": "2020-04-01T00:00:00.500Z",
    "author": "mika",
    "related": ["alpha", "delta", "charlie"],
    "origin": "wire-78",
    "sources": ["arc-2"],
}

FOXTROT: Entry = {
    **NO_ARTICLE,
    "id": "foxtrot",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-03-05T00:00:00.000Z",
    "publishedAt": "2020-03-04T00:00:00.000Z",
    "title": "CAFE\u0301 noir",
    "summary": "party 🎉 time",
    "body": "<p>nothing</p>",
    "rank": 0.1,
    "eventAt": "1969-07-20T20:17:40.000Z",
    "featured": False,
    "category": "news",
    "tags": ["Red"],
    "author": "mika",
    "related": ["sleeper"],
    "topic": "history",
    "cover": {"url": "https://img.example/f.png", "width": 10, "height": None, "alt": None},
}

ALPHA_JA: Entry = {
    **NO_ARTICLE,
    "id": "alpha",
    "createdAt": "2020-03-02T00:00:00.000Z",
    "updatedAt": "2020-03-03T00:00:00.000Z",
    "publishedAt": "2020-03-04T12:00:00.000Z",
    "title": "カフェ協会",
    "rank": 50,
    "tags": ["red"],
    "author": "mika",
    "related": ["golf", "bravo", "charlie"],
    "topic": "science",
}

GOLF_JA: Entry = {
    **NO_ARTICLE,
    "id": "golf",
    "createdAt": "2020-02-20T00:00:00.000Z",
    "updatedAt": "2020-02-20T00:00:00.000Z",
    "publishedAt": "2020-02-20T00:00:00.000Z",
    "title": "ゴルフ",
    "rank": 1,
    "author": "ken",
    "related": ["alpha"],
    "topic": "history",
}

HOTEL_JA: Entry = {
    **NO_ARTICLE,
    "id": "hotel",
    "createdAt": "2020-03-08T00:00:00.000Z",
    "updatedAt": "2020-03-08T00:00:00.000Z",
    "publishedAt": "2020-03-08T00:00:00.000Z",
    "title": "ホテル",
    "featured": True,
}

ALPHA_PT: Entry = {
    **NO_ARTICLE,
    "id": "alpha",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-01-01T00:00:00.000Z",
    "publishedAt": "2020-01-01T00:00:00.000Z",
    "title": "Sociedade do Café",
    "rank": 5,
    "related": ["foxtrot", "delta"],
    "topic": "science",
}

FOXTROT_PT: Entry = {
    **NO_ARTICLE,
    "id": "foxtrot",
    "createdAt": "2020-03-04T00:00:00.000Z",
    "updatedAt": "2020-03-04T00:00:00.000Z",
    "publishedAt": "2020-03-04T00:00:00.000Z",
    "title": "Café preto",
    "author": "mika",
}

BRAVO_DRAFT: Entry = {
    **NO_ARTICLE,
    "id": "bravo",
    "createdAt": "2020-06-01T00:00:00.000Z",
    "updatedAt": "2020-06-02T00:00:00.000Z",
    "publishedAt": "2020-06-03T00:00:00.000Z",
    "title": "Bravo, changed (UNPUBLISHED)",
    "rank": 7,
    "author": "mika",
    "related": ["sleeper", "foxtrot"],
    "topic": "hidden",
}

ALPHA_JA_DRAFT: Entry = {
    **NO_ARTICLE,
    "id": "alpha",
    "createdAt": "2020-03-02T00:00:00.000Z",
    "updatedAt": "2020-03-05T00:00:00.000Z",
    "publishedAt": "2020-03-06T00:00:00.000Z",
    "title": "カフェ協会、改訂 (UNPUBLISHED)",
    "related": ["bravo", "golf"],
    "topic": "hidden",
}

BRAVO_JA_DRAFT: Entry = {
    **NO_ARTICLE,
    "id": "bravo",
    "createdAt": "2020-06-04T00:00:00.000Z",
    "updatedAt": "2020-06-04T00:00:00.000Z",
    "publishedAt": "2020-06-04T00:00:00.000Z",
    "title": "ブラボー (UNPUBLISHED)",
}

MEMO_DRAFT: Entry = {
    **NO_ARTICLE,
    "id": "memo",
    "createdAt": "2020-07-03T00:00:00.000Z",
    "updatedAt": "2020-07-03T00:00:00.000Z",
    "publishedAt": "2020-07-03T00:00:00.000Z",
    "title": "Memo (UNPUBLISHED)",
}

SKETCH_DRAFT: Entry = {
    **NO_ARTICLE,
    "id": "sketch",
    "createdAt": "2020-07-02T00:00:00.000Z",
    "updatedAt": "2020-07-02T00:00:00.000Z",
    "publishedAt": "2020-07-02T00:00:00.000Z",
    "title": None,
    "tags": ["red"],
}

MIKA: Entry = {
    "id": "mika",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-01-01T00:00:00.000Z",
    "publishedAt": "2020-01-01T00:00:00.000Z",
    "name": "Mika",
    "bio": "<p>Editor.</p>",
    "born": "1990-05-04T15:00:00.000Z",
    "mentor": "ken",
    "interests": ["science", "hidden"],
}

KEN: Entry = {
    "id": "ken",
    "createdAt": "2020-01-02T00:00:00.000Z",
    "updatedAt": "2020-01-02T00:00:00.000Z",
    "publishedAt": "2020-01-02T00:00:00.000Z",
    "name": "Ken",
    "bio": None,
    "born": None,
    "mentor": "mika",
    "interests": [],
}

SCIENCE: Entry = {
    "id": "science",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-01-01T00:00:00.000Z",
    "publishedAt": "2020-01-01T00:00:00.000Z",
    "label": "Science",
    "note": "<p>Laws of <em>nature</em>.</p>\n",
    "parent": "history",
}

SCIENCE_JA: Entry = {
    "id": "science",
    "createdAt": "2020-01-02T00:00:00.000Z",
    "updatedAt": "2020-01-02T00:00:00.000Z",
    "publishedAt": "2020-01-02T00:00:00.000Z",
    "label": "科学",
    "note": "<p>自然の法則</p>\n",
    "parent": "history",
}

HISTORY: Entry = {
    "id": "history",
    "createdAt": "2020-01-03T00:00:00.000Z",
    "updatedAt": "2020-01-03T00:00:00.000Z",
    "publishedAt": "2020-01-03T00:00:00.000Z",
    "label": "History",
    "note": None,
    "parent": "hidden",
}

SITE: Entry = {
    "id": "site",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-01-01T00:00:00.000Z",
    "publishedAt": "2020-01-01T00:00:00.000Z",
    "title": "Acme",
    "lead": "<p>Welcome</p>",
    "featured": "sleeper",
    "picks": ["foxtrot", "lapsed"],
}

SITE_JA: Entry = {
    "id": "site",
    "createdAt": "2020-01-02T00:00:00.000Z",
    "updatedAt": "2020-01-02T00:00:00.000Z",
    "publishedAt": "2020-01-02T00:00:00.000Z",
    "title": "アクメ",
    "lead": None,
    "featured": "bravo",
    "picks": ["golf", "bravo"],
}

SITE_DRAFT: Entry = {
    "id": "site",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-02-01T00:00:00.000Z",
    "publishedAt": "2020-01-01T00:00:00.000Z",
    "title": "Acme, next (UNPUBLISHED)",
    "lead": None,
    "featured": "lapsed",
    "picks": ["charlie", "sleeper"],
}

BANNER_DRAFT: Entry = {
    "id": "banner",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-01-01T00:00:00.000Z",
    "publishedAt": "2020-01-01T00:00:00.000Z",
    "title": "Banner (UNPUBLISHED)",
}

IMPRINT: Entry = {
    "id": "imprint",
    "createdAt": "2020-01-01T00:00:00.000Z",
    "updatedAt": "2020-01-01T00:00:00.000Z",
    "publishedAt": "2020-01-01T00:00:00.000Z",
    "title": "Imprint",
}

PROMO_JA: Entry = {
    "id": "spring-sale",
    "createdAt": "2020-01-02T00:00:00.000Z",
    "updatedAt": "2020-01-02T00:00:00.000Z",
    "publishedAt": "2020-01-02T00:00:00.000Z",
    "title": "春のセール",
}
