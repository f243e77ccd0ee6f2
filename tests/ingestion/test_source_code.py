"""Source code by symbol, configuration by key, tables by row."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from theworld.ingestion.notes import iter_notes
from theworld.ingestion.readers import SourceDocument, read_source, source_code, tables
from theworld.settings import NoteSettings

PYTHON = '''"""Of rooms."""

import os


# Why it is so.
@cache
def area(
    width: int,
) -> int:
    """Give the area."""

    return width


class Room(Base):
    """A room."""

    doors = 1

    @property
    def name(self) -> str:
        return """a

b"""

    class Door:
        async def open(self) -> None: ...
'''
JAVASCRIPT = """import a from "a";

/** Adds. */
export const add = (x) => {
  return x;
};

class Room {
  // opens
  open() { return 1; }
}
describe("rooms", () => {
  function inner() {}
});
"""
CPP = """namespace n {
// Doc.
template <class T>
struct S {
  int a;
};
int *Foo::bar(struct S s) { return 0; }
}
"""
RUST = """/// Doc
#[derive(Debug)]
pub struct P { x: u8 }

impl P {
    pub fn new() -> Self { P { x: 1 } }
}
"""
GO = """package main

// M does.
func (t *T) M() error {
	return nil
}
"""
JAVA = "class A {\n  @Override\n  public int size() { return 1; }\n  interface B {}\n}\n"
TYPESCRIPT = "@Component({})\nexport class Foo<T> {\n  get(): void {}\n}\n\ntype A = string;\n"
SHELL = "set -e\n\nrun() {\n  a\n\n  b\n}\n\n# last\nrun\n"
YAML = "a:\n  - 1\n\n  - 2\nb: 3\n\nc: 4\n"

SYMBOLS = [
    ("a.py", PYTHON, [
        ("", '"""Of rooms."""'), ("", "import os"), ("area", "# Why it is so."), ("Room", "class Room(Base):"),
        ("Room.name", "@property"), ("Room.Door", "class Door:"),
        ("Room.Door.open", "async def open(self) -> None: ..."),
    ]),
    ("broken.py", "def f(:\n    x\n\n    y\n\nz = 1\n", [("", "def f(:"), ("", "z = 1")]),
    ("a.js", JAVASCRIPT, [
        ("", 'import a from "a";'), ("add", "/** Adds. */"), ("Room", "class Room {"), ("Room.open", "// opens"),
        ("", 'describe("rooms", () => {'), ("inner", "function inner() {}"),
    ]),
    ("a.cpp", CPP, [
        ("n", "namespace n {"), ("n.S", "// Doc."), ("n.Foo::bar", "int *Foo::bar(struct S s) { return 0; }"),
    ]),
    ("a.c", "int f(void) { return 0; }\n\nstruct s { int a; };\n", [
        ("f", "int f(void) { return 0; }"), ("s", "struct s { int a; };"),
    ]),
    ("a.rs", RUST, [("P", "/// Doc"), ("P", "impl P {"), ("P.new", "pub fn new() -> Self { P { x: 1 } }")]),
    ("a.go", GO, [("", "package main"), ("M", "// M does.")]),
    ("A.java", JAVA, [("A", "class A {"), ("A.size", "@Override"), ("A.B", "interface B {}")]),
    ("a.ts", TYPESCRIPT, [("Foo", "@Component({})"), ("Foo.get", "get(): void {}"), ("A", "type A = string;")]),
    ("a.sh", SHELL, [("", "set -e"), ("", "run() {"), ("", "# last")]),
    ("a.yaml", YAML, [("", "a:"), ("", "c: 4")]),
]  # fmt: skip


def blocks_of(path: Path, text: str) -> SourceDocument:
    path.write_text(text, encoding="utf-8", newline="")
    (document,) = source_code.read(path)
    assert document.text == text, "offsets refer to the file as it is written"
    return document


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("name", "text", "expected"), SYMBOLS, ids=[name for name, *_ in SYMBOLS])
def test_symbols(tmp_path: Path, name: str, text: str, expected: list[tuple[str, str]], newline: str) -> None:
    document = blocks_of(tmp_path / name, text.replace("\n", newline))
    assert document.title == name
    begins = [document.text[block.start : block.end].strip().splitlines()[0] for block in document.blocks]
    assert list(zip([".".join(block.section) for block in document.blocks], begins, strict=True)) == expected
    assert all(block.kind == "code" for block in document.blocks)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, text, _ in SYMBOLS])
def test_nothing_is_lost_and_nothing_is_twice(tmp_path: Path, name: str, text: str) -> None:
    document = blocks_of(tmp_path / name, text)
    spans = [(block.start, block.end) for block in document.blocks]
    assert spans == sorted(spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    left = "".join(
        text[end:start] for (_, end), (start, _) in zip([(0, 0), *spans], [*spans, (len(text),) * 2], strict=True)
    )
    assert not left.strip("}) ;\n")
    for block in document.blocks:
        assert " ".join(text[slice(*part)] for part in block.parts).split() == text[block.start : block.end].split()


def test_signature_goes_with_every_piece(tmp_path: Path) -> None:
    area = blocks_of(tmp_path / "a.py", PYTHON).blocks[2]
    assert area.lead is not None
    assert PYTHON[slice(*area.lead)] == "def area("
    assert len(area.parts) == 2


def test_without_grammars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(source_code.symbols_of.__globals__["GRAMMARS"], ".zig", ("tree_sitter_not_there", "language"))
    document = blocks_of(tmp_path / "a.zig", "fn a() {\n\n  b\n}\n\nfn c() {}\n")
    assert [block.section for block in document.blocks] == [(), ()]


TABLES = [
    ("a.csv", "name,note\r\nA,\"two\r\nlines, \"\"x\"\"\"\r\n\r\nB,c\r\n",
     ["name | note", 'A | two lines, "x"', "B | c"]),
    ("a.csv", "名称;价格;\n甲;1;\n乙;2;", ["名称 | 价格", "甲 | 1", "乙 | 2"]),
    ("a.csv", "a,b\n1,2,of 7|8\n3\n", ["a | b | ", "1 | 2 | of 7\\|8", "3 |  | "]),
    ("a.csv", "Name;Price, net;Left\nA;1,5;3\nB;2,5;4\nC, new;4,0;7\n",
     ["Name | Price, net | Left", "A | 1,5 | 3", "B | 2,5 | 4", "C, new | 4,0 | 7"]),
    ("a.tsv", "a\tb, c\n1\t2, 3\n", ["a | b, c", "1 | 2, 3"]),
    ("a.csv", "remark\nGood\nGood, but dear\nBad\nFine\n", ["remark", "Good", "Good, but dear", "Bad", "Fine"]),
    ("a.csv", "\ufeffone\ntwo\n", ["one", "two"]),
    ("a.csv", "a,b\n\"never closed,1\n" + "x,2\n" * 50_000, ["a,b", '"never closed,1', *["x,2"] * 50_000]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "rows"), TABLES)
def test_table(tmp_path: Path, name: str, text: str, rows: list[str]) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    (document,) = tables.read(path)
    (block,) = document.blocks
    header, *lines = (f"| {row} |" for row in rows)
    assert (block.kind, block.section, block.start, block.end) == ("table", (), 0, len(document.text))
    assert block.lead is not None
    lead, *parts = (document.text[slice(*span)] for span in (block.lead, *block.parts))
    assert (lead, parts) == (f"{header}\n|{' --- |' * (header.count(' | ') + 1)}", lines)


def test_lines_above_the_header_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Rooms of hall 7\nMade in May;;\n\nroom;degrees;wet\nA;18;40\nB;;\n")
    (document,) = tables.read(tmp_path / "a.csv")
    above, table = document.blocks
    assert (above.kind, document.text[above.start : above.end]) == ("paragraph", "Rooms of hall 7\nMade in May")
    assert table.lead is not None
    assert [document.text[slice(*span)] for span in (table.lead, *table.parts)] == [
        "| room | degrees | wet |\n| --- | --- | --- |", "| A | 18 | 40 |", "| B |  |  |",
    ]  # fmt: skip


def test_table_of_one_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    (document,) = tables.read(tmp_path / "a.csv")
    assert (document.text, document.blocks[0].lead) == ("| a | b |\n| --- | --- |", None)


ROOMS = [{"room": f"R{i}", "use": "Töpferei 陶艺", "open": ["9-12", {"on": "Sunday", "from": 14}]} for i in range(40)]
JSON = [
    json.dumps(ROOMS),
    json.dumps(ROOMS, indent=2, ensure_ascii=False),
    json.dumps({"house": 7, "rooms": ROOMS}),
    json.dumps({"house": {"rooms": ROOMS}}, indent="\t", ensure_ascii=False),
]


@pytest.mark.parametrize("text", JSON)
def test_an_entry_of_json_is_in_one_note_and_reads_as_it_was_meant(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    (document,) = read_source(tmp_path / "a.json")
    assert isinstance(document, SourceDocument)
    assert json.loads(document.text) == json.loads(text)
    notes = list(iter_notes(document.text, NoteSettings(), blocks=document.blocks))
    assert len(notes) > 3
    assert {note.kind for note in notes} == {"table" if text[0] == "[" else "code"}
    for room in ROOMS:
        (holding,) = (note.text for note in notes if f'"{room["room"]}"' in note.text)
        written = holding[holding.index(f'"{room["room"]}"') :]
        assert written.index("Töpferei 陶艺") < written.index("Sunday") < written.index("}")


def test_properties_show_their_characters(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("leave=\\u4ea7\\u5047 \\ud83d\\ude00\npath=C:\\\\u4ea7\n")
    (document,) = read_source(tmp_path / "a.properties")
    assert isinstance(document, SourceDocument)
    assert document.text == "leave=产假 😀\npath=C:\\\\u4ea7\n"


def test_what_is_no_json_and_short_json_are_read_as_they_are(tmp_path: Path) -> None:
    for text in ('{"a": 1.50,\n "b": [2]}', '{"a": ' + "1, " * 300):
        (tmp_path / "a.json").write_text(text)
        (document,) = read_source(tmp_path / "a.json")
        assert isinstance(document, SourceDocument)
        assert document.text == text


def test_json_too_long_to_be_parsed_is_read_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_code, "LONGEST_JSON", 1_000)
    (tmp_path / "a.json").write_text(JSON[0])
    (document,) = read_source(tmp_path / "a.json")
    assert isinstance(document, SourceDocument)
    assert document.text == JSON[0]


@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson"])
def test_json_lines_without_ids_are_rows(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"who": "Ann", "said": "\\u4f60\\u597d"}\n\nnonsense\n{"who": "Bo"}\n')
    (document,) = read_source(tmp_path / name)
    assert isinstance(document, SourceDocument)
    (block,) = document.blocks
    assert (block.kind, block.lead, document.title) == ("table", None, "log")
    assert [document.text[slice(*row)] for row in block.parts] == [
        '{"who": "Ann", "said": "你好"}', "nonsense", '{"who": "Bo"}',
    ]  # fmt: skip
