"""The tab *Overview*: what comes next as a line for each instant, each entry once, and what is left out."""

from __future__ import annotations

import pytest

from tests.server.console.browsing import EDITOR, Browser, site_with_members
from tests.sites.served_site import Running, Site

LATER = 11


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = site_with_members(tmp_path_factory.mktemp("console"))
    definition = site.source / "workspace.yaml"
    launches = "languages: [en, de, ja]\nlaunches: {spring: 2040-03-01T09:00}"
    definition.write_text(definition.read_text().replace("languages: [en]", launches))
    posts = site.source / "apis" / "posts.yaml"
    posts.write_text(posts.read_text().replace("kind: list\n", "kind: list\nmultilingual: true\n"))
    folder = site.source / "content" / "posts"
    folder.mkdir()

    def write(name: str, front: str) -> None:
        (folder / f"{name}.yaml").write_text(f"title: Title of {name}\ncreatedAt: 2020-01-01\n{front}\n")

    for number in range(12):
        for lang in ("", ".de", ".ja"):
            # The last one slipped.
            write(f"e{number:02}{lang}", "launch: spring" if number < 11 else "publishStart: 2040-04-01T09:00")
    write("alone.ja", "launch: spring\npublishEnd: 2040-03-02")
    for number in range(1, LATER):
        write(f"later{number}", f"publishStart: 2041-01-{number:02}T08:00")
    site.publish("one")
    return site


def test_a_launch_is_one_line_and_the_one_that_slipped_another(site: Site, server: Running) -> None:
    browser = Browser(server)
    browser.sign_in(site.store.root, EDITOR)
    answer = browser.get("/console/acme")
    lines = [" ".join(item.text(separator=" ").split()).replace(" ,", ",") for item in answer.page.css(".flips li")]
    assert lines[:3] == [
        "2040-03-01 09:00 Title of alone.ja Posts, ja Title of e00 Posts, en, de, ja Title of e01 Posts, en, de, ja "
        "and 9 more 12 go live",
        "2040-03-02 00:00 Title of alone.ja Posts, ja ends",
        "2040-04-01 09:00 Title of e11 Posts, en, de, ja goes live",
    ]
    assert len(lines) == 10
    assert "Left out here: 3 later times with 3 language versions, the last on 2041-01-10 08:00" in answer.text
    assert "Times are Asia/Tokyo." in answer.text
    assert "spring" not in answer.text
