"""workspace.yaml and apis/*.yaml to definitions: the defaults, and every problem at its line in one run."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest

from snapshots.definitions.model import ApiSource, Definitions
from snapshots.definitions.uids import fix_uids, with_uid
from snapshots.definitions.workspace import load_workspace
from snapshots.model import Api, ApiKind, Field, FieldType, Member, SignalSettings, ViewSettings, Workspace
from snapshots.problems import Problems

REAL = Path(__file__).parents[2] / "real_content"

WORKSPACE = "id: acme\nlanguages: [ja, en, pt-BR]\n"
BLOG = "uid: api_blog\nendpoint: blog\nkind: list\nfields:\n  - {id: title, type: text}\n"


def load(root: Path, files: dict[str, str | bytes]) -> tuple[Definitions | None, list[str]]:
    """The definitions in some files, and the problems as ``file:line severity: message``."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    problems = Problems()
    return load_workspace(root, problems), [f"{p.file}:{p.line} {p.severity}: {p.message}" for p in problems.kept]


def blog(root: Path, text: str, **others: str) -> tuple[Definitions | None, list[str]]:
    """The definitions of a workspace whose apis/blog.yaml is ``text``."""
    files = {f"apis/{name}.yaml": content for name, content in others.items()}
    return load(root, {"workspace.yaml": WORKSPACE, "apis/blog.yaml": text, **files})


def test_everything_a_definition_can_say(tmp_path: Path) -> None:
    definitions, problems = load(
        tmp_path,
        {
            "workspace.yaml": """\
id: acme
name: Acme
timezone: Asia/Tokyo
languages: [ja, en, pt-BR]
domains: [WWW.acme.example, "*.acme.example", localhost]
members:
  - {name: Mika, email: mika@acme.example, role: owner}
views: {dedupe_minutes: 0, per_address_per_minute: 9}
signals: {next_change: false}
rate_limit: 77
dashboard_url: https://cms.acme.example/
lang_map: {pt_BR: pt-BR, eng: en}
""",
            "apis/b.yml": """\
uid: api_b
name: Blog
endpoint: Blog-1
kind: list
multilingual: true
preview_url: https://{lang}.acme.example/preview/?id={id}&key={draftKey}
description: |
  What is new.

  Every week.
source:
  - pages/{section}/{name}.md
  - pages.{lang}/{section}/{name}.md
id: "{section}-{original|name}"
id_map: {"a-[": a-bracket}
meta: {publishedAt: date, updatedAt: "{year}-01-01", status: ""}
lang_map: {eng: ja}
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: body, name: Body, type: richtext, description: " The whole text. "}
  - {id: kind, type: single_select, options: [news, 1.10, "on"], from: $section}
  - {id: tags, type: multiple_select}
  - {id: bio, type: textarea, from: "bio.{lang}"}
  - {id: author, type: reference, api: people}
  - {id: related, type: references, api: Blog-1}
  - {id: membership, type: text, from: status}
""",
            "apis/a.yaml": "uid: api_a\nendpoint: people\nkind: list\nfields: []\nsource: people.yaml\n",
            "apis/c.yaml": "uid: api_c\nendpoint: site\nkind: object\nfields:\n  - {id: body, type: richtext}\n",
            "apis/.hidden.yaml": "nonsense",
            "apis/readme.md": "nonsense",
        },
    )
    assert problems == []
    text = FieldType.TEXT
    assert definitions is not None
    assert definitions.workspace == Workspace(
        id="acme",
        name="Acme",
        languages=("ja", "en", "pt-BR"),
        timezone="Asia/Tokyo",
        domains=("www.acme.example", "*.acme.example", "localhost"),
        members=(Member("Mika", "mika@acme.example", "owner"),),
        views=ViewSettings(0, 9),
        signals=SignalSettings(next_change=False),
        rate_limit=77,
        dashboard_url="https://cms.acme.example",
        apis=(
            Api("api_a", "people", "people", ApiKind.LIST, False, ()),
            Api(
                "api_b",
                "Blog",
                "Blog-1",
                ApiKind.LIST,
                True,
                (
                    Field("title", "Title", text, required=True),
                    Field("body", "Body", FieldType.RICHTEXT, description="The whole text."),
                    Field("kind", "kind", FieldType.SINGLE_SELECT, options=("news", "1.10", "on")),
                    Field("tags", "tags", FieldType.MULTIPLE_SELECT),
                    Field("bio", "bio", FieldType.TEXTAREA),
                    Field("author", "author", FieldType.REFERENCE, target="api_a"),
                    Field("related", "related", FieldType.REFERENCES, target="api_b"),
                    Field("membership", "membership", text),
                ),
                "https://{lang}.acme.example/preview/?id={id}&key={draftKey}",
                "What is new.\n\nEvery week.",
            ),
            Api("api_c", "site", "site", ApiKind.OBJECT, False, (Field("body", "body", FieldType.RICHTEXT),)),
        ),
    )
    assert definitions.sources["api_b"] == ApiSource(
        patterns=("pages/{section}/{name}.md", "pages.{lang}/{section}/{name}.md"),
        id="{section}-{original|name}",
        meta=(("publishedAt", "date"), ("updatedAt", "{year}-01-01"), ("status", "")),
        lang_map={"pt_BR": "pt-BR", "eng": "ja"},
        id_map={"a-[": "a-bracket"},
        fields={
            "title": "title",
            "body": "$body",
            "kind": "$section",
            "tags": "tags",
            "bio": "bio.{lang}",
            "author": "author",
            "related": "related",
            "membership": "status",
        },
    )
    assert definitions.sources["api_a"].patterns == ("people.yaml",)
    assert definitions.sources["api_c"] == ApiSource(
        (), None, (), {"pt_BR": "pt-BR", "eng": "en"}, {}, {"body": "$body"}
    )
    assert definitions.files == {"api_a": "apis/a.yaml", "api_b": "apis/b.yml", "api_c": "apis/c.yaml"}
    assert definitions.read == ("workspace.yaml", "apis/a.yaml", "apis/b.yml", "apis/c.yaml")
    assert pickle.loads(pickle.dumps(definitions)) == definitions  # noqa: S301 - just written


def test_the_defaults(tmp_path: Path) -> None:
    definitions, problems = blog(tmp_path, BLOG + "meta:\nname: ~\n")
    assert problems == []
    assert definitions is not None
    assert definitions.workspace == Workspace(
        id="acme",
        name="acme",
        languages=("ja", "en", "pt-BR"),
        apis=(Api("api_blog", "blog", "blog", ApiKind.LIST, False, (Field("title", "title", FieldType.TEXT),)),),
    )
    assert definitions.sources == {"api_blog": ApiSource((), None, (), {}, {}, {"title": "title"})}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("id: Acme", "2 error: id: 'Acme' is not allowed"),
        ("id: -a", "2 error: id: '-a' is not allowed"),
        ("id: " + "a" * 64, "2 error: id: "),
        ("id: [a]", "2 error: id: expected a text, got a list"),
        ("id:", "2 error: 'id' is missing: write the ID"),
        ("nmae: Acme", "2 error: unknown key 'nmae'; did you mean 'name'?"),
        ("xyz: 1", "2 error: unknown key 'xyz': known are id, name, timezone"),
        ("timezone: Asia/Tokio", "2 error: timezone: 'Asia/Tokio' is not an IANA time zone"),
        ("timezone: ../../etc/passwd", "2 error: timezone: "),
        ("languages: []", "2 error: languages: is empty"),
        ("languages: en", "2 error: languages: expected a list, got 'en'"),
        ("languages: [en, EN]", "2 error: languages: the language 'EN' appears twice ('en')"),
        ("languages: [en, p t]", "2 error: languages.1: 'p t' is not a language code"),
        ("languages: [en, draft]", "2 error: languages.1: 'draft' cannot be a language"),
        ("domains: [https://acme.example]", "2 error: domains.0: 'https://acme.example' is not a domain"),
        ("domains: [acme.example:80]", "2 error: domains.0: "),
        ("domains: ['*']", "2 error: domains.0: "),
        ("members: [{name: a, email: b, role: owner}]", "2 error: members.0.email: 'b' is not an e-mail address"),
        ("members: [{name: a, email: a@b, role: boss}]", "2 error: members.0.role: 'boss' is not one of owner, maint"),
        ("members: [{name: a, role: owner}]", "2 error: 'email' of members.0 is missing"),
        (
            "members: [{name: a, mail: a@b, email: a@b, role: owner}]",
            "2 error: unknown key 'mail'; did you mean 'email'?",
        ),
        ("members: [a]", "2 error: members.0: expected a mapping (key: value), got 'a'"),
        ("rate_limit: 0", "2 error: rate_limit: expected a whole number from 1, got '0'"),
        ("rate_limit: '300'", "2 error: rate_limit: expected a whole number"),
        ("rate_limit: 1e3", "2 error: rate_limit: "),
        ("views: {dedupe_minutes: -1}", "2 error: views.dedupe_minutes: expected a whole number from 0"),
        ("signals: {next_change: never}", "2 error: signals.next_change: expected true or false, got 'never'"),
        ("signals: {next_chang: false}", "2 error: unknown key 'next_chang'; did you mean 'next_change'?"),
        ("signals: false", "2 error: signals: expected a mapping (key: value), got 'false'"),
        ("views: {dedupe: 1}", "2 error: unknown key 'dedupe'; did you mean 'dedupe_minutes'?"),
        (
            "dashboard_url: cms.acme.example",
            "2 error: dashboard_url: 'cms.acme.example' is not an http or https address",
        ),
        ("dashboard_url: 'http://[::1'", "2 error: dashboard_url: "),
        ("lang_map: {pt_BR: pt}", "2 error: lang_map leads 'pt_BR' to 'pt', which is not one of the languages"),
        ("lang_map: {a/b: en}", "2 error: lang_map: 'a/b' cannot stand in a file name"),
        ("name: x\nname: y", "3 error: the key 'name' appears twice: first on line 2"),
    ],
)
def test_what_is_wrong_with_a_workspace(tmp_path: Path, line: str, says: str) -> None:
    key = line.partition(":")[0]
    rest = [text for text in ("id: acme", "languages: [ja, en]") if not text.startswith(f"{key}:")]
    text = "\n".join(["# the workspace", line, *rest]) + "\n"
    _, problems = load(tmp_path, {"workspace.yaml": text, "apis/blog.yaml": BLOG})
    assert len(problems) == 1
    assert problems[0].startswith(f"workspace.yaml:{says}")


API_LINES = {"uid": "uid: api_blog", "endpoint": "endpoint: blog", "kind": "kind: list", "fields": "fields: []"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("uid: a b", "2 error: uid: 'a b' is not allowed"),
        ("uid: ''", "2 error: uid: '' is not allowed"),
        ("uid:", "2 error: 'uid' is missing; 'cms check --fix' writes one"),
        ("endpoint: _schema", "2 error: endpoint: '_schema' is not allowed"),
        ("kind: lists", "2 error: kind: 'lists' is not one of list, object; did you mean 'list'?"),
        ("kind:", "2 error: 'kind' is missing: write 'kind: list' or 'kind: object'"),
        ("fields: {}", "2 error: fields: expected a list, got a mapping"),
        ("multilingual: yes", "2 error: multilingual: expected true or false, got 'yes'; write true or false"),
        ("multilingual: 'true'", "2 error: multilingual: expected true or false"),
        ("filds: []", "2 error: unknown key 'filds'; did you mean 'fields'?"),
        ("source: /a/{id}.md", "2 error: '/a/{id}.md' begins with '/'"),
        ("source:\n  - a.md\n  - '{id.md'", "4 error: '{id.md' has a '{' without its '}'"),
        ("source: a/*.txt", "2 error: 'a/*.txt': content is read from md, yaml, yml, json, jsonl, toml"),
        ("source: {a: b}", "2 error: source.0: expected a text, got a mapping"),
        ("id: slug", "2 error: id 'slug' names no part"),
        ("id: '{slug'", "2 error: '{slug' has a brace without its other half"),
        ("id: '{a||b}'", "2 error: '{a||b}': {a||b} must name one part or key"),
        ("id_map: {a: b}", "2 error: id_map needs an 'id' template, and there is none"),
        ("preview_url: site.example/{id}", "2 error: preview_url: 'site.example/{id}' is not an http or https address"),
        (
            "preview_url: 'javascript:alert(1)//{id}'",
            "2 error: preview_url: 'javascript:alert(1)//{id}' is not an http or",
        ),
        (
            "preview_url: https://site.example/{ID}",
            "2 error: preview_url: {ID} is not a placeholder here; use {id}, {lang}, {draftKey}; did you mean 'id'",
        ),
        ("preview_url: https://site.example/{}", "2 error: preview_url: {} is not a placeholder here"),
        (
            "preview_url: https://site.example/{id",
            "2 error: preview_url: 'https://site.example/{id' has a brace without",
        ),
        ("preview_url: [https://site.example/]", "2 error: preview_url: expected a text, got a list"),
        ("meta: {published: date}", "2 error: meta: unknown key 'published'; known are createdAt"),
        ("meta: {id: '{slug}'}", "2 error: meta.id: expected a key, got '{slug}'; write the template under 'id'"),
        ("meta: {lang: $name}", "2 error: meta.lang: expected a key, got '$name'"),
        ("exclude: ['../x']", "2 error: '../x' leads out of the workspace"),
        ("source: 'a/x{path}.md'", "2 error: 'x{path}.md': {path} takes several segments, so it must begin its own"),
        ("source: 'a/x{lang?}.md'", "2 error: 'a/x{lang?}.md': an optional part must be a whole segment"),
        ("meta: {createdAt: $date}", "2 error: meta.createdAt: '$date' is nothing that can be read"),
        ("lang_map: {pt_BR: pt}", "2 error: lang_map leads 'pt_BR' to 'pt'"),
        ("lang_map: {pt_BR: p t}", "2 error: lang_map.pt_BR: 'p t' is not a language code"),
        ("fields: [{id: a}]", "2 error: 'type' of fields.0 is missing"),
        ("fields: [{id: a, type: txt}]", "2 error: fields.0.type: 'txt' is not one of text, textarea"),
        ("fields: [{id: a, type: text, requird: true}]", "2 error: unknown key 'requird'; did you mean 'required'?"),
        ("fields: [{id: a-b, type: text}]", "2 error: fields.0.id: 'a-b' is not allowed"),
        ("fields: [{id: createdAt, type: text}]", "2 error: no field can be called 'createdAt'"),
        ("fields: [{id: ID, type: text}]", "2 error: no field can be called 'ID': every entry has 'id'"),
        ("fields: [{id: live_From, type: text}]", "2 error: the field 'live_From' needs the name 'live_from'"),
        (
            "fields: [{id: a, type: text}, {id: A, type: number}]",
            "2 error: the field 'A' needs the name 'a', which is the",
        ),
        (
            "fields: [{id: a, type: text}, {id: a__Search, type: number}]",
            "2 error: the field 'a__Search' needs the name",
        ),
        (
            "fields: [{id: a__search, type: number}, {id: a, type: text}]",
            "2 error: the field 'a' needs the name 'a__sea",
        ),
        ("fields: [{id: a, type: text, options: [b]}]", "2 error: a: only single_select and multiple_select"),
        ("fields: [{id: a, type: single_select, options: []}]", "2 error: fields.0.options: is empty"),
        (
            "fields: [{id: a, type: single_select, options: [b, b]}]",
            "2 error: fields.0.options: the option 'b' appears",
        ),
        (
            "fields: [{id: a, type: single_select, options: [b, ~]}]",
            "2 error: fields.0.options.1: expected a text, got no",
        ),
        ("fields: [{id: a, type: text, api: blog}]", "2 error: a: only reference and references fields have an api"),
        (
            "fields: [{id: a, type: text, from: $bdy}]",
            "2 error: a: '$bdy' is nothing that can be read: there are $body",
        ),
        ("fields: [{id: a, type: text, from: '{x'}]", "2 error: a: '{x' has a brace"),
        ("fields: [{id: a, type: reference}]", "2 warning: a: no 'api'"),
        (
            "fields: [{id: a, type: references, api: blogs}]",
            "2 warning: a: there is no API 'blogs', so references are deli",
        ),
        ("fields: [{id: a, type: references, api: site}]", "2 error: a: 'site' is an object API"),
        ("fields: [{id: status, type: text}]", "2 warning: the field 'status' reads the key 'status', which also has"),
        ("fields: [{id: a, type: text, from: lang}]", "2 warning: the field 'a' reads the key 'lang'"),
    ],
)
def test_what_is_wrong_with_an_api(tmp_path: Path, line: str, says: str) -> None:
    key = line.partition(":")[0]
    text = "\n".join(["# an API", line, *(text for name, text in API_LINES.items() if name != key)]) + "\n"
    site = "uid: api_site\nendpoint: site\nkind: object\nfields: []\n"
    definitions, problems = blog(tmp_path, text, site=site)
    assert [problem.partition("error")[0].partition("warning")[0] for problem in problems] == [
        f"apis/blog.yaml:{says.split(maxsplit=1)[0]} "
    ]
    assert problems[0].startswith(f"apis/blog.yaml:{says}")
    assert definitions is not None
    kept = [api.endpoint for api in definitions.workspace.apis]
    assert kept == (["blog", "site"] if "warning" in says else ["site"])


def test_all_problems_of_all_files_come_out_of_one_run(tmp_path: Path) -> None:
    definitions, problems = load(
        tmp_path,
        {
            "workspace.yaml": "id: A\nlanguages: []\nfoo: 1\n",
            "apis/a.yaml": "uid: api_a\nendpoint: a b\nkind: x\nfields:\n  - {id: 1, type: text}\n  - {type: y}\n",
            "apis/b.yaml": "- a\n",
            "apis/c.yaml": "uid: [\n",
            "apis/d.yaml": b"uid: \xff\n",
            "apis/e.yaml": BLOG,
            "apis/g.yaml": "\n# nothing that is needed\nname: G\n",
            "apis/f.yaml": BLOG.replace("blog", "BLOG").replace("api_BLOG", "api_blog"),
        },
    )
    assert definitions is None
    assert [problem.partition(" ")[0] for problem in problems] == [
        "apis/a.yaml:2",
        "apis/a.yaml:3",
        "apis/a.yaml:5",
        "apis/a.yaml:6",
        "apis/a.yaml:6",
        "apis/b.yaml:1",
        "apis/c.yaml:2",
        "apis/d.yaml:1",
        "apis/f.yaml:1",
        "apis/f.yaml:2",
        *["apis/g.yaml:3"] * 4,
        "workspace.yaml:1",
        "workspace.yaml:2",
        "workspace.yaml:3",
    ]
    assert "uid 'api_blog' is already taken by apis/e.yaml:1" in "\n".join(problems)
    assert "endpoint 'BLOG' is already taken by apis/e.yaml:2 (case is ignored)" in "\n".join(problems)


def test_an_endpoint_that_may_be_in_a_broken_file_is_not_reported_as_missing(tmp_path: Path) -> None:
    text = BLOG + "  - {id: author, type: reference, api: authors}\n"
    _, problems = blog(tmp_path, text, authors="uid: [\n")
    assert [problem.partition(" ")[0] for problem in problems] == ["apis/authors.yaml:2"]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"apis/blog.yaml": BLOG}, "workspace.yaml:1 error: there is no workspace.yaml"),
        ({"workspace.yaml": WORKSPACE}, "workspace.yaml:1 error: no API is defined"),
        ({"workspace.yaml": "a: " + "[" * 100_000, "apis/a.yaml": BLOG}, "workspace.yaml:1 error: mappings and lists"),
        (
            {"workspace.yaml": b"\0" * 5_000_000, "apis/a.yaml": BLOG},
            "workspace.yaml:1 error: is not a file of at most",
        ),
        ({"workspace.yaml/x": "", "apis/a.yaml": BLOG}, "workspace.yaml:1 error: is not a file"),
        ({"workspace.yaml": "", "apis/a.yaml": BLOG}, "workspace.yaml:1 error: the file has no content"),
    ],
)
def test_workspaces_that_cannot_be_used(tmp_path: Path, files: dict[str, str | bytes], says: str) -> None:
    _, problems = load(tmp_path, files)
    assert len(problems) == 1
    assert problems[0].startswith(says)


@pytest.mark.parametrize(
    ("link", "target", "says"),
    [
        ("workspace.yaml", "../outside/workspace.yaml", "leads out of the workspace"),
        ("apis", "../outside/apis", "leads out of the workspace"),
        ("apis/blog.yaml", "../../outside/apis/blog.yaml", "leads out of the workspace"),
        ("apis/blog.yaml", "../.git/blog.yaml", "hidden file"),
        ("apis/blog.yaml", "nowhere.yaml", "leads nowhere"),
        ("workspace.yaml", "loop.yaml", "leads nowhere"),
    ],
)
def test_definitions_are_read_from_the_workspace_alone(tmp_path: Path, link: str, target: str, says: str) -> None:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    for place, folder in ((root, "apis"), (outside, "apis"), (root, ".git")):
        (place / folder).mkdir(parents=True)
        (place / "workspace.yaml").write_text(f"{WORKSPACE}secret: 1\n" if place is outside else WORKSPACE)
        (place / folder / "blog.yaml").write_text(
            f"SECRET: 1\n{BLOG}" if folder != "apis" or place is outside else BLOG
        )
    (root / "loop.yaml").symlink_to("loop.yaml")
    replaced = root / link
    shutil.rmtree(replaced) if replaced.is_dir() else replaced.unlink()
    replaced.symlink_to(target)
    _, problems = load(root, {})
    assert any(problem.startswith(f"{link}:1 error: is a link") and says in problem for problem in problems)
    assert "secret" not in "".join(problems).lower()
    before = {
        path: path.read_bytes() for path in tmp_path.rglob("*.yaml") if path.name != "loop.yaml" and path.exists()
    }
    assert fix_uids(root) == []
    assert {path: path.read_bytes() for path in before} == before


def test_a_link_inside_the_workspace_is_followed(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / "definitions/apis").mkdir(parents=True)
    (root / "definitions/apis/blog.yaml").write_text(BLOG)
    (root / "definitions/acme.yaml").write_text(WORKSPACE)
    (root / "apis").symlink_to("definitions/apis")
    (root / "workspace.yaml").symlink_to("definitions/acme.yaml")
    (tmp_path / "named-otherwise").symlink_to(root)
    definitions, problems = load(tmp_path / "named-otherwise", {})
    assert problems == []
    assert definitions is not None
    assert [api.endpoint for api in definitions.workspace.apis] == ["blog"]


@pytest.mark.parametrize(
    ("source", "fields", "expected"),
    [
        ("", "{id: body, type: richtext}", {"body": "$body"}),
        ("source: p/*.md\n", "{id: body, type: richtext}", {"body": "$body"}),
        ("source: [p/*.yaml, p/*.md]\n", "{id: body, type: richtext}", {"body": "$body"}),
        ("source: p/*.yaml\n", "{id: body, type: richtext}", {"body": "body"}),
        ("source: p/**\n", "{id: body, type: richtext}", {"body": "$body"}),
        ("", "{id: body, type: richtext, from: text}", {"body": "text"}),
        ("", "{id: body, type: richtext}, {id: raw, type: textarea, from: $body}", {"body": "body", "raw": "$body"}),
        ("", "{id: a, type: richtext}, {id: b, type: richtext}", {"a": "a", "b": "b"}),
    ],
)
def test_who_gets_the_text_after_the_front_matter(
    tmp_path: Path, source: str, fields: str, expected: dict[str, str]
) -> None:
    text = f"uid: api_blog\nendpoint: blog\nkind: list\n{source}fields: [{fields}]\n"
    definitions, problems = blog(tmp_path, text)
    assert problems == []
    assert definitions is not None
    assert definitions.sources["api_blog"].fields == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# c\r\nendpoint: blog # x\r\nkind: list\r\n", "# c\r\nuid: NEW\r\nendpoint: blog # x\r\nkind: list\r\n"),
        ("---\n# c\nname: x\n", "---\n# c\nuid: NEW\nname: x\n"),
        ("  a: 1\n  b: 2\n", "  uid: NEW\n  a: 1\n  b: 2\n"),
        ("{a: 1}", "{uid: NEW, a: 1}"),
        ("{}", "{uid: NEW}"),
        ("uid:\nendpoint: b\n", "uid: NEW\nendpoint: b\n"),
        ("a: 1\nuid: ~ # mine\n", "a: 1\nuid: NEW # mine\n"),
        ("a: 1\nuid:   # mine\n", "a: 1\nuid: NEW   # mine\n"),
        ('"uid" : null\na: 1', '"uid" : NEW\na: 1'),
        ("\ufeffa: ü\n", "\ufeffuid: NEW\na: ü\n"),
        ("a: {uid: 1}\n", "uid: NEW\na: {uid: 1}\n"),
        ("a: &x [1]\nb: *x\n", "uid: NEW\na: &x [1]\nb: *x\n"),
        ("uid: x\na: 1\n", None),
        ("a: 1\nuid: 'x'\n", None),
        ("- a\n", None),
        ("text", None),
        ("", None),
        ("a: [\n", None),
        ("[" * 100_000, None),
        ("a: " + "[" * 100_000, None),
    ],
)
def test_a_missing_uid_is_written_and_nothing_else(before: str, after: str | None) -> None:
    assert with_uid(before, "NEW") == after


def test_fixing_makes_a_workspace_loadable(tmp_path: Path) -> None:
    text = BLOG.partition("\n")[2]
    _, problems = blog(tmp_path, text, other=text.replace("blog", "other"), good=BLOG.replace("blog", "good"))
    assert [problem.partition(" ")[0] for problem in problems] == ["apis/blog.yaml:1", "apis/other.yaml:1"]
    (tmp_path / "apis/blog.yaml").chmod(0o640)
    good = (tmp_path / "apis/good.yaml").stat().st_mtime_ns
    assert fix_uids(tmp_path) == ["apis/blog.yaml", "apis/other.yaml"]
    assert fix_uids(tmp_path) == []
    definitions, problems = load(tmp_path, {})
    assert problems == []
    assert definitions is not None
    uids = [api.uid for api in definitions.workspace.apis]
    assert len({uid for uid in uids if uid.startswith("api_") and len(uid) == 16 and uid[4:].isalnum()}) == 2
    assert (tmp_path / "apis/blog.yaml").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "apis/good.yaml").stat().st_mtime_ns == good
    assert sorted(path.name for path in (tmp_path / "apis").iterdir()) == ["blog.yaml", "good.yaml", "other.yaml"]


@pytest.mark.parametrize("site", ["programming_historian", "tldr"])
def test_the_definitions_that_adopt_real_sites_are_good(site: str) -> None:
    problems = Problems()
    assert load_workspace(REAL / site, problems) is not None
    assert problems.kept == []
