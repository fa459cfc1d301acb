"""Editor configurations: what they say of many kinds of workspaces, and that real editors take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from snapshots.definitions.workspace import load_workspace
from snapshots.editing.config import EditorConfig, editor_config
from snapshots.editing.editors import Editor
from snapshots.editing.repository import Repository
from snapshots.problems import Problems
from tests.programs import node_packages
from tests.snapshots.editing.editors_in_browser import SVELTIA

EXAMPLE = Path(__file__).parents[3] / "cli" / "creating" / "example"
WORKSPACE = "id: site\nlanguages: [en, pt-BR]\n"
TEXT = "{id: title, type: text, required: true}"


def written(root: Path, api: str, files: dict[str, str], workspace: str = WORKSPACE) -> Path:
    root.mkdir(exist_ok=True)
    for name, text in {"workspace.yaml": workspace, "apis/posts.yaml": f"uid: api_posts\n{api}\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def made(root: Path, editor: Editor = Editor.DECAP, repository: Repository | None = None) -> EditorConfig:
    definitions = load_workspace(root, found := Problems())
    assert definitions is not None, list(found.kept)
    return editor_config(root, definitions, repository or Repository("github", "acme/site", "main"), editor)


def collections(root: Path, editor: Editor = Editor.DECAP) -> list[dict[str, Any]]:
    return list(made(root, editor).document["collections"])


def api(source: str = "", fields: str = TEXT, kind: str = "list", multilingual: str = "true") -> str:
    return f"endpoint: posts\nkind: {kind}\nmultilingual: {multilingual}\n{source}\nfields: [{fields}]"


POST = "---\ntitle: One\n---\nText\n"


def test_launches_can_be_chosen_where_there_are_any(tmp_path: Path) -> None:
    files = {"content/posts/a.md": POST}
    launches = WORKSPACE + "launches: {spring: 2027-03-01, autumn: 2027-09-01}\n"

    def launch(root: str, definition: str, workspace: str) -> dict[str, Any] | None:
        [posts] = collections(written(tmp_path / root, definition, files, workspace), Editor.SVELTIA)
        return next((one for one in posts["fields"] if one["label"] == "Launch"), None)

    found = launch("some", api(), launches)
    assert found is not None
    assert (found["name"], found["widget"], found["required"]) == ("launch", "select", False)
    assert found["options"] == ["spring", "autumn"]
    moved = launch("moved", api("meta: {launch: release}"), launches)
    assert moved is not None
    assert moved["name"] == "release"
    assert launch("none", api(), WORKSPACE) is None
    assert launch("off", api("meta: {launch: null}"), launches) is None
    assert launch("field", api(fields=TEXT + ", {id: launch, type: text}"), launches) is None


@pytest.mark.parametrize(
    ("source", "files", "expected"),
    [
        ("", ["content/posts/a.en.md", "content/posts/a.pt-BR.md"], [("content/posts", "md", "{{slug}}", None, True)]),
        ("source: blog/{id}.{lang?}.md", ["blog/a.en.md"], [("blog", "md", "{{slug}}", None, True)]),
        ("source: blog/{lang}/{id}.yaml", [], [("blog", "yaml", "{{slug}}", None, {"structure": "multiple_folders"})]),
        (
            "source: '{lang}/blog/{id}.md'",
            ["en/blog/a.md", "pt-BR/blog/a.md"],
            [("en/blog", "md", "{{slug}}", None, None), ("pt-BR/blog", "md", "{{slug}}", None, None)],
        ),
        (
            "source: _posts/{year}-{month}-{day}-{name}.markdown",
            ["_posts/2026-01-02-a.markdown"],
            [("_posts", "markdown", "{{year}}-{{month}}-{{day}}-{{slug}}", None, None)],
        ),
        ("source: blog/{id}/index.md", ["blog/a/index.md"], [("blog", "md", "{{slug}}", "{{slug}}/index", None)]),
    ],
)
def test_places(tmp_path: Path, source: str, files: list[str], expected: list[Any]) -> None:
    """Folders, extensions, names of new files and languages are those of the sources."""
    root = written(tmp_path, api(source), dict.fromkeys(files, POST))
    found = [
        tuple(one.get(key) for key in ("folder", "extension", "slug", "path", "i18n")) for one in collections(root)
    ]
    if source.startswith("source: blog/{lang}") and not files:
        found = [(folder, "yaml", *rest) for folder, _, *rest in found]
    assert found == expected
    assert len({one["name"] for one in collections(root)}) == len(expected)


@pytest.mark.parametrize(
    ("definition", "files", "warning"),
    [
        (api(), {"content/posts/a.md": POST}, "git mv content/posts/a.md content/posts/a.en.md"),
        (api(), {"content/posts.jsonl": '{"id": "a", "title": "A"}\n'}, "in one file (content/posts.jsonl)"),
        (api(), {"content/posts.yaml": "- {id: a, title: A}\n"}, "a list of entries in one file (content/posts.yaml)"),
        (api(multilingual="false"), {"content/posts/a.md": POST, "content/posts/b.yaml": "title: B\n"}, "only ."),
        (api(multilingual="false"), {"content/posts/2026/a.md": POST}, "not those in folders below"),
        (api("source: '{section}/{id}.md'"), {}, "begins with a placeholder"),
        (api("source: a/{section}-{id}.md"), {}, "{section}"),
        (api(fields=f"{TEXT}, {{id: map, type: json}}"), {}, "any JSON"),
        (api("source: a/{id}.md", f"{TEXT}, {{id: day, type: text, from: '{{a}}-{{b}}'}}"), {}, "not one key"),
        (api(fields="{id: size, type: number}"), {}, "no text field to name new files by"),
        (api(kind="object"), {}, "posts has no file yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_edited_is_told(tmp_path: Path, definition: str, files: dict[str, str], warning: str) -> None:
    found = made(written(tmp_path, definition, files))
    assert [text for text in found.warnings if warning in text], found.warnings


def test_languages_that_decap_does_not_take(tmp_path: Path) -> None:
    root = written(tmp_path, api(), {}, "id: site\nlanguages: [en, es-419]\n")
    assert "es-419" in made(root).warnings[0]
    assert made(root, Editor.SVELTIA).document["i18n"]["locales"] == ["en", "es-419"]


def test_fields(tmp_path: Path) -> None:
    """Each type has a widget that writes what the build reads, at the key where it is read."""
    fields = [
        TEXT,
        "{id: body, type: richtext}",
        "{id: city, type: textarea, from: bio.city}",
        "{id: town, type: number, from: bio.town}",
        "{id: kind, type: single_select, options: [a, b]}",
        "{id: tags, type: multiple_select}",
        "{id: same, type: reference, api: posts}",
        "{id: cover, type: image}",
        "{id: plain, type: image}",
        "{id: gallery, type: images}",
        "{id: menu, type: file}",
        "{id: blocks, type: groups, groups: [{id: hero, fields: [{id: text, type: text}]}, {id: rule, fields: []}]}",
    ]
    post = "---\ntitle: One\ncover: {url: /a.png, alt: A}\nplain: /b.png\n---\n"
    source = "meta: {publishedAt: date, status: null}"
    root = written(tmp_path, api(source, ", ".join(fields), multilingual="false"), {"content/posts/a.md": post})
    [collection] = collections(root)
    found = {field["name"]: field for field in collection["fields"]}
    assert {name: field["widget"] for name, field in found.items()} == {
        "title": "string",
        "body": "markdown",
        "bio": "object",
        "kind": "select",
        "tags": "list",
        "same": "relation",
        "cover": "object",
        "plain": "image",
        "gallery": "list",
        "menu": "file",
        "blocks": "list",
        "date": "datetime",
        "publishStart": "datetime",
        "publishEnd": "datetime",
    }
    assert [one["name"] for one in found["bio"]["fields"]] == ["city", "town"]
    assert (found["same"]["collection"], found["same"]["value_field"]) == ("posts", "{{slug}}")
    assert found["blocks"]["typeKey"] == "fieldId"
    assert [one["name"] for one in found["blocks"]["types"]] == ["hero", "rule"]
    assert "required" not in found["title"]
    assert found["kind"]["required"] is False
    assert collection["identifier_field"] == "title"


def fields_of(root: Path, editor: Editor) -> dict[str, Any]:
    [collection] = collections(root, editor)
    return {field["name"]: field for field in collection["fields"]}


def test_what_each_editor_needs_besides(tmp_path: Path) -> None:
    """Sveltia CMS leaves out what is empty, and rewrites rich text; Decap CMS asks for members of what is not there."""
    group = "{id: place, type: group, fields: [{id: city, type: text, required: true}, {id: photo, type: image}]}"
    needed = group.replace("place", "home").replace("group,", "group, required: true,")
    fields = (
        f"{TEXT}, {{id: body, type: richtext}}, {{id: open, type: boolean}}, "
        f"{{id: free, type: boolean, required: true}}, {{id: cover, type: image}}, {group}, {needed}"
    )
    root = written(tmp_path, api(fields=fields), {"content/posts/a.en.md": POST})
    decap, sveltia = made(root).document, made(root, Editor.SVELTIA).document
    assert sveltia["output"] == {"omit_empty_optional_fields": True}
    assert "output" not in decap
    assert sveltia["i18n"]["initial_locales"] == "default"
    assert "initial_locales" not in decap["i18n"]
    theirs, ours = fields_of(root, Editor.DECAP), fields_of(root, Editor.SVELTIA)
    assert ours["body"]["modes"] == ["raw", "rich_text"]
    assert "modes" not in theirs["body"]
    assert [one["value"] for one in ours["open"]["options"]] == [True, False]
    assert [one["open"]["widget"] for one in (theirs, ours)] == ["boolean", "select"]
    assert [one["free"]["widget"] for one in (theirs, ours)] == ["boolean", "boolean"]
    for name, required in (("place", False), ("home", True)):
        assert [member.get("required", True) for member in theirs[name]["fields"]] == [required, False]
        assert [member.get("required", True) for member in ours[name]["fields"]] == [True, False]
        [_, photo] = theirs[name]["fields"]
        assert [member.get("required", True) for member in photo["fields"]] == [False, False]
    assert [member["name"] for member in ours["cover"]["fields"]] == ["url", "alt"]
    assert [member.get("required", True) for member in ours["cover"]["fields"]] == [True, False]


@pytest.mark.parametrize(
    ("source", "folder", "public"),
    [
        ("", "/cms/content/posts/images", "./images"),
        ("source: blog/{lang}/{id}.md", "/cms/blog/images", "../images"),
        ("source: '{lang}/blog/{id}.md'", "/cms/en/blog/images", "./images"),
        ("source: blog/{id}/index.md", "images", "images"),
    ],
)
def test_pictures_are_saved_beside_entries(tmp_path: Path, source: str, folder: str, public: str) -> None:
    """With the whole path where entries share a folder: Sveltia CMS would delete all in it with one of them."""
    root = written(tmp_path, api(source), {})
    repository = Repository("github", "acme/site", "main", "cms/")
    found = made(root, Editor.SVELTIA, repository).document["collections"][0]
    assert (found["media_folder"], found["public_folder"]) == (folder, public)
    [found, *_] = collections(root)
    assert (found["media_folder"], found["public_folder"]) == ("images", "images")


@pytest.mark.parametrize(
    ("field", "value", "form"),
    [
        ("{id: cover, type: image}", "/a.png", "a mapping"),
        ("{id: tags, type: multiple_select}", "one", "a list"),
        ("{id: topics, type: multiple_select, options: [one]}", "one", "a list"),
        ("{id: all, type: references, api: posts}", "a", "a list"),
        ("{id: hours, type: groups, fields: [{id: day, type: text}]}", "{day: Monday}", "a list of mappings"),
        ("{id: hours, type: groups, fields: [{id: tags, type: multiple_select}]}", "[{tags: one}]",
         "a list of mappings"),
        ("{id: blocks, type: groups, groups: [{id: hero, fields: [{id: all, type: multiple_select}]}]}",
         "[{fieldId: hero, all: one}]", "a list of mappings"),
        ("{id: menu, type: file}", "[/a.pdf]", "one value"),
    ],
)  # fmt: skip
def test_what_an_editor_cannot_open_is_told(tmp_path: Path, field: str, value: str, form: str) -> None:
    """A file in which a value is right for a build, but not in the one form that the editor opens."""
    name = field.split(",", maxsplit=1)[0].removeprefix("{id: ")
    right = {"a mapping": "{url: /b.png, alt: B}"}.get(form, "")
    files = {"content/posts/a.en.md": f"---\ntitle: A\n{name}: {right}\n---\n"}
    root = written(tmp_path, api(fields=f"{TEXT}, {field}"), files)
    assert [text for text in made(root).warnings if "cannot open" in text] == []
    (root / "content/posts/b.en.md").write_text(f"---\ntitle: B\n{name}: {value}\n---\n")
    assert [text for text in made(root).warnings if "cannot open" in text] == [
        f"posts: the editor cannot open content/posts/b.en.md, where '{name}' is not written as {form}"
    ]


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("summary: ''", ["summary"]),
        ("summary: ~", []),
        ("summary:", []),
        ("title: ''", []),
        ("cover: {url: /a.png, alt: ''}", ["cover.alt"]),
        ("cover: {url: /a.png, alt: A}", []),
        ("hours: [{day: Mon}, {day: ''}]", ["hours.day"]),
        ("blocks: [{fieldId: rule}, {fieldId: hero, text: ''}]", ["blocks.text"]),
        ("tags: ['']", []),
    ],
)
def test_empty_texts_that_sveltia_cms_removes_are_told(tmp_path: Path, value: str, names: list[str]) -> None:
    fields = (
        f"{TEXT}, {{id: summary, type: textarea}}, {{id: cover, type: image}}, {{id: tags, type: multiple_select}}, "
        "{id: hours, type: groups, fields: [{id: day, type: text}]}, "
        "{id: blocks, type: groups, groups: [{id: hero, fields: [{id: text, type: text}]}, {id: rule, fields: []}]}"
    )
    root = written(tmp_path, api(fields=fields), {"content/posts/a.en.md": f"---\n{value}\n---\n"})
    told = "posts: Sveltia CMS leaves empty texts out: saving content/posts/a.en.md in it removes its empty "
    assert [text for text in made(root, Editor.SVELTIA).warnings if "empty" in text] == [f"{told}{n!r}" for n in names]
    assert [text for text in made(root).warnings if "empty" in text] == []


def test_references_to_several_apis(tmp_path: Path) -> None:
    """As IDs, unless the files name the API too."""
    root = written(tmp_path, api(fields=f"{TEXT}, {{id: all, type: references, apis: [posts]}}"), {})
    assert "fields" not in fields_of(root, Editor.DECAP)["all"]
    (root / "content/posts").mkdir(parents=True)
    (root / "content/posts/a.en.md").write_text("---\ntitle: A\nall: [{api: posts, id: a}]\n---\n")
    found = fields_of(root, Editor.DECAP)["all"]
    assert [member["name"] for member in found["fields"]] == ["api", "id"]
    assert found["fields"][0]["options"] == ["posts"]


def test_a_mapping_around_a_required_value_is_required(tmp_path: Path) -> None:
    fields = "{id: title, type: text, required: true, from: head.title}, {id: size, type: number, from: more.size}"
    root = written(tmp_path, api(fields=fields), {})
    found = fields_of(root, Editor.SVELTIA)
    assert found["head"].get("required", True)
    assert not found["more"]["required"]


def test_a_workspace_inside_of_a_repository(tmp_path: Path) -> None:
    root = written(tmp_path, api(), {"content/posts/a.en.md": POST})
    document = made(root, repository=Repository("gitlab", "acme/site", "live", "cms/")).document
    assert document["backend"] == {"name": "gitlab", "repo": "acme/site", "branch": "live"}
    assert document["collections"][0]["folder"] == "cms/content/posts"


@pytest.mark.slow
def test_sveltia_cms_takes_it(tmp_path: Path) -> None:
    """The schema that the editor comes with has nothing against it, lists in one file included."""
    schema = json.loads((node_packages.unpacked(*SVELTIA) / "schema" / "sveltia-cms.json").read_text())
    found = made(EXAMPLE, Editor.SVELTIA)
    jsonschema.validate(found.document, schema)
    assert {one["name"] for one in found.document["collections"]} == {"bakers", "breads", "journal", "shop"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found.document, "colections": []}, schema)
