"""The heading by which a Markdown text names itself."""

from __future__ import annotations

import pytest

from snapshots.documents.headings import first_heading


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# Title\n", "Title"),
        ("text\n\n  # *Using* `<script>` &amp; [links](x) {#own}  \n# B", "Using <script> & links"),
        ("# Title ##\n", "Title"),
        ("Under\n=====\n", "Under"),
        ("## Two\n\n# One\n", "One"),
        ("```sh\n# comment\n```\n~~~~\n# c\n~~~\n~~~~\n# Real", "Real"),
        ("#hashtag\n####### seven\n\\# escaped", None),
        ("# <Badge type='tip' /> Title <Icon>x</Icon>", "Title"),
        ("import A from 'a'\n\n# {#only}\n\n# Kept {: #id .class}", "Kept"),
        ("# 料金 :tada:", "料金 :tada:"),
        ("", None),
    ],
)
def test_first_heading(text: str, heading: str | None) -> None:
    assert first_heading(text) == heading
