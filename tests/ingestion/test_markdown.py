"""Markdown to clean text, and what of it belongs together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from theworld.ingestion.plan import divided
from theworld.ingestion.readers import read_source
from theworld.ingestion.readers.markdown import markdown_blocks, read, without_contents
from theworld.ingestion.readers.markdown_cleaning import cleaned
from theworld.ingestion.sources import find_sources
from theworld.settings import NoteSettings


def cases(name: str) -> list[Any]:
    return [
        pytest.param(case, id=case["name"])
        for case in yaml.safe_load((Path(__file__).parent / name).read_text("utf-8"))
    ]


@pytest.mark.parametrize("case", cases("cleaning.yaml"))
def test_cleaning(case: dict[str, Any]) -> None:
    found = cleaned(case["given"], mdx=case.get("mdx", False))
    assert found == (case["given"] if case.get("same") else case["text"])


@pytest.mark.parametrize("case", cases("contents.yaml"))
def test_contents(case: dict[str, Any]) -> None:
    assert without_contents(case["given"]) == (case["given"] if case.get("same") else case["text"])


@pytest.mark.parametrize("case", cases("blocks.yaml"))
def test_blocks(case: dict[str, Any]) -> None:
    text = case["text"]
    for found, (kind, section, whole, *more) in zip(markdown_blocks(text), case["blocks"], strict=True):
        parts, lead = [*more, *([], "")[len(more) :]]
        assert (found.kind, "/".join(found.section), text[found.start : found.end]) == (kind, section, whole)
        if kind in {"list", "table", "admonition"}:
            assert [text[start:end] for start, end in found.parts] == parts
        assert (text[slice(*found.lead)] if found.lead else "") == lead


def test_a_long_item_may_be_divided_between_its_blocks() -> None:
    text = f"- {'word ' * 90}\n\n  ```\n  code\n  ```\n\n- short\n\n  more\n"
    (block,) = markdown_blocks(text)
    assert [text[start:end][:6] for start, end in block.parts] == ["- word", "  ```\n", "- shor"]


def test_a_question_stays_with_its_answer() -> None:
    text = f"- **Q.** _Is there an API?_\n\n  **A.** {'word ' * 90}\n\n  More.\n"
    (block,) = markdown_blocks(text)
    assert [text[start:end][-5:] for start, end in block.parts] == [" word", "More."]


def test_offsets_refer_to_what_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "a.mdx"
    path.write_text("---\ntitle: T\n---\n<!-- x -->\n\n# T\n\n## S\n\n&lt;b\n", "utf-8")
    (document,) = read_source(path)
    assert [(block.kind, block.section, document.text[block.start : block.end]) for block in document.blocks] == [
        ("heading", ("S",), "## S"),
        ("paragraph", ("S",), "<b"),
    ]
    assert document.body_start == document.blocks[0].start


LINE = "We cover everybody who works here. " * 4


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        (f"# One\n\n{LINE}\n\n# Two\n\n{LINE}\n", [(), ("Two",)]),
        (f"# One\n\n## Part\n\n{LINE}\n\n# Two\n\n{LINE}\n", [("Part",), ("Two",)]),
        (f"# One\n\nby Ada\n\n# Two\n\n{LINE}\n", [()]),
        (f"# 保险\n\n{'我们为每位员工投保。' * 9}\n\n# 休假\n\n{'每年有二十天。' * 9}\n", [(), ("休假",)]),
        (f"# One\n\n{LINE}\n\n## Below\n\nMore.\n", [()]),
        (f"---\ntitle: All\n---\n\n# One\n\n{LINE}\n\n# Two\n\n{LINE}\n", [()]),
    ],
    ids=["beside", "with a subsection", "a few words above", "Chinese", "below", "both below a title"],
)
def test_what_stands_under_the_title_is_not_joined_with_a_heading_beside_it(
    tmp_path: Path, text: str, sections: list[tuple[str, ...]]
) -> None:
    path = tmp_path / "a.md"
    path.write_text(text, "utf-8")
    (document,) = read_source(path)
    assert [note.section for note in divided(document, NoteSettings())] == sections


@pytest.mark.parametrize(
    ("line", "included"),
    [
        ("<!--@include: ../parts/b.md-->", True),
        ("  {{#include ../parts/b.md}}", True),
        ('--8<-- "../parts/b.md"', True),
        ("<!--@include: ./nowhere.md-->", False),
        ("<!--@include: ../../outside.md-->", False),
    ],
)
def test_files_inside_the_folder_are_included(tmp_path: Path, line: str, included: bool) -> None:
    root = tmp_path / "docs"
    for name, text in {
        "outside.md": "Outside.\n",
        "docs/pages/a.md": f"# A\n\nStop it.\n\n{line}\n\nThen start it.\n",
        "docs/parts/b.md": "---\ntitle: Part\n---\nPull it.\n\n<!--@include: ./c.md-->\n",
        "docs/parts/c.md": "See the log.\n\n<!--@include: ./b.md-->\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (document,) = read_source(root / "pages" / "a.md", root)
    assert ("Pull it.\n\nSee the log." in document.text) is included
    assert document.text.count("Pull it.") == included
    assert "Outside." not in document.text
    assert "title:" not in document.text
    assert [file.id for file in find_sources([root]).files] == ["pages/a.md"] + ["parts/b.md", "parts/c.md"] * (
        not included
    )


def test_components_of_mdx_stand_for_their_files(tmp_path: Path) -> None:
    for name, text in {
        "docs/a.mdx": "import Part from \"./_part.mdx\";\nimport Same from '@site/docs/_part.mdx'\n"
        "import X from './x.jsx';\n\n# A\n\n<Part id=\"1\" />\n\nThen <Same/>\n\n<X />\n",
        "docs/_part.mdx": "---\ntitle: Part\n---\n| Region | MHz |\n|---|---|\n| EU | 868 |\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (document,) = read_source(tmp_path / "docs" / "a.mdx", tmp_path)
    assert document.text.count("| EU | 868 |") == 2
    assert "import" not in document.text
    assert [file.path.name for file in find_sources([tmp_path]).files] == ["a.mdx"]


@pytest.mark.parametrize(("name", "kinds"), [("a.mdx", ["paragraph", "table"]), ("a.md", ["paragraph", "code"])])
def test_what_is_only_indented_is_no_code_in_mdx(tmp_path: Path, name: str, kinds: list[str]) -> None:
    path = tmp_path / name
    path.write_text("Words.\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |\n", encoding="utf-8")
    (document,) = read(path)
    assert [block.kind for block in document.blocks] == kinds


def test_the_title_of_a_tab_leads_to_nothing_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "a.mdx"
    tabs = '<Tabs>\n  <Tab title="By hand">\n    1. one\n    2. two\n  </Tab>\n</Tabs>\n'
    path.write_text(
        f"{tabs}\n<Tip>\n    Set this:\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |\n</Tip>\n", encoding="utf-8"
    )
    (document,) = read(path)
    leads = [document.text[slice(*block.lead)] for block in document.blocks if block.lead]
    assert leads == ["**By hand**", "Set this:\n\n| a | b |\n|---|---|"]


LONG = "A sentence of the page that follows. " * 30
SITE = "title: T\ndescription: D\nsidebar_position: 2\nhide-title: x\neditLink: y\ntags: [a]\n标签: [甲]\nog:image: z\n"
SITE += "pre: <b>2.1 </b>\n"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("---\naliases: [老赵]\nbirthday: 1984-03-09\n---\nA producer.", ["birthday: 1984-03-09\n\nA producer."]),
        ("---\n作者: 兰小欢\ntags: [书]\n评分: 9\n---\n# 置身事内\n\n正文", ["作者: 兰小欢\n评分: 9\n\n正文"]),
        ("---\r\ndue:\t12:30 # soon\r\n---\r\n<!-- x -->\r\nOver\r\n===\r\nText", ["due:    12:30\n\nText"]),
        ("---\nserves: 3\n---\nA mark\n=> of a line", ["serves: 3\n\nA mark\n=> of a line"]),
        ('---\nwith: "[[Ada|Ms Grey]]"\nby:\n  - A\n  - B\n---\n', ['with: "Ms Grey"\nby:\n  - A\n  - B']),
        (f"---\nserves: 3\n---\n# T\n\n{LONG}", [f"serves: 3\n\n{LONG.strip()}"]),
        (f"---\nlife: {LONG[:369]}\n---\n# T\n\n{LONG}", [f"life: {LONG[:369]}", LONG.strip()]),
        ("---\nserves: 3\n---\n## Part\n\nText", ["serves: 3\n\n## Part\n\nText"]),
        (f"---\n{SITE}---\nText", ["Text"]),
        ("---\ndone: true\nvegan: no\nempty:\nnone: ''\nlist: []\nmap: {a: b}\nlinks: [{a: b}]\n---\nText", ["Text"]),
        ("+++\nserves = 3\n+++\nText", ["Text"]),
        ("---\n- serves: 3\n---\nText", ["- serves: 3\n---\nText"]),
    ],
)
def test_properties_that_tell_something_are_text(tmp_path: Path, text: str, notes: list[str]) -> None:
    (tmp_path / "a.md").write_text(text, "utf-8", newline="")
    (document,) = read(tmp_path / "a.md")
    found = list(divided(document, NoteSettings()))
    assert [note.text for note in found] == notes
    assert [document.text[note.start : note.end] for note in found] == notes


def test_properties_that_are_text_are_metadata_too(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"---\n{SITE}serves: 3\n---\n# Other\n\nText", "utf-8")
    (document,) = read(tmp_path / "a.md")
    assert (document.title, document.metadata["serves"], document.metadata["标签"]) == ("T", 3, ["甲"])
    assert document.text == "# Other\n\nserves: 3\n\nText"


CONF = """
site = "https://d.example/"
myst_substitutions = {"coc": site + "coc/", "team": "t@d.example", "number": 3, **others}
myst_substitutions["late"] = "x"
"""


@pytest.mark.parametrize(
    "above", ["myst:\n  substitutions:\n    team: a@d.example", "substitutions: {team: a@d.example}"]
)
def test_substitutions_of_myst(tmp_path: Path, above: str) -> None:
    text = "{{ team }}: {{'[the code]({}#top)'.format(coc)}}, {{ number }}, {{'[{}](mailto:{})'.format(late, late)}}.\n"
    (tmp_path / "docs" / "part").mkdir(parents=True)
    (tmp_path / "docs" / "conf.py").write_text(CONF)
    path = tmp_path / "docs" / "part" / "a.md"
    path.write_text(f"---\n{above}\n---\n{text}\n{{{{ coc }}}}\n")
    rest = "[the code](https://d.example/coc/#top), {{ number }}, late."
    assert next(read(path, tmp_path)).text.endswith(f"a@d.example: {rest}\n\nhttps://d.example/coc/\n")
    assert "a@d.example: the code, {{ number }}, late." in next(read(path, path.parent)).text
    path.write_text(text)
    assert next(read(path, tmp_path)).text == f"t@d.example: {rest}\n"


def test_containers_without_end_are_no_obstacle() -> None:
    depth = 1_200
    opened = "".join(f"{':' * (depth - level + 3)}{{note}} Level {level}\n" for level in range(depth))
    closed = "".join(f"{':' * (level + 4)}\n" for level in range(depth))
    text = cleaned(f"{opened}The end.\n{closed}")
    assert "**Level 0**" in text
    assert "The end." in text
