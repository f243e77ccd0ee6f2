"""AsciiDoc to Markdown and blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.ingestion.readers import SourceDocument, read_source
from theworld.ingestion.readers.asciidoc import as_markdown
from theworld.ingestion.sources import find_sources

CASES = yaml.safe_load(Path(__file__).with_name("asciidoc.yaml").read_text("utf-8"))


def read(path: Path, root: Path | None = None) -> SourceDocument:
    (document,) = read_source(path, root)
    assert isinstance(document, SourceDocument)
    return document


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_adoc", ".adoc").replace("_yml", ".yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_markdown(case: dict[str, Any], tmp_path: Path) -> None:
    written(tmp_path, page_adoc=case["given"])
    assert read(tmp_path / "page.adoc").text == case["text"]


def test_title_metadata_and_sections(tmp_path: Path) -> None:
    written(tmp_path, page_adoc="= Tea\n:keywords: hot, cup\n:unused:\n\nintro\n\n== Steps\n\n. boil\n. pour\n")
    found = read(tmp_path / "page.adoc")
    assert (found.title, found.metadata) == ("Tea", {"keywords": "hot, cup"})
    assert [(block.kind, block.section) for block in found.blocks if block.kind != "heading"] == [
        ("paragraph", ()),
        ("list", ("Steps",)),
    ]


def test_parts_of_an_antora_manual_stand_where_they_are_included(tmp_path: Path) -> None:
    written(
        tmp_path,
        docs__antora_yml="name: m\ntitle: Manual\nasciidoc:\n  attributes:\n    version: 2.5@\n    nested: {a: b}\n",
        docs__modules__ROOT__pages__a_adoc=(
            "= A\n\n{version} of {page-component-title}\n\ninclude::partial$p.adoc[leveloffset=+1]\n\n== B\n\n"
            "xref:sub:other.adoc[]\n\n----\ninclude::example$e.txt[tag=x]\n----\n\ninclude::sub:partial$lines.adoc[lines=2..3]\n"
            "include::missing.adoc[]\n"
        ),
        docs__modules__ROOT__partials__p_adoc="== Part\n\ntext\n\ninclude::p.adoc[]\n",
        docs__modules__sub__partials__lines_adoc="1\n2\n3\n4\n",
        docs__modules__sub__pages__other_adoc="= The other page\n\ntext\n",
    )
    examples = tmp_path / "docs/modules/ROOT/examples"
    examples.mkdir()
    (examples / "e.txt").write_text("no\n# tag::x[]\nyes\n# end::x[]\nno\n")
    found = find_sources([tmp_path])
    assert sorted(file.path.name for file in found.files if file.path.suffix == ".adoc") == [
        "a.adoc",
        "lines.adoc",  # only some of its lines are included
        "other.adoc",
    ]
    page = read(tmp_path / "docs/modules/ROOT/pages/a.adoc", tmp_path)
    assert page.text == (
        "# A\n\n2.5 of Manual\n\n### Part\n\ntext\n\n## B\n\nThe other page\n\n```\nyes\n```\n\n2\n3\n"
    )


def test_what_is_included_on_a_condition_stays_a_document(tmp_path: Path) -> None:
    written(
        tmp_path,
        page_adoc="ifdef::x[]\ninclude::a.adoc[]\nendif::[]\nifndef::x[]\ninclude::b.adoc[]\nendif::[]\ninclude::c.adoc[]\n",
        **{f"{name}_adoc": f"text of {name}\n" for name in "abc"},
    )
    assert sorted(file.path.name for file in find_sources([tmp_path]).files) == ["a.adoc", "b.adoc", "page.adoc"]
    assert read(tmp_path / "page.adoc", tmp_path).text == "text of b\n\ntext of c\n"


def test_attributes_of_attributes_fill_no_memory(tmp_path: Path) -> None:
    written(tmp_path, page_adoc=":a: x{b}{b}\n:b: y{a}{a}\n" * 50 + "\n{a}\n")
    assert len(read(tmp_path / "page.adoc").text) < 2000


def test_nothing_is_included_from_outside_the_folder(tmp_path: Path) -> None:
    written(tmp_path, secret_adoc="secret", inside__page_adoc="a\n\ninclude::../secret.adoc[]\n")
    assert read(tmp_path / "inside/page.adoc", tmp_path / "inside").text == "a\n"


def test_blocks_within_blocks_without_end_are_read_as_text(tmp_path: Path) -> None:
    text = "\n".join("=" * (4 + depth) for depth in range(5000))
    written(tmp_path, page_adoc=f"{text}\nwords\n")
    assert "words" in read(tmp_path / "page.adoc").text


@given(
    st.lists(
        st.sampled_from(
            ["", "a", "* b", ". c", "+", "----", "====", "|===", "|x |y", "--", "t::", "[NOTE]", ".T", "== H", "<1> z",
             "////", "ifdef::a[]", "endif::[]", "`", "[[", "<<", " i", "+++", "a|b", "____", "NOTE: n", "|", "[", ":a:",
             ":leveloffset: +", ":leveloffset: 1", "include::page.adoc[leveloffset=,lines=0..]", "[cols=2*]"]
        ),
        max_size=14,
    )
)  # fmt: skip
def test_any_lines_are_read(lines: list[str]) -> None:
    text, _ = as_markdown("\n".join(lines), Path("page.adoc"), Path())
    assert isinstance(text, str)


def test_words_of_paragraphs_are_kept() -> None:
    text, _ = as_markdown("one two\n\n* three\n\nterm:: four\n\n|===\n|five\n|===\n", Path("page.adoc"), Path())
    assert [word for word in ("one", "two", "three", "four", "five") if word not in text] == []
