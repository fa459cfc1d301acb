"""What a site's folder leaves open is asked at the terminal, or stands in comments beside the likeliest answer."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path

import pytest
import yaml

from cli.creating.init import adopt_site
from snapshots.adoption.settling.decisions import MOST, Decision
from snapshots.build.build import check
from tests.programs.command_line import at_a_terminal
from tests.sites.generator_sites import GENERATOR_SITES
from tests.sites.site_folders import ASTRO, HUGO, JEKYLL, PLAIN, PRESETS, write_folder

OPEN = {
    "notes/a.md": "---\ntitle: A\ndate: 2026-01-01\nunlisted: family\n---\nA.\n",
    "notes/b.md": "---\ntitle: B\ndate: 2026-01-02 10:00:00 +0100\n---\nB.\n",
    "diary/c.md": "---\ntitle: C\npublished: 'no'\n---\nC.\n",
    "data/people.yml": "- {slug: ann, name: Ann B}\n- {slug: bo, name: Bo C}\n",
}
"""A folder that leaves five things open."""
QUESTIONS = [
    "What is the main language?",
    "May pages be seen that say 'published'?",
    "May pages be seen that say 'unlisted'?",
    "What time zone are dates without an offset in?",
    "Which key of the items in data/people.yml never changes, and gives their IDs?",
]


def definitions(root: Path) -> dict[str, dict[str, object]]:
    files = [root / "workspace.yaml", *(root / "apis").iterdir()]
    return {file.stem: yaml.safe_load(file.read_text()) for file in files}


@pytest.mark.parametrize(
    "files",
    [*(site.files for site in GENERATOR_SITES), HUGO, JEKYLL, ASTRO, PRESETS, PLAIN, OPEN],
    ids=[*(site.name for site in GENERATOR_SITES), "hugo-2", "jekyll-2", "astro-2", "presets", "plain", "open"],
)
def test_few_decisions_are_left_each_with_what_is_known(files: dict[str, str], tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", files)
    made = adopt_site(root, root)
    lines = [line for name in made.files for line in (root / name).read_text().splitlines() if "# TODO: " in line]
    assert len(lines) == made.decisions <= MOST
    for line in lines:
        found = re.fullmatch(r"# TODO: ([^?]+\?) (.+\.) Taken: (.+)\. Otherwise (.+)\.", line)
        assert found is not None, line
        assert re.search(r"\d", found[2]), f"no number: {line}"


def test_what_is_taken_is_the_first_answer_and_all_others_build(tmp_path: Path) -> None:
    asked = list[Decision]()
    root = write_folder(tmp_path / "site", OPEN)
    adopt_site(root, tmp_path / "seen", asked.extend)
    assert sorted(one.question for one in asked) == sorted(QUESTIONS)
    for number, question in enumerate(QUESTIONS):
        answers = next(one.answers for one in asked if one.question == question)
        for answer in [*answers[1:], *({3: ["Asia/Tokyo"], 0: ["fil"]}.get(number, []))]:

            def take(every: list[Decision], question: str = question, answer: str = answer) -> None:
                for one in every:
                    one.take(answer if one.question == question else one.answers[0])

            place = tmp_path / f"{number}-{answer.partition(' ')[0].replace('/', '-')}"
            assert adopt_site(root, place, take).errors == 0
            assert "TODO: " not in "".join(path.read_text() for path in (place / "apis").iterdir())
            assert check(place, place / ".cms").errors == 0
            changed = definitions(place)
            match number:
                case 0:
                    assert changed["workspace"]["languages"] == [answer]
                case 1:
                    assert changed["diary"]["meta"] == (
                        {"published": None} if answer.startswith("publish") else {"status": "published"}
                    )
                case 2:
                    assert "hidden" not in changed["notes"]
                case 3:
                    assert changed["workspace"]["timezone"] == "Asia/Tokyo"
                case 4:
                    assert changed["people"]["id"] == f"{{{answer}}}"


def on_a_terminal(arguments: list[str], typed: str) -> tuple[int, str]:
    """Return the exit status of a command, and what a terminal of 80 columns shows of it, given what is typed."""
    controller, terminal = pty.openpty()
    command = at_a_terminal(terminal, *arguments, env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
    os.write(controller, typed.encode())
    shown = b""
    while True:
        try:
            some = os.read(controller, 65_536)
        except OSError:  # closed by the last to have it
            break
        if not some:
            break
        shown += some
    os.close(controller)
    return command.wait(), shown.decode().replace("\r\n", "\n")


def test_a_terminal_asks_one_after_the_other(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", OPEN)
    status, shown = on_a_terminal(["init", "--from", str(root)], "ja\n2\n\n9\nAsia/Nowhere\nAsia/Tokyo\n2\n")
    assert status == 0, shown
    asked = re.findall(r"Question (\d) of 5: (.+)", shown)
    assert [number for number, _ in asked] == ["1", "2", "3", "4", "5"]
    assert "'Asia/Nowhere' is no answer to this" in shown
    assert "TODO" not in shown
    made = definitions(root)
    assert (made["workspace"]["languages"], made["workspace"]["timezone"]) == (["ja"], "Asia/Tokyo")
    assert made["people"]["id"] == "{name}"


def test_yes_asks_nothing_and_takes_the_first(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", OPEN)
    status, shown = on_a_terminal(["init", "--from", str(root), "--yes"], "")
    assert (status, "Question" in shown, "TODO" in shown) == (0, False, False)
    made = definitions(root)
    assert (made["workspace"]["languages"], made["people"]["id"]) == (["en"], "{slug}")


def test_an_end_of_the_answers_leaves_nothing_written(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", OPEN)
    status, _ = on_a_terminal(["init", "--from", str(root)], "ja\n\x04")
    assert status != 0
    assert not (root / "workspace.yaml").exists()
    assert not (root / "apis").exists()
