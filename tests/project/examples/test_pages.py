"""The pages for Next.js, React and mobile apps: their requests are sent, and the files of an app compiled and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import node_packages
from tests.project.examples.projects import EXAMPLES
from tests.project.test_docs import blocks, check_links, matches
from tests.sites.example_server import ExampleServer, example_server

PAGES = ("react.md", "mobile.md")
FRAMEWORKS = {
    "astro": {"astro", "vite"},
    "nextjs": {"next", "react"},
    "nuxt": {"vite"},
    "sveltekit": {"@sveltejs/kit", "svelte", "vite"},
}
"""The pages of frameworks, and the packages that an empty project has."""
REACT_NATIVE = """
declare module "react-native" {
  import type { ReactElement, ReactNode } from "react";
  type Style = Record<string, number | string>;
  export function Text(props: { children?: ReactNode }): ReactElement;
  export function View(props: { children?: ReactNode }): ReactElement;
  export function Image(props: { source: { uri: string }; style: Style; accessibilityLabel: string }): ReactElement;
  export function FlatList<T>(props: {
    data: T[]; keyExtractor: (item: T) => string; renderItem: (row: { item: T }) => ReactElement;
  }): ReactElement;
  export const PixelRatio: { get(): number };
}
"""
"""What `app.tsx` uses of React Native, as its own types have it; the package is large."""
TRY = """
import { breads, source } from "./breads.js";
const { contents } = await breads("ja");
const [rye] = contents;
console.log(JSON.stringify({ names: contents.map(({ name }) => name), uri: source(rye!.photo!, 320, 2.5).uri }));
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("pages")) as server:
        yield server


def test_links_lead_somewhere() -> None:
    check_links("mobile.md")


def test_every_block_is_a_file_that_is_named_above_it_or_typed_in() -> None:
    for block in blocks("mobile.md"):
        title = block.settings.get("title")
        assert block.language == "console" or f"`{title}`" in block.before, block.line


@pytest.mark.parametrize("name", PAGES)
def test_what_is_typed_in_works_as_printed(name: str, server: ExampleServer, tmp_path: Path) -> None:
    typed = "".join(block.text for block in blocks(name) if block.language == "console")
    (tmp_path / "src").mkdir()  # which Vite makes
    script, shown = "set -e\n", ""
    for part in re.split(r"^\$ ", typed, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        script += f"{command}\necho\n"
        shown += f"{output}\n" if output else "\n"
    given = {**os.environ, "URL": f"{server.url}/v1/komugi", "KEY": server.key}
    ran = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert matches("".join(shown.split()), "".join(ran.stdout.split())), ran.stdout
    written = [*tmp_path.rglob("content.ts")]
    assert [file for file in written if "export class Client" in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_empty_project_gets_its_client_and_packages_as_the_page_says(
    name: str, server: ExampleServer, tmp_path: Path
) -> None:
    """With the address and the key in the file that the page names, and an npm that only notes what it installs."""
    page = blocks(f"{name}.md")
    settings = next(block for block in page if block.text.startswith("CMS_URL="))
    file = re.findall(r"`(\.env[.a-z]*)`", settings.before)[-1]
    address = f"{server.url}/v1/komugi"
    given = settings.text.replace("https://content.example.com/v1/my-site", address).replace("pq_…", server.key)
    assert given == f"CMS_URL={address}\nCMS_KEY={server.key}\n"
    (tmp_path / file).write_text(given)
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\necho "$@" >> installed\n')
    npm.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    [commands] = [block.text for block in page if "/_types/typescript" in block.text]
    ran = subprocess.run(
        ["bash", "-ec", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    [client] = tmp_path.rglob("content.ts")
    assert "export class Client" in client.read_text(encoding="utf-8")
    installed = {re.sub("(?<=.)@.*", "", word) for word in (tmp_path / "installed").read_text().split()}
    imported = {
        re.match("(?:@[^/]+/)?[^/]+", module)[0]  # type: ignore[index]
        for block in page
        if "title" in block.settings
        for module in re.findall(r'^(?:import|export) .*"((?:@[a-z]|[a-z])[^":]*)";?$', block.text, re.MULTILINE)
    }
    assert imported <= installed | FRAMEWORKS[name]


@pytest.mark.slow
def test_the_app_compiles_and_asks_for_what_the_server_has(server: ExampleServer, tmp_path: Path) -> None:
    packages = node_packages.node_modules(EXAMPLES / "react" / "package.json")
    (tmp_path / "node_modules").symlink_to(packages)
    files = {block.settings["title"]: block.text for block in blocks("mobile.md") if "title" in block.settings}
    breads = files["breads.ts"].replace("http://127.0.0.1:8787", server.url).replace("pq_…", server.key)
    client = (EXAMPLES / "react" / "src" / "content.ts").read_text(encoding="utf-8")
    written = {"breads.ts": breads, "app.tsx": files["app.tsx"], "content.ts": client, "try.ts": TRY}
    for name, text in {**written, "react-native.d.ts": REACT_NATIVE, "package.json": '{"type": "module"}'}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = {"strict": True, "module": "nodenext", "target": "es2022", "jsx": "react-jsx", "skipLibCheck": True}
    more = {"lib": ["es2022", "dom", "dom.iterable"], "types": [], "noUncheckedIndexedAccess": True}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": {**options, **more}}))
    tsc = subprocess.run([packages / ".bin/tsc"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert tsc.returncode == 0, tsc.stdout
    ran = subprocess.run(["node", "try.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert "メロンパン" in said["names"]
    assert re.fullmatch(rf"{re.escape(server.url)}/assets/komugi/[^?]+\?w=800&auto=format", said["uri"])


@pytest.mark.parametrize(("language", "member"), [("swift", r"let (\w+): (\S+)"), ("kotlin", r"val (\w+): ([\w<>?]+)")])
def test_records_of_apps_have_the_members_of_answers(language: str, member: str, server: ExampleServer) -> None:
    """No compiler of these languages is needed: what can be wrong is a name, or a value that may be missing."""
    [block] = [one for one in blocks("mobile.md") if one.language == language]
    records = dict(
        re.findall(r"(?:struct|class) (Picture|Bread)\b(.*?)(?:^}|\)$)", block.text, re.DOTALL | re.MULTILINE)
    )
    answer = server.get("breads?fields=name,price,photo&lang=ja&lang_fallback=true")
    found = {"Bread": answer["contents"][0], "Picture": answer["contents"][0]["photo"]}
    required = {"Bread": {"id", "name"}, "Picture": {"url"}}
    for name, example in found.items():
        members = dict(re.findall(member, records[name]))
        assert members.keys() == example.keys()
        assert {one for one, kind in members.items() if not kind.endswith("?")} == required[name]
