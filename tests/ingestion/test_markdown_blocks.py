"""The blocks of Markdown: kinds, sections, parts, leads; every block an exact slice."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ingestion.notes import iter_notes
from theworld.ingestion.readers.markdown import described, markdown_blocks, plain_heading
from theworld.settings import NoteSettings

PAGE = """Before any heading.

# Staff

## Leave

Ask like this:

1. Tell your lead.
   Do it early.
2. Fill in the form:
   - name
   - days

| kind | days |
|------|-----:|
| sick | 10   |
| care | 5    |

### Code `x` in a [heading](a.md)

Run:

```sh
# not a heading

theworld ask
```

> Note: a quote
> of two lines.

---

## Pay {#pay}

    indented code
"""
BLOCKS = [
    ("paragraph", (), "Before any heading."),
    ("heading", ("Staff",), "# Staff"),
    ("heading", ("Staff", "Leave"), "## Leave"),
    ("paragraph", ("Staff", "Leave"), "Ask like this:"),
    ("list", ("Staff", "Leave"), "1. Tell your lead.\n   Do it early.\n2. Fill in the form:\n   - name\n   - days"),
    ("table", ("Staff", "Leave"), "| kind | days |\n|------|-----:|\n| sick | 10   |\n| care | 5    |"),
    ("heading", ("Staff", "Leave", "Code x in a heading"), "### Code `x` in a [heading](a.md)"),
    ("paragraph", ("Staff", "Leave", "Code x in a heading"), "Run:"),
    ("code", ("Staff", "Leave", "Code x in a heading"), "```sh\n# not a heading\n\ntheworld ask\n```"),
    ("admonition", ("Staff", "Leave", "Code x in a heading"), "> Note: a quote\n> of two lines."),
    ("heading", ("Staff", "Pay"), "## Pay {#pay}"),
    ("code", ("Staff", "Pay"), "    indented code"),
]


def test_a_page() -> None:
    found = [(block.kind, block.section, PAGE[block.start : block.end]) for block in markdown_blocks(PAGE)]
    assert found == BLOCKS


@pytest.mark.parametrize(
    ("kind", "parts", "lead"),
    [
        (
            "list",
            ["1. Tell your lead.\n   Do it early.", "2. Fill in the form:\n   - name\n   - days"],
            "Ask like this:",
        ),
        ("table", ["| sick | 10   |", "| care | 5    |"], "| kind | days |\n|------|-----:|"),
        ("code", [], "Run:\n\n```sh"),
        ("admonition", ["> Note: a quote\n> of two lines."], None),
    ],
)
def test_parts_and_lead(kind: str, parts: list[str], lead: str | None) -> None:
    block = next(block for block in markdown_blocks(PAGE) if block.kind == kind)
    assert [PAGE[start:end] for start, end in block.parts] == parts
    assert (block.lead and PAGE[slice(*block.lead)]) == lead


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("# T\n\n## A\n\na\n\n## B\n\nb", [("T",), ("T", "A"), ("T", "A"), ("T", "B"), ("T", "B")]),
        ("### deep\n\n# high\n\n## low\n\nx", [("deep",), ("high",), ("high", "low"), ("high", "low")]),
        ("Over\n====\n\nUnder\n-----\n\nx", [("Over",), ("Over", "Under"), ("Over", "Under")]),
        ("# 请假\n\n## 病假\n\n正文", [("请假",), ("请假", "病假"), ("请假", "病假")]),
        ("#\n\n## A\n\nx", [(), ("A",), ("A",)]),
    ],
    ids=["beside", "jumping", "underlined", "Chinese", "an empty heading is no section"],
)
def test_sections(text: str, sections: list[tuple[str, ...]]) -> None:
    assert [block.section for block in markdown_blocks(text)] == sections


def test_the_documents_title_is_no_section_of_its_own() -> None:
    page = PAGE.removeprefix("Before any heading.\n\n")
    sections = [block.section for block in described(page, Path("page.md")).blocks]
    assert sections[:2] == [("Leave",), ("Leave",)]
    again = "# Staff\n\n## Staff\n\nx"
    assert described(again, Path("page.md")).blocks[-1].section == ("Staff",), "further down it is one"


def test_what_introduces_ends_in_a_colon_and_stands_right_above() -> None:
    for text, lead in [
        ("Steps.\n\n- a", None),
        ("Steps:\n\nWords.\n\n- a", None),
        ("**Steps:**\n\n- a", "**Steps:**"),
        ("步骤：\n\n- 甲", "步骤："),
        ("Steps:\n- a", "Steps:"),
    ]:
        block = markdown_blocks(text)[-1]
        assert block.kind == "list"
        assert (block.lead and text[slice(*block.lead)]) == lead


def test_from_a_place_on_and_with_any_line_ends() -> None:
    text = "front\n# H\r\n\r\ntext\r\n"
    assert [(block.kind, text[block.start : block.end]) for block in markdown_blocks(text, 6)] == [
        ("heading", "# H"),
        ("paragraph", "text"),
    ]
    assert markdown_blocks("") == markdown_blocks("   \n\n") == ()


def test_a_heading_without_its_markup() -> None:
    assert plain_heading("The *first* `x_y` [link](http://a.b/c) ![image](d.png) {#id}") == "The first x_y link image"
    assert plain_heading("A _stressed_ **_word_**, a_b_c, __init__, _x") == "A stressed word, a_b_c, __init__, _x"
    assert plain_heading("[Draft] The array (``[]``) of [`x[0]`](y)") == "[Draft] The array ([]) of x[0]"
    assert plain_heading("(*) **The *first*** `*` 简单") == "(*) The first * 简单"
    assert plain_heading("*args and **kwargs, f(*), g(*), 2 * 3 * 4 *") == "*args and **kwargs, f(*), g(*), 2 * 3 * 4 *"


LINES = ["# H", "## H2", "text", "text: ", "- item", "  - inner", "1. one", "", "| a | b |", "|---|---|", "```", "~~~"]
LINES += ["> quote", "    code", "---", "===", "  ", "\t", "步骤：", "| 1 | 2 |", "<b>x</b>", "\u2028", "[a]: http://b"]
TEXTS = st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(0, 5))
def test_laws(text: str, line_end: str, start: int) -> None:
    """Blocks are inside, ascending and apart, end in no white space; parts lie inside, a lead before the last part."""
    text = text.replace("\n", line_end)
    blocks = markdown_blocks(text, start)
    assert all(start <= block.start < block.end <= len(text) for block in blocks)
    assert all(left.end <= right.start for left, right in pairwise(blocks))
    for block in blocks:
        assert text[block.start : block.end] == text[block.start : block.end].rstrip()
        edges = [edge for part in block.parts for edge in part]
        assert edges == sorted(edges)
        assert not edges or (block.start <= edges[0] and edges[-1] <= block.end)
        assert block.lead is None or 0 <= block.lead[0] < block.lead[1] <= (edges[0] if edges else block.end)


def test_each_piece_of_a_long_code_block_opens_with_its_fence() -> None:
    text = "# Run\n\nRun these:\n\n```sh\n" + "".join(f"make step-{i:03}\n" for i in range(120)) + "```\n"
    notes = list(iter_notes(text, NoteSettings(max_characters_en=400), blocks=markdown_blocks(text)))
    assert len(notes) > 3
    assert notes[0].text.startswith("# Run\n\nRun these:\n\n```sh\nmake step-000")
    assert {note.lead for note in notes[1:]} == {"Run these:\n\n```sh"}
