"""Editor configurations: what they say of many kinds of workspaces, and that real editors take them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from snapshots.build.build import check
from snapshots.definitions.workspace import load_workspace
from snapshots.editing.config import EditorConfig, editor_config
from snapshots.editing.editors import Editor
from snapshots.editing.repository import Repository
from snapshots.problems import Problems
from tests.engine.typed.clients import folder_server
from tests.programs import node_packages
from tests.server.reference.test_browser import CHROMIUM, FLAGS

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


def test_a_workspace_inside_of_a_repository(tmp_path: Path) -> None:
    root = written(tmp_path, api(), {"content/posts/a.en.md": POST})
    document = made(root, repository=Repository("gitlab", "acme/site", "live", "cms/")).document
    assert document["backend"] == {"name": "gitlab", "repo": "acme/site", "branch": "live"}
    assert document["collections"][0]["folder"] == "cms/content/posts"


@pytest.mark.slow
def test_sveltia_cms_takes_it(tmp_path: Path) -> None:
    """The schema that the editor comes with has nothing against it, lists in one file included."""
    schema = json.loads((node_packages.unpacked("@sveltia/cms", "0.221.1") / "schema" / "sveltia-cms.json").read_text())
    found = made(EXAMPLE, Editor.SVELTIA)
    jsonschema.validate(found.document, schema)
    assert {one["name"] for one in found.document["collections"]} == {"bakers", "breads", "journal", "shop"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found.document, "colections": []}, schema)


@pytest.mark.slow
def test_decap_cms_edits_a_workspace(tmp_path: Path) -> None:
    """The real editor takes the configuration, shows an entry in both languages, and writes one that builds."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    package = node_packages.unpacked("decap-cms", "3.16.3")
    root = shutil.copytree(EXAMPLE, tmp_path / "komugi")
    for file in root.glob("content/*/*.md"):
        if not file.stem.endswith((".ja", ".draft")):
            file.rename(file.with_name(f"{file.stem}.en.md"))
    site = tmp_path / "site"
    shutil.copytree(package / "dist", site, ignore=shutil.ignore_patterns("*.map", "*cms.js.LICENSE*"))
    files = {
        path.relative_to(root).as_posix(): path.read_text()
        for path in root.glob("content/**/*.*")
        if path.suffix in (".md", ".yaml")
    }
    config = {**made(root).document, "backend": {"name": "test-repo"}, "local_backend": False}
    (site / "index.html").write_text(PAGE.replace("CONFIG", json.dumps(config)).replace("FILES", json.dumps(files)))
    with folder_server(site) as url, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1500, "height": 1000})
        page.goto(f"{url}/index.html")
        page.get_by_role("button", name="Login").click()
        page.get_by_text("Country rye").first.click()
        page.locator('input[id^="name-field"]').first.fill("Country rye, large")
        page.get_by_text("三種類の粉").first.wait_for()
        page.screenshot(path=tmp_path / "decap.png")
        page.get_by_role("button", name="Publish").first.click()
        page.get_by_text("Publish now").first.click()
        saved = "repoFiles.content.breads['country-rye.en.md'].content"
        page.wait_for_function(f"{saved}.includes('large')")
        for name in ("country-rye.en.md", "country-rye.ja.md"):
            (root / "content" / "breads" / name).write_text(page.evaluate(saved.replace("country-rye.en.md", name)))
        browser.close()
    text = (root / "content" / "breads" / "country-rye.en.md").read_text()
    front = yaml.safe_load(text.split("---")[1])
    before = yaml.safe_load((EXAMPLE / "content" / "breads" / "country-rye.md").read_text().split("---")[1])
    assert front == {**before, "name": "Country rye, large"}
    found = check(root, tmp_path / "cache", strict=False)
    assert found.errors == 0, list(found.kept)


PAGE = """<!doctype html><meta charset="utf-8"><body>
<script>
window.CMS_MANUAL_INIT = true;
window.repoFiles = {};
for (const [path, content] of Object.entries(FILES)) {
  const folders = path.split("/"), name = folders.pop();
  const folder = folders.reduce((tree, one) => (tree[one] ??= {}), repoFiles);
  folder[name] = {content, path};
  repoFiles[folders.join("/")] = folder;  // its test backend looks for folders by their whole path
}
</script>
<script src="decap-cms.js"></script>
<script>CMS.init({config: {...CONFIG, load_config_file: false}})</script>
"""
