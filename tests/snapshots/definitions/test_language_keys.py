"""``from: $.{lang}.**``: the language is a key of the file, as in the translations of Rails."""

from __future__ import annotations

from pathlib import Path

from tests.snapshots.definitions.test_adoption import compiled, warned

API = 'source: "locales/**/*.yml"\nfrom: "$.{lang}.**"\nfields: [{id: text, type: text, from: $value}]\n'


def test_the_language_is_the_first_key_of_the_file(tmp_path: Path) -> None:
    files = {
        "locales/en.yml": "en:\n  menu: {home: Home, about: About}\n",
        "locales/models/user.pt.yml": "pt:\n  menu:\n    home: Casa\n",
        "locales/both.yml": "en: {bye: Bye}\npt-BR: {bye: Tchau}\n",
    }
    versions, problems, unknown = compiled(tmp_path, API, files)
    assert (problems, unknown) == ([], [])
    assert sorted((v["id"], v["lang"], v["text"]) for v in versions) == [
        ("bye", "en", "Bye"),
        ("bye", "pt-BR", "Tchau"),
        ("menu-about", "en", "About"),
        ("menu-home", "en", "Home"),
        ("menu-home", "pt-BR", "Casa"),
    ]


def test_a_key_that_is_no_language_is_told_once(tmp_path: Path) -> None:
    texts = "".join(f"  k{n}: x\n" for n in range(500))
    _, problems, _ = compiled(tmp_path, API, {"locales/fr.yml": f"fr:\n{texts}", "locales/pt.yml": "pt:\n"})
    assert problems == ["locales/fr.yml:2 unknown-language"]


def test_a_name_that_says_another_language_is_told(tmp_path: Path) -> None:
    api = API.replace("**/*.yml", "{name}.{lang}.yml")
    files = {"locales/a.pt.yml": "en: {k: x}\n"}
    (one,) = [line for line in warned(tmp_path, api, files) if "path" in line]
    assert "the path says language 'pt-BR', the key around it says 'en', which takes precedence" in one
