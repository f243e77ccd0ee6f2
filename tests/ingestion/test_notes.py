"""Blocks to notes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ingestion.notes import LONGEST_HEADING, LONGEST_LEAD, PASSAGE_FACTOR, Block, NoteSpan, iter_notes
from theworld.ingestion.readers.markdown import markdown_blocks
from theworld.settings import NoteSettings
from theworld.stores.records import NoteKind

LIMITS = NoteSettings(max_characters_en=120, max_characters_zh=60)
PIECES = [
    "# Head\n",
    "\n\n",
    "\r\n\r\n",
    "A sentence here. ",
    "word ",
    "一个句子。",
    "中文，",
    "x" * 150,
    "\n",
    "  ",
    "- item\n",
]
PLAIN = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=40).map("".join)
SENTENCE = "This sentence has forty characters, yes. "  # 41 with its space

MARKED = [
    "# Head",
    "## Below",
    "### 小节",
    SENTENCE,
    SENTENCE * 4,
    "一个句子。" * 20,
    "Like this:",
    "步骤：",
    SENTENCE * 12 + "So:",
]
MARKED += ["- item\n- other", "\n".join(f"{n}. step {n} of many" for n in range(1, 15)), "- 项目\n  - 内项"]
MARKED += ["| a | b |\n|---|---|\n" + "\n".join(f"| row {n} | {n * 11} |" for n in range(20))]
MARKED += ["```\nrun it\n\n# now\n```", "```\n" + "line of code\n" * 20 + "```", "> a quote", "---", "x" * 300]
MARKDOWN = st.lists(st.sampled_from(MARKED), max_size=14).map("\n\n".join)


def of_markdown(text: str, **limits: int) -> list[NoteSpan]:
    return list(iter_notes(text, NoteSettings(**limits) if limits else LIMITS, blocks=markdown_blocks(text)))


def is_exact(text: str, notes: list[NoteSpan]) -> bool:
    """Return whether notes are exact slices without white space around, ascending and apart."""
    exact = all(note.text == text[note.start : note.end] for note in notes)
    trimmed = all(note.text and note.text == note.text.strip() for note in notes)
    return exact and trimmed and all(left.end <= right.start for left, right in pairwise(notes))


def left_out(text: str, notes: list[NoteSpan], start: int, end: int) -> str:
    """Return what is in no note of text[start:end], but for white space."""
    covered = {place for note in notes for place in range(note.start, note.end)}
    return "".join(text[place] for place in range(start, end) if place not in covered).strip()


def worth_noting(text: str) -> list[Block]:
    """Return the blocks of a text without the headings at its end, unless there are only headings."""
    blocks = markdown_blocks(text)
    ends = [place for place, block in enumerate(blocks, 1) if block.kind != "heading"]
    return list(blocks[: max(ends, default=None)])


@given(PLAIN, st.booleans())
def test_exact_ordered_and_complete(text: str, passage: bool) -> None:
    notes = list(iter_notes(text, LIMITS, passage=passage))
    assert is_exact(text, notes)
    assert not left_out(text, notes, 0, len(text))


@given(PLAIN, st.booleans())
def test_no_note_beyond_the_limit(text: str, passage: bool) -> None:
    longest = PASSAGE_FACTOR * 120 if passage else 120 + LONGEST_HEADING
    assert all(len(note.text) <= longest for note in iter_notes(text, LIMITS, passage=passage))


@given(PLAIN, st.integers(0, 30))
def test_start_is_respected(text: str, start: int) -> None:
    assert all(note.start >= min(start, len(text)) for note in iter_notes(text, LIMITS, start=start))


@given(MARKDOWN)
def test_blocks_are_covered_whole_and_in_order(text: str) -> None:
    notes = of_markdown(text)
    assert is_exact(text, notes)
    assert not "".join(left_out(text, notes, block.start, block.end) for block in worth_noting(text))


@given(MARKDOWN)
def test_no_note_of_blocks_beyond_the_limit(text: str) -> None:
    assert all(len(note.text) <= 120 + LONGEST_HEADING for note in of_markdown(text))
    assert all(len(note.lead) <= LONGEST_LEAD for note in of_markdown(text))


@given(MARKDOWN)
def test_a_heading_never_ends_a_note_that_something_of_its_section_follows(text: str) -> None:
    for heading, after in pairwise(worth_noting(text)):
        if heading.kind == "heading" and after.section == heading.section:
            assert any(note.start <= heading.start and note.end > after.start for note in of_markdown(text))


@given(MARKDOWN)
def test_a_note_lies_under_the_headings_that_its_blocks_share(text: str) -> None:
    blocks = markdown_blocks(text)
    for note in of_markdown(text):
        inside = [block for block in blocks if block.start < note.end and note.start < block.end]
        others = [block.section for block in inside if block.kind != "heading"]
        assert all(section[: len(note.section)] == note.section for section in others)
        assert not blocks or any(block.section[: len(note.section)] == note.section for block in inside)


@given(MARKDOWN)
def test_a_piece_of_a_table_holds_its_header_or_is_led_by_it(text: str) -> None:
    header = "| a | b |\n|---|---|"
    for note in of_markdown(text):
        if "| row" in note.text and not note.text.startswith("x"):
            assert header in f"{note.lead}\n{note.text}"


CASES = [
    ("two paragraphs stay two", f"{SENTENCE * 2}\n\n{SENTENCE * 2}", [81, 81]),
    ("small ones are joined", "One.\n\nTwo.\n\nThree.", [18]),
    ("a small last one joins", f"{SENTENCE * 2}\n\nEnd.", [88]),
    ("long ones are cut at sentences, evenly", SENTENCE * 4, [81, 81]),
]


@pytest.mark.parametrize(("name", "text", "lengths"), CASES, ids=[case[0] for case in CASES])
def test_shapes_of_plain_text(name: str, text: str, lengths: list[int]) -> None:
    assert [len(note.text) for note in iter_notes(text, LIMITS)] == lengths


LIST = "\n".join(f"- item {n} of a list" for n in range(1, 31))
SHAPES = [
    (
        "a heading goes with what follows",
        f"{SENTENCE * 2}\n\n# Head\n\n{SENTENCE * 2}",
        [((), "paragraph", 81), (("Head",), "paragraph", 89)],
    ),
    (
        "two headings go with what follows",
        f"{SENTENCE * 2}\n\n# Head\n\n## Below\n\n{SENTENCE * 2}",
        [((), "paragraph", 81), (("Head", "Below"), "paragraph", 99)],
    ),
    (
        "a section that fits is one note",
        f"# Head\n\n{SENTENCE}\n\n- a\n- b\n\n# Other\n\n{SENTENCE * 2}",
        [(("Head",), "section", 58), (("Other",), "paragraph", 90)],
    ),
    (
        "small sections are joined under what they share",
        "# Head\n\n## One\n\nA word.\n\n## Two\n\nA word.",
        [(("Head",), "paragraph", 40)],
    ),
    (
        "a list stays with its introduction",
        f"{SENTENCE * 2}\n\nAs follows:\n\n- one\n- two\n- three\n- four",
        [((), "paragraph", 81), ((), "section", 39)],
    ),
    (
        "code stays whole",
        f"{SENTENCE * 2}\n\n```\n" + "a b\n\n" * 12 + "```",
        [((), "paragraph", 81), ((), "code", 67)],
    ),
    ("a heading alone", "# Head", [(("Head",), "heading", 6)]),
    ("headings at the end say nothing", "# Head\n\nA word.\n\n# 待写\n\n## Below", [(("Head",), "paragraph", 15)]),
    ("one in between goes with what follows", "# Todo\n\n# Head\n\nA word.", [(("Head",), "paragraph", 23)]),
    (
        "a remainder goes with its neighbour, even beyond the limit",
        f"# Head\n\n{SENTENCE * 2}\n\n{SENTENCE}End.\n\nSo.\n\n# Other\n\nA word.",
        [(("Head",), "paragraph", 89), (("Head",), "paragraph", 50), (("Other",), "paragraph", 16)],
    ),
    (
        "what is left of a section is not joined with another one",
        f"# Head\n\n{SENTENCE * 2}\n\n{SENTENCE}End.\n\n# Other\n\nA word.",
        [(("Head",), "paragraph", 89), (("Head",), "paragraph", 45), (("Other",), "paragraph", 16)],
    ),
    (
        "but with one inside it",
        f"# Head\n\n{SENTENCE * 2}\n\n{SENTENCE}End.\n\n## Below\n\nA word.",
        [(("Head",), "paragraph", 89), (("Head",), "paragraph", 64)],
    ),
    (
        "nor is its last part, below a heading of its own",
        f"# Head\n\n{SENTENCE * 2}\n\n## Below\n\n{SENTENCE}\n\n# Other\n\nA word.",
        [(("Head",), "paragraph", 89), (("Head", "Below"), "paragraph", 50), (("Other",), "paragraph", 16)],
    ),
    (
        "a table stays with what stands above it",
        f"{SENTENCE * 2}\n\nIn the chart.\n\n| a | b |\n|---|---|\n| row | 1 |\n| row | 2 |\n| row | 3 |",
        [((), "paragraph", 81), ((), "section", 70)],
    ),
]


@pytest.mark.parametrize(("name", "text", "shapes"), SHAPES, ids=[case[0] for case in SHAPES])
def test_shapes_of_blocks(name: str, text: str, shapes: list[tuple[tuple[str, ...], str, int]]) -> None:
    assert [(note.section, note.kind, len(note.text)) for note in of_markdown(text)] == shapes


def test_a_long_list_is_cut_at_items_and_led_by_its_introduction() -> None:
    first, *others = of_markdown(f"# Head\n\nDo as follows:\n\n{LIST}")
    assert first.text.startswith("# Head\n\nDo as follows:\n\n- item 1 ")
    assert first.lead == ""
    assert others
    assert all(note.lead == "Do as follows:" for note in others)
    assert all(note.text.startswith("- item ") and note.text.endswith(" list") for note in others)
    assert {note.section for note in (first, *others)} == {("Head",)}


def test_a_long_table_is_cut_at_rows_and_led_by_its_header() -> None:
    header = "| name | count |\n| --- | --- |"
    rows = "\n".join(f"| name {n} | {n} |" for n in range(20))
    first, *others = of_markdown(f"{header}\n{rows}")
    assert first.text.startswith(header)
    assert first.lead == ""
    assert all(note.lead == header and note.kind == "table" for note in others)
    assert "\n".join(note.text for note in (first, *others)) == f"{header}\n{rows}", "no row is cut"


@pytest.mark.parametrize(("kind", "kept"), [("table", "A" * LONGEST_LEAD), ("list", "B" * LONGEST_LEAD)])
def test_of_a_lead_too_long_a_header_keeps_its_beginning_an_introduction_its_end(kind: str, kept: str) -> None:
    lead = "A" * LONGEST_LEAD + "B" * LONGEST_LEAD
    text = f"{lead}\n{LIST}"
    block = Block(kind, len(lead) + 1, len(text), parts=((len(lead) + 1, len(text)),), lead=(0, len(lead)))  # type: ignore[arg-type]
    assert {note.lead for note in iter_notes(text, LIMITS, blocks=[block])} == {kept}


LONG = "Words of a sentence that opens. " * 13
LEADS = [
    ("an introduction begins with a sentence", LONG + "Do so:", "list", LONG[-384:] + "Do so:"),
    ("one without an end, with a word", "first " + "word " * 90 + "so:", "list", "word " * 79 + "so:"),
    ("a header ends with a word", "| head " * 60, "table", ("| head " * 57).rstrip()),
]


@pytest.mark.parametrize(("name", "lead", "kind", "kept"), LEADS, ids=[case[0] for case in LEADS])
def test_a_lead_too_long_is_cut_between_words(name: str, lead: str, kind: str, kept: str) -> None:
    text = f"{lead.rstrip()}\n{LIST}"
    place = len(lead.rstrip()) + 1
    block = Block(kind, place, len(text), parts=((place, len(text)),), lead=(0, place - 1))  # type: ignore[arg-type]
    assert {note.lead for note in iter_notes(text, LIMITS, blocks=[block])} == {kept}


def test_pieces_of_code_keep_their_indentation() -> None:
    notes = of_markdown("```xml\n<a>\n" + "  <b>\n    some text\n\n  </b>\n" * 12 + "</a>\n```")
    assert len(notes) > 2
    assert {note.text.partition("\n")[0] for note in notes[1:]} <= {"  <b>", "    some text", "  </b>"}


NESTED = "- Item:\n\n" + "".join(f"  - Inner {n} of these.\n" for n in range(20))
INDENTED = [
    ("items in an item", NESTED, {"- Item:", "  - Inner"}),
    (
        "what stands in an item",
        f"1. {SENTENCE * 2}\n\n   And {SENTENCE}\n\n   - {SENTENCE * 2}\n   - {SENTENCE * 2}",
        {"1. This", "   And", "   - This"},
    ),
    ("a list with a paragraph after it", f"{NESTED}\nSo.", {"- Item:", "  - Inner"}),
    ("a whole one", f"{SENTENCE * 2}\n\n  - One. {SENTENCE}\n  - Two.", {"This sentence", "  - One."}),
    ("a paragraph has none", f"   {SENTENCE * 2}\n\n  {SENTENCE * 2}", {"This sentence"}),
]


@pytest.mark.parametrize(("name", "text", "begins"), INDENTED, ids=[case[0] for case in INDENTED])
def test_pieces_of_lists_keep_their_indentation(name: str, text: str, begins: set[str]) -> None:
    notes = of_markdown(text)
    assert len(notes) > 1
    assert all(note.text == text[note.start : note.end] for note in notes)
    assert {next((one for one in begins if note.text.startswith(one)), note.text) for note in notes} == begins


def test_rows_of_a_table_stay_with_the_row_above_their_group() -> None:
    header = "| a | b |\n|---|---|\n"
    groups = [f"| **Group {n}** |  |\n" + "".join(f"| row {i} of {n} | x |\n" for i in range(n)) for n in range(3, 8)]
    for limit in range(200, 400, 20):
        first, *others = of_markdown(header + "".join(groups), max_characters_en=limit)
        assert first.text.startswith(header)
        assert others
        assert all(note.text.startswith("| **Group") for note in others), "a group that fits is not divided"
        long = "| **Part** |  |\n| **Group** |  |\n" + "".join(f"| row {n} | x |\n" for n in range(40))
        notes = of_markdown(f"{header}{groups[0]}{long}", max_characters_en=limit)
        assert "| **Part** |  |\n| **Group** |  |\n| row 0 | x |" in "\0".join(note.text for note in notes)


def test_no_fence_stands_alone_and_pieces_of_code_within_a_list_open_with_theirs() -> None:
    for indent in ("", "  "):
        lines = "".join(f"{indent}line of code {n}\n" for n in range(40))
        code = f"{indent}```sh\n{lines}{indent}```"
        notes = of_markdown(f"Do so:\n\n{'- so' if indent else ''}\n\n{code}\n\n{indent}{SENTENCE * 3}")
        assert len(notes) > 4
        assert not [note.text for note in notes if note.text.strip().split("\n")[-1].strip() == "```sh"]
        assert not [note.text for note in notes if note.text.strip().split("\n")[0] == "```"]
        inside = [note for note in notes if note.text.lstrip().startswith("line")]
        assert inside
        assert all(note.lead.endswith("```sh") for note in inside)


@pytest.mark.parametrize("after", ["", "\n\nAnd so on.", "\n- more\n- of it"])
def test_fences_with_nothing_between_are_one_line_of_a_list(after: str) -> None:
    text = f"- Run this:\n\n  ``` {'curl -X POST ' * 60}\n  ```{after}"
    assert "".join(note.text for note in of_markdown(text)).count("curl") == 60


def test_passage_stays_whole_up_to_twice_the_limit() -> None:
    whole = (SENTENCE * 5).strip()
    assert len(list(iter_notes(whole, LIMITS))) > 1
    assert [note.text for note in iter_notes(whole, LIMITS, passage=True)] == [whole]
    assert len(list(iter_notes(SENTENCE * 7, LIMITS, passage=True))) > 1
    assert len(list(iter_notes(f"{SENTENCE * 2}\n\n{SENTENCE * 2}", LIMITS, passage=True))) == 2


def test_chinese_has_its_own_limit() -> None:
    text = "天一阁坐落在宁波市月湖西侧，是中国现存最早的私家藏书楼。" * 4
    notes = list(iter_notes(text, LIMITS))
    assert {note.language for note in notes} == {"zh"}
    assert [len(note.text) for note in notes] == [56, 56]
    assert all(note.text.endswith("。") for note in notes)


def test_endless_sentence_is_cut_at_spaces() -> None:
    notes = list(iter_notes("word " * 100, LIMITS))
    assert all(note.text.replace("word", "").strip() == "" for note in notes)
    assert all(len(note.text) <= 120 for note in notes)


def test_all_notes_of_a_document_lie_in_one_language() -> None:
    """Its code and English tables are read by the models that read its Chinese."""
    chinese = "天一阁由范钦主持建造，位于宁波月湖西侧，是著名的藏书楼。"
    assert [note.language for note in iter_notes(f"{SENTENCE * 2}\n\n{chinese * 2}", LIMITS)] == ["zh", "zh"]
    assert {note.language for note in iter_notes(f"{SENTENCE * 40}\n\n阁", LIMITS)} == {"en"}


def test_code_tables_and_addresses_do_not_tell_a_language() -> None:
    code = "```\n" + "docker run --name app\n" * 40 + "```"
    table = "| name | port |\n| --- | --- |\n" + "| redis | 6379 |\n" * 20
    text = f"# 安装\n\n下载 [这里](https://example.org/{'a' * 300})：\n\n{code}\n\n{table}"
    assert {note.language for note in iter_notes(text, LIMITS, blocks=markdown_blocks(text))} == {"zh"}
    assert {note.language for note in iter_notes(code, LIMITS, blocks=markdown_blocks(code))} == {"en"}
    commented = code.replace("app", "应用程序")
    assert {note.language for note in iter_notes(commented, LIMITS, blocks=markdown_blocks(commented))} == {"zh"}


def test_default_limits_keep_typical_passages() -> None:
    sentence = "The waltz was first performed in the city in that year, as is well known. "
    assert len(list(iter_notes(sentence * 16, NoteSettings()))) == 1
    assert len(list(iter_notes(sentence * 30, NoteSettings(), passage=True))) == 1


def test_a_term_stays_with_its_definition_and_a_caption_with_its_table() -> None:
    terms = "".join(f"- **Term {i}**\n\n  {'It says something. ' * 9}\n\n" for i in range(12))
    assert not [note for note in of_markdown(terms, max_characters_en=400) if note.text.endswith("**")]
    table = "Before. " * 20 + "\n\n**Advancement**\n\n| Level | Points |\n|---|---|\n" + "| 1 | 2 |\n" * 90
    notes = of_markdown(table, max_characters_en=500)
    assert "**Advancement**\n\n| Level | Points |" in "\n".join(note.text for note in notes)


@pytest.mark.parametrize(
    ("number", "words", "limit"),
    [
        ("第{}条　", "醉酒驾驶机动车的，由交通管理部门约束。", 140),
        ("Article {}. ", "Whoever drives needs a licence.", 240),
    ],
)
def test_no_note_begins_within_a_numbered_provision(number: str, words: str, limit: int) -> None:
    provisions = [f"{number.format(n)}{words}\n\n{words * 2}\n\n(a) {words}" for n in range(1, 9)]
    notes = list(iter_notes("\n\n".join(provisions), NoteSettings(max_characters_en=limit, max_characters_zh=limit)))
    assert [note.text for note in notes] == provisions


def test_a_question_and_its_reply_are_in_one_note() -> None:
    chat = [f"17:{i:02} Ann: The roaster is warm." for i in range(30)]
    chat[1:-1:4] = [f"17:{i:02} Bo: Who has scale {i}?" for i in range(1, 29, 4)]
    notes = list(iter_notes("\n".join(chat), LIMITS))
    assert len(notes) > 5
    assert not [note.text for note in notes if note.text.endswith("?")]


SAID = [
    "Is it open? I hope so. The key is with Ann.",
    "Yes!",
    "在。周五见。\n没有日期的第二行。",
    "Fine: 12 of them. ok",
]
HEADS = [
    "[14.10.25, 08:{}:03] Joris: ",
    "14/09/2025, 17:{} - Priya: ",
    "2026-09-01 10:{} 张三\n",
    "2026年9月1日 上午10:{} 张三：",
    "Marta Vos  9:{} AM\n",
    "阿明 19:{}:40\n",
    "Oct 16 02:{}:01 host cron: ",
    "2025-10-16 02:{}:01,114 ERROR backup: ",
    "<12:{}> ann: ",
]


@pytest.mark.parametrize("kind", ["paragraph", "code"])
@pytest.mark.parametrize("head", HEADS)
def test_chats_and_logs_are_divided_between_messages(kind: NoteKind, head: str) -> None:
    messages = [head.format(10 + n) + SAID[n % len(SAID)] for n in range(40)]
    text = "\n".join(messages)
    notes = list(iter_notes(text, LIMITS, blocks=[Block(kind, 0, len(text))]))
    assert is_exact(text, notes)
    assert len(notes) > 10
    begins = {text.index(message) for message in messages}
    assert {note.start for note in notes} <= begins
    assert text.replace("\n", "") == "".join(note.text for note in notes).replace("\n", "")


def test_a_message_beyond_the_limit_is_divided_by_sentences() -> None:
    text = f"10:01 Ann: yes\n10:02 Bo: {SENTENCE * 8}\n10:03 Ann: no"
    notes = list(iter_notes(text, LIMITS))
    assert is_exact(text, notes)
    assert all(note.text.endswith(("yes", ".", "no")) for note in notes)
    assert notes[-1].text.endswith("10:03 Ann: no")


def test_prose_that_tells_dates_is_divided_by_sentences() -> None:
    text = f"On 14 May 2025 it was opened. {SENTENCE}\n" + f"{SENTENCE}\n" * 4 + f"2026-05-14 is the day. {SENTENCE}"
    assert all(note.text.endswith(".") for note in iter_notes(text, LIMITS))
    assert "2026-05-14" not in {note.text[:10] for note in iter_notes(text, LIMITS)}
