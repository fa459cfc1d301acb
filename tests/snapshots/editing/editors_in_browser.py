"""Decap CMS and Sveltia CMS as people use them: real programs from npm, in a browser, on the files of a workspace.

Decap CMS works on the files through its local server. Sveltia CMS works on them through the File System Access API, in
the browser's own file system, since nobody is there to choose a folder: files are put there before, and fetched after.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx2 as httpx
import yaml

from tests.engine.typed.clients import folder_server
from tests.programs import node_packages
from tests.servers.ports import free_port
from tests.sites.served_site import eventually

DECAP = ("decap-cms", "3.16.3")
SVELTIA = ("@sveltia/cms", "0.221.1")
SERVER = Path(__file__).parent / "package.json"
PAGE = re.compile(r"```html title=\.\./admin/index\.html\n(.*?)```", re.DOTALL)
GUIDE = Path(__file__).parents[3] / "docs" / "content-teams.md"


class OpenEditor(Protocol):
    """An editor that somebody has signed in to. Fields are known by their keys."""

    def open(self, collection: str, entry: str | None = None) -> None:
        """Open an entry, or the form of a new one."""

    def fill(self, field: str, text: str) -> None: ...

    def value(self, field: str) -> str: ...

    def add_picture(self, field: str, file: Path, alt: str) -> None: ...

    def add_item(self, field: str) -> None: ...

    def translate(self, lang: str, field: str, text: str) -> None:
        """Fill in a field of the open entry in another language."""

    def save(self) -> None: ...

    def delete(self, collection: str, entry: str, title: str) -> None: ...

    def fetch_files(self) -> None:
        """Have the files of the workspace be those that the editor has written."""


@contextmanager
def decap(browser: Any, root: Path, site: Path, config: str) -> Iterator[OpenEditor]:
    server = node_packages.node_modules(SERVER) / "decap-server" / "dist" / "index.js"
    port = free_port()
    local = {"local_backend": {"url": f"http://127.0.0.1:{port}/api/v1"}}
    _publish(site, node_packages.unpacked(*DECAP) / "dist", "*decap-cms.js", {**yaml.safe_load(config), **local})
    given = {"PORT": str(port), "BIND_HOST": "127.0.0.1", "GIT_REPO_DIRECTORY": str(root), "MODE": "fs"}
    with (site / "server.log").open("w") as log:
        running = subprocess.Popen(["node", str(server)], env={**os.environ, **given}, stdout=log, stderr=log)
    try:
        eventually(lambda: _answers(port))
        with folder_server(site) as url, _page(browser, site) as page:
            page.on("dialog", lambda dialog: dialog.accept())
            page.goto(f"{url}/index.html")
            page.get_by_role("button", name="Login").click()
            page.get_by_text("Collections").first.wait_for()
            yield _Decap(page, f"{url}/index.html")
    finally:
        running.kill()
        running.wait()


@contextmanager
def sveltia(browser: Any, root: Path, site: Path, config: str) -> Iterator[OpenEditor]:
    _publish(site, node_packages.unpacked(*SVELTIA) / "dist", "sveltia-cms.js", yaml.safe_load(config))
    (site / "empty.html").write_text("<!doctype html>")
    with folder_server(site) as url, _page(browser, site) as page:
        page.route(lambda address: not address.startswith(url), lambda route: route.abort())  # its fonts
        page.add_init_script(f"window.showDirectoryPicker = () => {_FOLDER}")
        page.goto(f"{url}/empty.html")
        page.evaluate(_PUT, {path: base64.b64encode(data).decode() for path, data in _files(root).items()})
        page.goto(f"{url}/index.html")
        page.get_by_role("button", name="Work with Local Repository").click()
        page.get_by_text("Collections").first.wait_for()
        yield _Sveltia(page, root)


class _Decap:
    def __init__(self, page: Any, address: str) -> None:
        self._page, self._address = page, address

    def open(self, collection: str, entry: str | None = None) -> None:
        self._page.goto("about:blank")  # after a save it goes on reading and drawing the entry
        self._page.goto(f"{self._address}#/collections/{collection}/{f'entries/{entry}' if entry else 'new'}")
        self._page.locator("[id*='-field-']").first.wait_for()

    def _input(self, field: str) -> Any:
        return self._page.locator(f"[id^='{field}-field-']").first

    def fill(self, field: str, text: str) -> None:
        self._input(field).fill(text)
        self._input(field).blur()

    def value(self, field: str) -> str:
        return str(self._input(field).input_value())

    def add_item(self, field: str) -> None:
        self._page.get_by_role("button", name=f"Add {field}").first.click()

    def add_picture(self, field: str, file: Path, alt: str) -> None:
        self._page.get_by_role("button", name="Choose an image").first.click()
        self._page.locator("input[type=file]").first.set_input_files(file)
        self._page.get_by_role("button", name="Choose selected").click()
        self._page.locator("[id^='alt-field-']").first.fill(alt)

    def translate(self, lang: str, field: str, text: str) -> None:
        other = self._page.locator(f"[id^='{field}-field-']").nth(1)
        self._page.get_by_text(f"Writing in {lang.upper()}").wait_for()
        other.fill(text)

    def save(self) -> None:
        self._page.get_by_text("Unsaved changes").wait_for()
        self._page.get_by_role("button", name="Publish", exact=True).click()
        self._page.get_by_text("Publish now").first.click()
        self._page.get_by_text("Changes saved").wait_for()

    def delete(self, collection: str, entry: str, title: str) -> None:
        self.open(collection, entry)
        self._page.get_by_role("button", name="Delete entry").click()
        self._page.wait_for_url(lambda address: address.endswith(f"/collections/{collection}"))

    def fetch_files(self) -> None:
        """Its server has written them."""


_FIELDS = "section.field"
_IN_A_FORM = re.compile("/(new|entries/[^/]*)$")


class _Sveltia:
    def __init__(self, page: Any, root: Path) -> None:
        self._page, self._root = page, root

    def open(self, collection: str, entry: str | None = None) -> None:
        _go(self._page, f"#/collections/{collection}")
        self._page.get_by_role("button", name="New").or_(self._page.get_by_role("row")).first.wait_for()
        _go(self._page, f"#/collections/{collection}/{f'entries/{entry}' if entry else 'new'}")
        self._page.locator(_FIELDS).first.wait_for()

    def _field(self, field: str) -> Any:
        found = self._page.locator(f"{_FIELDS}[data-key-path='{field}']").first
        while not found.count():  # what is further down is added as one scrolls
            self._page.locator(_FIELDS).last.scroll_into_view_if_needed()
        found.scroll_into_view_if_needed()
        return found

    def _input(self, field: str) -> Any:
        return self._field(field).locator("input:not([type=file]), textarea").first

    def fill(self, field: str, text: str) -> None:
        self._input(field).fill(text)

    def value(self, field: str) -> str:
        return str(self._input(field).input_value())

    def add_item(self, field: str) -> None:
        self._field(field).get_by_role("button").filter(has_text="Add").click()

    def add_picture(self, field: str, file: Path, alt: str) -> None:
        self._field(field).get_by_role("checkbox").first.click()
        self._field(field).locator("input[type=file]").first.set_input_files(file)
        self.fill(f"{field}.alt", alt)

    def translate(self, lang: str, field: str, text: str) -> None:
        self._page.get_by_text({"de": "German", "ja": "Japanese"}[lang]).first.click()
        enable = self._page.get_by_role("button").filter(has_text="Enable")
        enable.or_(self._page.locator(f"[lang='{lang}']")).first.wait_for()
        if enable.count():
            enable.click()
        self.fill(field, text)

    def save(self) -> None:
        self._page.get_by_role("button", name="Save").first.click()
        self._page.wait_for_url(lambda address: not _IN_A_FORM.search(address))

    def delete(self, collection: str, entry: str, title: str) -> None:
        _go(self._page, f"#/collections/{collection}")
        row = self._page.get_by_role("row").filter(has_text=title)
        row.get_by_role("checkbox").click()
        self._page.get_by_role("button", name="Delete").first.click()
        self._page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
        row.wait_for(state="detached")

    def fetch_files(self) -> None:
        written = {path: base64.b64decode(text) for path, text in self._page.evaluate(_GET).items()}
        for path in _files(self._root).keys() - written.keys():
            (self._root / path).unlink()
        for path, data in written.items():
            (self._root / path).parent.mkdir(parents=True, exist_ok=True)
            (self._root / path).write_bytes(data)


def _publish(site: Path, dist: Path, scripts: str, config: Any) -> None:
    """Make the website of an editor: its scripts, the configuration, and the page that the guide prints for it."""
    site.mkdir()
    for script in dist.glob(scripts):
        shutil.copy(script, site)
    (site / "config.yml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    printed = PAGE.search(GUIDE.read_text(encoding="utf-8"))
    assert printed is not None
    page = printed[1]
    assert "decap-cms.js" in page
    (site / "index.html").write_text(page if "decap" in scripts else page.replace("decap-cms.js", "sveltia-cms.js"))


@contextmanager
def _page(browser: Any, site: Path) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1500, "height": 1000}, locale="en-US", timezone_id="Asia/Tokyo")
    try:
        page = context.new_page()
        yield page
    except BaseException:
        page.screenshot(path=site / "failed.png")
        raise
    finally:
        context.close()


def _go(page: Any, place: str) -> None:
    page.evaluate("place => { location.hash = place; }", place)


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/").status_code > 0
    except httpx.TransportError:
        return False


def _files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


_FOLDER = "navigator.storage.getDirectory().then((all) => all.getDirectoryHandle('workspace', {create: true}))"
_PUT = f"""async (files) => {{
    const workspace = await {_FOLDER};
    await workspace.getDirectoryHandle(".git", {{create: true}});
    for (const [path, data] of Object.entries(files)) {{
        const steps = path.split("/"), name = steps.pop();
        let folder = workspace;
        for (const step of steps) folder = await folder.getDirectoryHandle(step, {{create: true}});
        const file = await (await folder.getFileHandle(name, {{create: true}})).createWritable();
        await file.write(Uint8Array.from(atob(data), (one) => one.charCodeAt(0)));
        await file.close();
    }}
}}"""
_GET = f"""async () => {{
    const found = {{}};
    const walk = async (folder, path) => {{
        for await (const [name, one] of folder.entries()) {{
            if (one.kind === "directory") await walk(one, `${{path}}${{name}}/`);
            else {{
                const bytes = new Uint8Array(await (await one.getFile()).arrayBuffer());
                found[path + name] = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
            }}
        }}
    }};
    await walk(await {_FOLDER}, "");
    return found;
}}"""
