"""What both clients make of addresses and pictures, and what they say on standard error."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from engine.typed.clients import python_client, typescript_client
from snapshots.model import Api, ApiKind, Field, FieldType, Group, ReferenceTarget, Workspace
from tests.engine.typed import clients
from tests.engine.typed.scripted_server import Scripted, page, scripted
from tests.engine.typed.test_typescript_client import TSC
from tests.programs import node_packages
from tests.server.pictures.picture_site import drawn, encoded, turned_exif
from tests.sites.example_server import EXAMPLE, ExampleServer, example_server

BODY = Field("body", "Body", FieldType.RICHTEXT)
COVER = Field("cover", "Cover", FieldType.IMAGE)
NOTE = Field("note", "Note", FieldType.TEXTAREA)
PEOPLE, POSTS, HOME = "api_people00001", "api_posts00001", "api_home000001"
FIELDS = (
    BODY,
    COVER,
    NOTE,
    Field("gallery", "Gallery", FieldType.IMAGES),
    Field("sheet", "Sheet", FieldType.FILE),
    Field("box", "Box", FieldType.GROUP, fields=(BODY, COVER, NOTE)),
    Field(
        "rows",
        "Rows",
        FieldType.GROUPS,
        groups=(
            Group("rich", "Rich", (BODY,)),
            Group("plain", "Plain", (Field("body", "Body", FieldType.TEXT), COVER)),
        ),
    ),
    Field("any", "Any", FieldType.JSON),
    Field("author", "Author", FieldType.REFERENCE, target=PEOPLE),
    Field(
        "more",
        "More",
        FieldType.REFERENCES,
        targets=(ReferenceTarget("people", PEOPLE), ReferenceTarget("posts", POSTS), ReferenceTarget("gone", None)),
    ),
)
PICS = Workspace(
    "pics",
    "Pics",
    ("en",),
    apis=(
        Api(POSTS, "Posts", "posts", ApiKind.LIST, False, FIELDS),
        Api(PEOPLE, "People", "people", ApiKind.LIST, False, (COVER, NOTE)),
        Api(HOME, "Home", "home", ApiKind.OBJECT, False, FIELDS),
    ),
)
COPIED = msgspec.structs.replace(PICS, id="copied", assets_sizes=False)
FILE, OTHER = "/assets/pics/a.jpg", "/assets/other/a.jpg"
HTML = (
    f'<p title="{FILE}">See &lt;img src="{FILE}"&gt; and src="{FILE}", <a href="@{FILE}?x=1&amp;y=2#z">a</a>,'
    f' <a href="/about">b</a>, <a href="{OTHER}">c</a></p><img alt="1 > 0 src=&quot;{FILE}&quot;" src="@{FILE}"'
    f' srcset="@{FILE}?w=384&amp;q=75 384w, @{FILE} 640w, https://x.example{FILE} 2x">'
    f'<video poster="@{FILE}" src="@{FILE}"></video><img src="https://x.example{FILE}">'
)
COVERS = {"url": f"@{FILE}", "width": 3, "height": 2, "alt": FILE}
PERSON = {"id": "p", "cover": COVERS, "note": FILE}
INSIDE = {"body": HTML, "cover": COVERS, "note": HTML.replace("@", "")}
ENTRY = {
    "id": "x",
    **INSIDE,
    "gallery": [COVERS, {**COVERS, "url": f"https://x.example{FILE}"}],
    "sheet": {"url": f"@{FILE}", "fileSize": 3},
    "box": INSIDE,
    "rows": [{"fieldId": "rich", "body": HTML}, {"fieldId": "plain", "body": HTML.replace("@", ""), "cover": COVERS}],
    "any": {"url": FILE, "body": HTML.replace("@", "")},
    "author": PERSON,
    "more": [{"_api": "people", **PERSON}, {"_api": "posts", "id": "y", **INSIDE, "box": None}, "id-alone"],
}
"""An entry in which ``@`` stands where the address of the server belongs."""
Run = Callable[..., Any]


def with_address(server: str) -> Any:
    return json.loads(json.dumps(ENTRY).replace("@", server))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for use in ("pictures/facts.ts", "pictures/facts.py", "package.json"):
        shutil.copy(clients.USES / use, folder)
    for workspace in (PICS, COPIED):
        (folder / f"{workspace.id}.ts").write_text(typescript_client(workspace))
        (folder / f"{workspace.id}.py").write_text(python_client(workspace))
    modules = node_packages.node_modules()
    clients.run(modules / ".bin" / "tsc", *TSC, "--noCheck", "facts.ts", cwd=folder)
    return folder


@pytest.fixture(params=["python", pytest.param("typescript", marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, folder: Path) -> Run:
    """(task, arguments) → what it printed, and with ``words`` what it said on standard error."""
    command = ["node", "facts.js"] if request.param == "typescript" else [sys.executable, "-W", "error", "facts.py"]

    def run(*arguments: str, words: bool = False, **environment: str) -> Any:
        around = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NODE_ENV")}
        done = subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env={**around, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return (json.loads(done.stdout), done.stderr) if words else json.loads(done.stdout)

    return run


@pytest.mark.parametrize("prefix", ["", "/behind/a-proxy"])
def test_addresses_of_files_are_absolute(run: Run, prefix: str) -> None:
    """Where the definitions say that a file or rich text is, and nowhere else."""
    listed = Scripted({"contents": [with_address("")], "totalCount": 1, "offset": 0, "limit": 10})
    with scripted([listed, Scripted(with_address(""))]) as server:
        found = run("entries", f"{server.url}{prefix}/v1/pics", "key")
    assert found == [with_address(server.url + prefix)] * 4


OWN = "https://h.example/cms/assets/pics/a." + "0123456789abcdef" * 2 + ".jpg"
SIZES = [
    ({"url": OWN, "width": 1000}, {"w": 640}, f"{OWN}?w=640", [(384, 384), (640, 640), (828, 828), (1200, 1000)]),
    ({"url": OWN, "width": 300}, {}, OWN, [(384, 300)]),
    ({"url": OWN, "width": 828}, {}, OWN, [(384, 384), (640, 640), (828, 828)]),
    (
        {"url": OWN, "width": 9000},
        {"w": 1, "h": 2, "fit": "crop", "fm": "avif", "q": 90, "auto": "format"},
        f"{OWN}?w=1&h=2&fit=crop&fm=avif&q=90&auto=format",
        [(384, 384), (640, 640), (828, 828), (1200, 1200), (1920, 1920), (3840, 3840)],
    ),
    ({"url": f"{OWN}?x=1#y", "width": 32}, {"h": 3}, f"{OWN}?x=1&h=3#y", None),
    ({"url": OWN, "width": None}, {"w": 3}, f"{OWN}?w=3", []),
    ({"url": OWN.replace(".jpg", ".svg"), "width": 900}, {"w": 3}, OWN.replace(".jpg", ".svg"), []),
    ({"url": OWN.replace(".jpg", ".gif"), "width": 900}, {"w": 3}, OWN.replace(".jpg", ".gif"), []),
    ({"url": "https://x.example/a.jpg", "width": 900}, {"w": 3}, "https://x.example/a.jpg", []),
]
"""A picture, what is asked of it, its address, and the widths in its ``srcset`` by what is asked and what comes."""


def test_pictures_in_other_sizes(run: Run) -> None:
    cases: list[tuple[Any, Any, Any]] = [(picture, options, None) for picture, options, *_ in SIZES]
    chosen = ({"url": OWN, "width": 1100}, {}, [700, 640, 100, 5000])
    found = run("pictures", json.dumps([*cases, chosen]))
    for (picture, _, address, widths), (made, offered, *copied) in zip(SIZES, found, strict=False):
        assert made == address
        if widths is not None:
            assert offered == ", ".join(f"{picture['url']}?w={asked} {real}w" for asked, real in widths)
        # Where a plain copy answers, there is one size.
        assert copied == [picture["url"], ""]
    steps = [(128, 128), (640, 640), (750, 750), (3840, 1100)]
    assert found[-1][1] == ", ".join(f"{OWN}?w={asked}&q=50 {real}w" for asked, real in steps)


SHOWN = {"wide": 2500, "middle": 1000, "step": 828, "small": 300, "tiny": 9, "turned": 700}
"""How wide the pictures are that a server shows."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    """A server whose entries have pictures of all widths, as fields and in texts."""
    place = tmp_path_factory.mktemp("shown")
    source = shutil.copytree(EXAMPLE, place / "source")
    with (source / "workspace.yaml").open("a") as settings:
        settings.write("\nimages: {widths: [16, 384, 1280, 3840]}\n")
    (source / "apis/shown.yaml").write_text(
        "uid: api_Shown0000001\nendpoint: shown\nkind: list\n"
        "fields: [{id: cover, type: image}, {id: body, type: richtext}]\n"
    )
    (source / "content/shown").mkdir()
    for name, width in SHOWN.items():
        upright = encoded(drawn(width, 40), "JPEG")
        # Its width is its height, as cameras that are held upright write it.
        data = encoded(drawn(40, width), "JPEG", exif=turned_exif(6)) if name == "turned" else upright
        (source / f"content/shown/{name}.jpg").write_bytes(data)
        (source / f"content/shown/{name}.md").write_text(f"---\ncover: {name}.jpg\n---\n![x]({name}.jpg)\n")
    with example_server(place, source) as server:
        yield server


def test_pictures_are_as_wide_as_their_srcset_says(run: Run, shown: ExampleServer) -> None:
    """What browsers choose by is what the server sends, for clients and in rich texts."""
    entries = {entry["id"]: entry for entry in shown.get("shown?limit=100")["contents"]}
    assert {name: entry["cover"]["width"] for name, entry in entries.items()} == SHOWN
    covers = [{**entry["cover"], "url": shown.url + entry["cover"]["url"]} for entry in entries.values()]
    every = [16, 100, 384, 500, 1100, 2000, 9000]
    made = run("pictures", json.dumps([(cover, {}, widths) for cover in covers for widths in (None, every)]))
    offers = [choices for _, choices, *_ in made]
    assert "" not in offers
    offers += re.findall(r' srcset="([^"]*)"', " ".join(entry["body"] for entry in entries.values()))
    # All but the smallest picture, which is one choice alone.
    assert len(offers) == 3 * len(SHOWN) - 1
    for choices in offers:
        told = dict(choice.rsplit(" ", 1) for choice in choices.split(", "))
        sent = {address: f"{width_of(shown, address)}w" for address in told}
        assert sent == told
        assert len(set(told.values())) == len(told)


def width_of(server: ExampleServer, address: str) -> int:
    answer = server.running.get(address.removeprefix(server.url))
    assert answer.status == 200
    return Image.open(io.BytesIO(answer.body)).width


def test_words(run: Run) -> None:
    """A wait is told, and once what the server ignored; the key never."""
    ignored = page(3, **{"X_Ignored_Parameters": "limt"})
    with scripted([Scripted("", {}, 502), ignored]) as server:
        _, said = run("words", server.url, "pq_secret\n", words=True)
    first, second = said.splitlines()
    assert first.startswith("Waiting 0.")
    assert first.endswith(f" s before asking for {server.url}/v1/pics/posts?limit=3 again: HTTP 502 Bad Gateway")
    assert second == "The server ignored parameters of posts?limit=3: limt"
    assert server.sent("x-api-key") == ["pq_secret"] * 4
    assert "secret" not in said
    message = run("words", "http://127.0.0.1:9", "pq_sec\nret")
    assert message == "key: expected an API key such as pq_…, got a text with other characters."


def test_strict_reading(run: Run, request: pytest.FixtureRequest) -> None:
    """TypeScript reads strictly where ``NODE_ENV`` is there and not ``production``; a setting goes before."""
    strict = "handling=strict"
    of_mode = {"development": strict, "test": strict, "production": None, "": None}
    for mode, default in of_mode.items() if request.node.callspec.params["run"] == "typescript" else [("", None)]:
        with scripted([page(3)]) as server:
            run("strict", server.url, "key", **({"NODE_ENV": mode} if mode else {}))
        assert server.sent("prefer") == [default, strict, None]
