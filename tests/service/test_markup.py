"""Answers as HTML: Markdown rendered, citations linked, and nothing that runs or calls out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies

from theworld.service.api.passages import answer_html
from theworld.state import Answer, Citation, Passage

CITED = Citation(number=1, document_id="d", note_id="d#0", start=0, end=3, quote="abc")


def html(text: str) -> str:
    return answer_html(Answer(text=text, kind="generated", citations=(CITED,)))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("**bold** and `code`", "<strong>bold</strong>"),
        ("born in Vienna [1].", '<a href="#cite-1" class="cite"'),
        ("not cited [7]", "not cited [7]"),
        ("`x[1]`", "<code>x[1]</code>"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<td>1</td>"),
        ("3. c\n4. d", '<ol start="3">'),
        ("[site](https://example.org/a)", 'href="https://example.org/a"'),
        ("![a picture](https://example.org/a.png)", "a picture"),
        ("[1]: https://evil.example", '<a href="#cite-1"'),
        ("中文，**重点**。", "<strong>重点</strong>"),
        ("a < b & c", "a &lt; b &amp; c"),
    ],
)
def test_markdown_is_rendered(text, held):
    assert held in html(text)


PIECES = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "[1]", "`", "```\n", "**",
    "![x](data:text/html,<script>1</script>)", "<svg/onload=alert(1)>", "[a]: javascript:x\n\n", "<a href='//evil'>",
    "<style>*{}</style>", "[x](//evil.example)", "\n\n", "|a|b|\n|-|-|\n", "<iframe srcdoc='<script>'>", "字", "\x00",
    "[b](vbscript:x)", "&lt;script&gt;",
]  # fmt: skip
TAGS = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^>]*)>")
KEPT = set(
    "p br hr strong em s code pre blockquote ul ol li table thead tbody tr th td h1 h2 h3 h4 h5 h6 a section".split()
)


@given(strategies.lists(strategies.one_of(strategies.sampled_from(PIECES), strategies.text(max_size=12)), max_size=12))
def test_nothing_that_runs_or_calls_out_gets_through(pieces):
    text = "".join(pieces)
    passage = Passage(number=1, document_id="d", note_id="d#0", place=text or "d", text=text, start=0, end=len(text))
    shown = html(text) + answer_html(
        Answer(text=text, short=text, kind="entity", passages=(passage,), citations=(CITED,))
    )
    for _, tag, attributes in TAGS.findall(shown):
        assert tag in KEPT, shown
        assert not re.search(r"""(?:^|\s)(?:on\w+|style|src|srcdoc)\s*=""", re.sub(r'"[^"]*"', '""', attributes)), shown
        for address in re.findall(r'href="([^"]*)"', attributes):
            assert re.match(r"https?://|mailto:|#cite-\d", address, re.IGNORECASE), shown
