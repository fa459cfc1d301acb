"""A small workspace with a field of every type that answers can hold, groups in groups among them."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "workspace.yaml": "id: types\nlanguages: [en, ja]\ntimezone: Asia/Tokyo\n",
    "apis/pages.yaml": """\
uid: api_Pages0000001
endpoint: pages
kind: list
multilingual: true
fields:
  - {id: title, type: text, required: true}
  - {id: gallery, type: images}
  - {id: menu, type: file}
  - {id: settings, type: json}
  - {id: seo, name: For search engines, type: group, fields: [
      {id: title, type: text, required: true}, {id: cover, type: image}, {id: since, type: datetime}]}
  - id: authors
    type: groups
    fields:
      - {id: name, type: text, required: true}
      - {id: person, type: reference, api: people}
      - {id: roles, type: multiple_select, options: [writes, draws]}
  - id: blocks
    type: groups
    groups:
      - id: hero
        name: Hero
        fields: [{id: text, type: textarea}, {id: target, type: references, apis: [pages, people]}]
      - {id: rule, fields: []}
      - id: columns
        fields:
          - {id: class, type: single_select, options: [wide, narrow]}
          - {id: columns, type: groups, fields: [{id: body, type: richtext}, {id: by, type: references, api: people}]}
  - {id: links, type: references, apis: [pages, people]}
""",
    "apis/people.yaml": """\
uid: api_People000001
endpoint: people
kind: list
fields:
  - {id: name, type: text}
  - {id: boss, type: group, fields: [{id: person, type: reference, api: people}, {id: since, type: number}]}
""",
    "content/people/mika.yaml": "name: Mika\ncreatedAt: 2026-01-01\nboss: {person: ken, since: 2020}\n",
    "content/people/ken.yaml": "name: Ken\ncreatedAt: 2026-01-01\n",
    "content/people/late.yaml": "name: Late\ncreatedAt: 2026-01-01\nstatus: scheduled\npublishStart: 2030-01-01\n",
    "content/pages/home.yaml": """\
title: Home
createdAt: 2026-02-01
gallery: [/a.jpg, {url: /b.jpg, width: 3, height: 2, alt: B}]
menu: {url: /menu.pdf, fileSize: 12345}
settings: {title: 'x', target: [1, 2.5, {deep: no}], links: ~}
seo: {title: Home of all, cover: /c.png, since: 2026-01-01}
authors:
  - {name: Mika, person: mika, roles: [writes, draws]}
  - {name: Nobody, person: late}
blocks:
  - {fieldId: hero, text: Hello, target: [mika, {api: pages, id: home}, {api: people, id: late}]}
  - {fieldId: rule}
  - fieldId: columns
    class: wide
    columns: [{body: <p>One</p>, by: [ken, late, mika]}, {body: <p>Two</p>}]
links: [about, mika, {api: people, id: ken}, late]
""",
    "content/pages/about.yaml": "title: About\ncreatedAt: 2026-02-02\nblocks: []\nlinks: [{api: people, id: mika}]\n",
    "content/pages/about.draft.yaml": """\
title: About us
createdAt: 2026-02-02
draftKey: key-about
authors: [{name: Ken, person: ken}]
links: [home, {api: people, id: ken}]
""",
    "content/pages/home.ja.yaml": """\
title: ホーム
createdAt: 2026-02-01
authors: [{name: ミカ, person: mika}]
links: [about]
""",
}


def write_field_types(directory: Path, **changed: str) -> Path:
    """Write the workspace; ``changed`` are other texts of files, named by the files' names without extension."""
    for name, text in FILES.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(changed.get(file.stem, text), encoding="utf-8")
    return directory
