"""The YAML form: what is wrong is reported with line and element, and what is right comes back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theworld.errors import OntologyError
from theworld.ontology import (
    Attribute,
    EntitySample,
    Labels,
    Ontology,
    OntologyClass,
    Problem,
    parse_ontology,
    read_ontology,
    to_json,
    to_yaml,
)

GOOD = """\
id: shop
classes:
  - id: thing
    labels: {zh: [物品], en: [thing]}
  - id: book
    labels: {zh: 书, en: [book, volume]}
    inherits: [thing]
    capabilities: [lend]
    table: {name: books, key: id, label: {zh: title_zh, en: title_en}, tenant: owner, time: bought_on}
    attributes:
      - {id: pages, labels: {en: [pages]}, type: integer, column: pages, aggregation: sum}
      - id: state
        labels: {zh: [状态]}
        type: enum
        values: [{id: new, labels: {zh: [全新]}}, {id: old}]
relations:
  - {id: quotes, labels: {en: [quotes]}, source: book, target: book, join: {column: quoted}}
capabilities:
  - {id: lend, labels: {en: [lending]}, inputs: [book.pages, thing]}
samples:
  - {id: red_book, class: book, labels: {zh: 红皮书}, key: 1, facts: {quotes: [red_book]},
     values: {state: old, pages: 9}}
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


WRONG = [
    ("unknown class", changed("inherits: [thing]", "inherits: [ghost]"), 7, "class book", "unknown class 'ghost'"),
    (
        "cycle",
        changed("en: [thing]}", "en: [thing]}\n    inherits: [book]"),
        5,
        "class thing",
        "thing -> book -> thing",
    ),
    ("own parent", changed("inherits: [thing]", "inherits: [book]"), 7, "class book", "book -> book"),
    ("dangling", changed("target: book,", "target: ghost,"), 17, "relation quotes", "dangling: its target"),
    ("duplicate", changed("- id: book", "- id: thing"), 5, "class thing", "duplicate id"),
    ("twin attribute", changed("- id: state", "- id: pages"), 12, "class book: attribute pages", "duplicate id"),
    ("twin value", changed("{id: old}", "{id: new}"), 15, "attribute book.state: value new", "duplicate id"),
    ("capability", changed("capabilities: [lend]", "capabilities: [burn]"), 8, "class book", "capability 'burn'"),
    ("input", changed("book.pages, thing", "book.weight, thing"), 19, "capability lend", "'book.weight'"),
    ("sample class", changed("class: book", "class: ghost"), 21, "sample red_book", "unknown class 'ghost'"),
    ("fact", changed("quotes: [red_book]", "eats: [red_book]"), 21, "sample red_book", "relation 'eats'"),
    ("fact target", changed("quotes: [red_book]", "quotes: [blue]"), 21, "sample red_book", "sample 'blue'"),
    ("fact source", changed("class: book", "class: thing"), 21, "sample red_book", "goes from book"),
    ("value of none", changed("state: old", "colour: red"), 22, "sample red_book", "'colour', which its class has not"),
    ("value", changed("state: old", "state: lost"), 22, "sample red_book", "unknown value 'lost'"),
    ("value of a number", changed("pages: 9", "pages: many"), 22, "sample red_book", "no number"),
    ("no finite number", changed("pages: 9", "pages: .inf"), 22, "sample red_book", "no number"),
    ("join", changed("{column: quoted}", "{table: q}"), 17, "relation quotes", "source_key"),
    ("no table", changed("    table: {name", "    # {name"), 17, "relation quotes", "bad mapping"),
    ("lost column", changed("    table: {name", "    # {name"), 11, "attribute book.pages", "bad mapping"),
    ("column name", changed("column: pages", 'column: "a\\tb"'), 11, "attribute book.pages", "column"),
    ("type", changed("type: integer", "type: colour"), 11, "attribute book.pages", "type"),
    ("enum", changed("type: enum", "type: string"), 12, "attribute book.state", "`values` are for type enum"),
    ("measure", changed("type: integer", "type: date"), 11, "attribute book.pages", "aggregation sum needs a number"),
    ("no label", changed("labels: {zh: [物品], en: [thing]}", "labels: {}"), 4, "class thing", "at least one label"),
    ("unknown name", changed("    inherits: [thing]", "    inherit: [thing]"), 7, "class book", "unknown name"),
    ("twice", changed("inherits: [thing]", "inherits: [thing]\n    inherits: [thing]"), 8, "inherits", "stands twice"),
    ("strength", changed("source: book", "strength: 7, source: book"), 17, "relation quotes", "strength"),
    ("symmetric", changed("target: book,", "target: thing, symmetric: true,"), 17, "relation quotes", "symmetric"),
]


@pytest.mark.parametrize(("text", "line", "element", "said"), [case[1:] for case in WRONG], ids=[c[0] for c in WRONG])
def test_what_is_wrong_is_told_with_line_and_element(text: str, line: int, element: str, said: str) -> None:
    with pytest.raises(OntologyError) as caught:
        parse_ontology(text, where="shop.yaml")
    problems = [problem for problem in caught.value.problems if isinstance(problem, Problem)]
    assert any(p.line == line and p.element == element and said in p.what for p in problems), str(caught.value)
    assert f"line {line}: {element}" in str(caught.value)


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        *((text, text) for text in ("010", "12:30", "2020-01-02", "2020-99-99", "0x1F")),
        *(("7", 7), ("0", 0), ("-12", -12), ("'7'", "7")),
    ],
)
def test_codes_times_and_dates_are_meant_as_they_are_written(written: str, stored: str | int) -> None:
    ontology = parse_ontology(changed("{id: old}", f"{{id: old, stored: {written}}}"))
    values = next(a.values for one in ontology.classes for a in one.attributes if a.id == "state")
    assert [value.stored for value in values if value.id == "old"] == [stored]


def test_names_are_one_line_without_control_characters() -> None:
    text = json.dumps(
        {"id": "x", "classes": [{"id": "a", "labels": {"en": ["a\n b\x0b\x01c"]}, "description": "d\x00\ne"}]}
    )
    one = parse_ontology(text).classes[0]
    assert (one.labels.en, one.description.en) == (("a b c",), "d \ne")
    with pytest.raises(OntologyError, match="at least 1 character"):
        parse_ontology(text.replace("a\\n b\\u000b\\u0001c", "\\u0001"))


def test_all_problems_are_told_at_once() -> None:
    text = changed("inherits: [thing]", "inherits: [ghost]").replace("target: book,", "target: ghost,")
    with pytest.raises(OntologyError, match="2 problems") as caught:
        parse_ontology(text)
    assert [problem.line for problem in caught.value.problems if isinstance(problem, Problem)] == [7, 17]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id: x\nclasses: [}", "line 2"),
        ("- a\n- b", "is no ontology"),
        ("", "is no ontology"),
        ("id: x\n? [a, b]\n: c", "line 2: a key must be a name"),
        ("id: x\nversion: !!python/object:os.system y", "is not YAML"),
        ("[" * 5000, "is not YAML"),
        (f"id: x\nversion: {'9' * 5000}", "is not YAML"),
    ],
)
def test_what_is_no_ontology_is_refused(text: str, said: str) -> None:
    with pytest.raises(OntologyError, match=said):
        parse_ontology(text)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00id")
    with pytest.raises(OntologyError, match=r"bad\.yaml"):
        read_ontology(tmp_path / "bad.yaml")


def test_a_small_text_cannot_unfold_without_end() -> None:
    levels = "\n".join(f"  - &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 9))
    with pytest.raises(OntologyError, match="unfolds"):
        parse_ontology(f"id: x\nclasses:\n  - &l0 [a]\n{levels}")


def test_export_and_import_again_give_the_same_ontology(tmp_path: Path) -> None:
    ontology = parse_ontology(changed("pages: 9", "pages: 1.0e+16"))
    for name, text in (("a.yaml", to_yaml(ontology)), ("a.json", to_json(ontology))):
        (tmp_path / name).write_text(text, "utf-8")
        assert read_ontology(tmp_path / name) == ontology


names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(lambda t: t.strip())
some = st.lists(names, min_size=1, max_size=3).map(tuple)
labels = st.builds(Labels, zh=some, en=some)
ids = st.from_regex(r"[a-zA-Z0-9_企业][a-zA-Z0-9_企业\-]{0,8}", fullmatch=True)


@settings(max_examples=25)
@given(
    class_ids=st.lists(ids, min_size=1, max_size=4, unique=True),
    data=st.data(),
    confidence=st.floats(0, 1),
)
def test_any_ontology_survives_the_round_trip(class_ids: list[str], data: st.DataObject, confidence: float) -> None:
    classes = tuple(
        OntologyClass(
            id=id_,
            labels=data.draw(labels),
            inherits=tuple(class_ids[:i]),
            confidence=confidence,
            attributes=(Attribute(id="a", labels=data.draw(labels)),),
        )
        for i, id_ in enumerate(class_ids)
    )
    key = data.draw(names | st.integers())
    sample = EntitySample(id=data.draw(ids), of=class_ids[0], labels=data.draw(labels), key=key)
    ontology = Ontology(id="x", classes=classes, samples=(sample,))
    assert parse_ontology(to_yaml(ontology)) == ontology
    assert parse_ontology(to_json(ontology)) == ontology
