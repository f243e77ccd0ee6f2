"""Passages over hand-made notes of hand-made documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.answers import QuestionCoverage, compose_passages, relevant, see_also, shown_text
from theworld.answers.passages import FIRST_SHARE, FRAME, MOST_SEE_ALSO
from theworld.questions import read_question
from theworld.state import Candidate, Passage
from theworld.stores.records import Span, StoredNote

LEAVE, PAY = ("Leave",), ("Pay",)


class Document:
    """A document of notes, given as (section, text) or (section, text, lead), with `gap` between them."""

    def __init__(
        self, *notes: tuple[str, ...] | tuple[tuple[str, ...], ...], gap: str = "\n\n", name: str = "staff.md"
    ):
        self.name, self.text, self.notes = name, "", list[StoredNote]()
        for ordinal, (section, text, *lead) in enumerate(notes):
            self.text += gap if ordinal else ""
            start = len(self.text)
            self.text += text
            language = "zh" if "\u4e00" <= text[0] <= "\u9fff" else "en"
            place = (name, "default", "Staff", "", ordinal, text, start, len(self.text), language, {})
            self.notes.append(StoredNote(f"{name}#{ordinal}", *place, section=section, lead="".join(lead)))

    def candidates(self, *ordinals: int) -> list[Candidate]:
        return [candidate(self.notes[ordinal]) for ordinal in ordinals]


def candidate(note: StoredNote) -> Candidate:
    return Candidate(
        note_id=note.id,
        document_id=note.document_id,
        title=note.title,
        section=note.section,
        lead=note.lead,
        text=note.text,
        start=note.start,
        end=note.end,
        ordinal=note.ordinal,
        language=note.language,
    )


def shown(
    question: str,
    ranked: Sequence[Candidate],
    *documents: Document,
    limit: int = 1600,
    lost: bool = False,
    meant: Callable[..., Sequence[float]] | None = None,
) -> tuple[Passage, ...]:
    """The passages of ranked notes of some documents; `lost`: the ledger gives nothing more."""
    notes = {note.id: note for document in documents for note in document.notes}
    texts = {document.name: document.text for document in documents}

    def read(ids: Sequence[str]) -> list[StoredNote]:
        return [] if lost else [notes[each] for each in ids if each in notes]

    def between(document_id: str, start: int, end: int) -> str:
        return "" if lost else texts[document_id][start:end]

    asked = read_question(question)
    words = asked.words_over([note.text for note in ranked])
    coverage = QuestionCoverage(words, meant, len(asked.parts) or 1)
    passages = compose_passages(ranked, coverage, limit, read, between)
    for passage in passages:
        quote = texts[passage.document_id][passage.start : passage.end]
        assert passage.citation.quote == quote, "a citation is an exact slice"
        assert passage.text.endswith(quote)
    assert [passage.number for passage in passages] == list(range(1, len(passages) + 1))
    return passages


def test_whole_notes_first_in_their_order() -> None:
    document = Document((LEAVE, "Ask your lead."), (PAY, "Paid monthly."), (("Tea",), "Tea is free."))
    passages = shown("pay", document.candidates(1, 2, 0), document)
    assert [passage.text for passage in passages] == ["Paid monthly.", "Tea is free.", "Ask your lead."]
    assert passages[0].place == "staff.md › Pay"


def test_two_things_asked_have_half_of_the_room_each() -> None:
    sick, pay = (" ".join(f"{what} {i}." for i in range(20)) for what in ("Sick leave", "Pay day"))
    document = Document((LEAVE, f"{sick} Sick leave ends."), (PAY, f"Pay day comes. {pay}"))
    ranked = document.candidates(0, 1)
    one = shown("when does sick leave end", ranked, document, limit=420)
    two = shown("When does sick leave end, and when does the pay day come?", ranked, document, limit=420)
    assert len(one[0].text) > 250
    assert [passage.text.strip("…\n")[-9:] for passage in two[:1]] == ["ave ends."]
    assert [len(two), two[1].text.startswith("Pay day comes."), max(len(p.text) for p in two) < 220] == [2, True, True]


def test_a_piece_may_say_it_in_other_words() -> None:
    document = Document((LEAVE, "Sick leave ends.\n\nA child is born: twelve weeks.\n\nOther leave."))

    def meant(note: Candidate, pieces: Sequence[tuple[int, int]], already: Sequence[Span]) -> list[float]:
        assert not already
        return [float("born" in note.text[start:end]) for start, end in pieces]

    asked = "How long is parental leave?", document.candidates(0), document
    assert [shown(*asked, limit=60, meant=one)[0].text for one in (None, lambda *_: (), meant)] == [
        "Sick leave ends.",
        "Sick leave ends.",
        "…\nA child is born: twelve weeks.",
    ]


ROWS = [f"| {name} | {number * 111} |" for number, name in enumerate("amber beech cedar dahlia elder".split(), start=1)]
CODE = "```\n" + "\n".join(f"run --step {number}" for number in range(9)) + "\n```"
SICK = "Sick leave is short.\n\nParental leave is long.\n\nOther."
CUTS = [
    ("at rows, the lead above", "dahlia", "\n".join(ROWS), "| name | count |\n| --- | --- |", 105, ROWS[3]),
    ("at paragraphs", "parental", SICK, "", 56, "Parental leave is long."),
    ("whole code", "step 4", f"{'Before it. ' * 9}\n\n{CODE}\n\n{'After it. ' * 9}", "", 190, CODE),
    ("long code at its lines", "step 4", CODE, "", 70, "run --step 4"),
    ("Chinese lines", "杭州几度", "北京零度\n上海三度\n杭州五度\n广州九度", "城市气温", 38, "杭州五度"),
]


@pytest.mark.parametrize(("name", "question", "text", "lead", "limit", "held"), CUTS, ids=[case[0] for case in CUTS])
def test_a_long_note_is_cut_at_its_parts(name: str, question: str, text: str, lead: str, limit: int, held: str) -> None:
    document = Document((LEAVE, text, lead))
    (passage,) = shown(question, document.candidates(0), document, limit=limit)
    assert held in passage.text
    assert passage.text.startswith(lead)
    assert len(passage.text) <= limit
    quote = passage.citation.quote
    assert len(quote) < len(text)
    assert all(line in text.splitlines() for line in quote.splitlines()), "no line is cut"


def test_what_is_announced_is_shown_with_the_line_that_announces_it() -> None:
    text = "A secret door.\n\nA secret lane.\n\nTo protect a secret folder:\n\n```\nauth /x\n```\n\nOther words."
    document = Document((LEAVE, text))
    (passage,) = shown("protect a secret folder", document.candidates(0), document, limit=72)
    assert passage.text == "…\nTo protect a secret folder:\n\n```\nauth /x\n```"


def test_what_the_end_of_a_note_announces_comes_before_the_next_best() -> None:
    steps = ((*PAY, "First"), "Ask first. " * 3), ((*PAY, "Second"), "Then wait. " * 3), (LEAVE, "Tea is free. " * 8)
    document = Document((PAY, "Pay is raised like this:"), *steps)
    passages = shown("pay", document.candidates(0, 3), document, limit=200)
    assert passages[0].text.startswith("Pay is raised like this:\n\nAsk first.")
    (alone,) = shown("pay", document.candidates(0), Document((PAY, "Pay is raised like this:"), (LEAVE, "Tea.")))
    assert alone.text == "Pay is raised like this:"


def test_the_section_in_which_the_best_note_ends_goes_on() -> None:
    small = "Kernels are renewed.\n\n## CentOS\n\nFollow these steps by hand."
    code = "```sh\n" + "".join(f"yum install part-{i:02}\n" for i in range(20)) + "```"
    document = Document(
        (PAY, small), ((*PAY, "CentOS"), code), ((*PAY, "Ubuntu"), "## Ubuntu\n\nWait."), (LEAVE, "No.")
    )
    (passage,) = shown("renew kernels", document.candidates(0, 3), document, limit=620)[:1]
    assert passage.text.startswith(f"{small}\n\n{code}")
    (passage,) = shown("renew kernels part-17", document.candidates(0, 3), document, limit=300)
    assert passage.text.startswith(f"{small}\n\n```sh\nyum install part-00\n"), "from its beginning where it is cut"
    assert "part-19" not in passage.text


def test_of_a_list_that_goes_on_unannounced_the_part_that_says_most_is_shown() -> None:
    items = [f"- Reason {i} is of no weight to anybody." for i in range(12)]
    items[9] = "- Silence of 90 days closes it."
    document = Document((PAY, "Why was it closed? We are few."), (PAY, "\n".join(items)))
    (_, part) = shown("closed after silence", document.candidates(0), document, limit=230)
    assert "Silence of 90 days" in part.text


def test_a_question_is_shown_with_what_is_answered() -> None:
    lines = [f"17:{i:02} Ann: The roaster is warm again now." for i in range(20)]
    lines[8:11] = ["17:08 Bo: The scale weighs.", "17:09 Bo: Who borrowed the scale?", "17:10 Cy: me, at home"]
    document = Document((LEAVE, "\n".join(lines)))
    (part,) = shown("who borrowed the scale", document.candidates(0), document, limit=95)
    assert "17:09 Bo: Who borrowed the scale?\n17:10 Cy: me, at home" in part.text


def test_an_announcement_alone_is_no_further_passage() -> None:
    code = "```\n" + "auth /x\n" * 30 + "```"
    document = Document((LEAVE, "Protect it."), (PAY, f"To protect a secret folder:\n\n{code}"))
    passages = shown("protect a secret folder", document.candidates(0, 1), document, limit=96)
    assert [passage.text for passage in passages] == ["Protect it."]


@pytest.mark.parametrize(
    ("question", "text", "limit", "quote"),
    [
        ("beech", "Amber is old. Beech is tall and slow. Cedar smells.", 48, "…\nBeech is tall and slow."),
        ("上海", "北京零度左右。上海明天三度有雨。广州九度。", 26, "上海明天三度有雨。"),
        ("beech", "beech " * 30, 46, "beech beech beech beech beech"),
        ("长", "很长" * 60, 36, "很长" * 10),
    ],
    ids=["sentences", "Chinese sentences", "a sentence too long, at white space", "without any, hard"],
)
def test_a_long_line_is_cut_at_its_sentences(question: str, text: str, limit: int, quote: str) -> None:
    document = Document(((), text))
    (passage,) = shown(question, document.candidates(0), document, limit=limit)
    assert passage.text == quote


def test_prose_is_cut_at_sentences_and_lists_between_items() -> None:
    prose = "Amber is old and\nslow to form. Beech trees\ngrow tall. Cedar\nsmells of resin."
    items = "- Amber is old and\n  slow.\n- Beech trees\n  grow tall.\n- Cedar smells."
    for text, quote in ((prose, "Beech trees\ngrow tall."), (items, "- Beech trees\n  grow tall.")):
        document = Document((LEAVE, text))
        (passage,) = shown("beech trees", document.candidates(0), document, limit=56)
        assert passage.text == f"…\n{quote}"


def test_a_part_does_not_end_on_a_heading() -> None:
    document = Document((LEAVE, "Beech is tall.\n\nBeech burns.\n\n## Cedar\n\n" + "Cedar smells. " * 9))
    (passage,) = shown("beech", document.candidates(0), document, limit=64)
    assert passage.text == "Beech is tall.\n\nBeech burns."


def test_a_long_first_note_leaves_room_for_the_second() -> None:
    document = Document((LEAVE, "Long words. " * 40), (PAY, "Short."))
    passages = shown("words", document.candidates(0, 1), document, limit=300)
    assert len(passages[0].text) <= FIRST_SHARE * 300
    assert passages[1].text == "Short."
    (alone,) = shown("words", document.candidates(0), document, limit=300)
    assert len(alone.text) > FIRST_SHARE * 300


def test_a_note_that_would_be_cut_to_little_is_left_out() -> None:
    document = Document((LEAVE, "x" * 300), (PAY, "y" * 100), (("Tea",), "Tea is free. " * 20))
    assert [len(passage.text) for passage in shown("tea", document.candidates(0, 1, 2), document, limit=480)] == [
        300,
        100,
    ]


def test_a_lead_longer_than_half_the_limit_is_left_out() -> None:
    document = Document((LEAVE, "Step one.", "Introduction. " * 20))
    (passage,) = shown("step", document.candidates(0), document, limit=200)
    assert passage.text == "Step one."


def test_the_first_grows_within_its_section_downwards_first() -> None:
    notes = [(LEAVE, "Zero."), (PAY, "One."), (PAY, "Two."), ((*PAY, "Extra"), "Three."), (LEAVE, "Four.")]
    document = Document(*notes)
    (passage,) = shown("two", document.candidates(2), document)
    assert passage.text == "One.\n\nTwo.\n\nThree."
    assert passage.section == PAY
    (below,) = shown("two", document.candidates(2), document, limit=len("staff.md › Pay") + FRAME + 15)
    assert below.text == "Two.\n\nThree."


def test_the_section_of_the_best_goes_on_before_other_notes() -> None:
    document = Document((PAY, "Step one."), (PAY, "Step two."), (LEAVE, "Steps elsewhere."))
    passages = shown("step one", document.candidates(0, 2), document, limit=65)
    assert [passage.text for passage in passages] == ["Step one.\n\nStep two."]
    two = shown("What is step one, and what is done elsewhere?", document.candidates(0, 2), document, limit=80)
    assert [passage.text for passage in two] == ["Step one.", "Steps elsewhere."], "unless several things are asked"


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\r\n\r\n", " ", ""])
def test_whatever_white_space_stands_between_is_kept(gap: str) -> None:
    document = Document((PAY, "One."), (PAY, "Two."), gap=gap)
    (passage,) = shown("one", document.candidates(0), document)
    assert passage.text == f"One.{gap}Two."


@pytest.mark.parametrize(("gap", "lost"), [("\n\n---\n\n", False), ("\n" * 9, False), ("--", False), ("\n\n", True)])
def test_what_does_not_touch_is_not_joined(gap: str, lost: bool) -> None:
    document = Document((PAY, "One."), (PAY, "Two."), gap=gap)
    assert [one.text for one in shown("one", document.candidates(0), document, lost=lost)] == ["One."]
    assert [one.text for one in shown("one", document.candidates(1, 0), document, lost=lost)] == ["Two.", "One."]


def test_neighbours_that_were_found_become_one_passage_where_the_best_stood() -> None:
    document = Document((PAY, "Zero."), (PAY, "One."), (PAY, "Two."), (LEAVE, "Three."))
    passages = shown("?", document.candidates(3, 2, 0, 1), document)
    assert [passage.text for passage in passages] == ["Three.", "Zero.\n\nOne.\n\nTwo."]
    assert passages[1].note_id == "staff.md#0"


def test_sections_beside_each_other_share_what_their_paths_share() -> None:
    document = Document(((*PAY, "A"), "One."), ((*PAY, "B"), "Two."), (LEAVE, "Three."))
    passages = shown("?", document.candidates(0, 1, 2), document)
    assert [(passage.text, passage.section) for passage in passages] == [("One.\n\nTwo.", PAY), ("Three.", LEAVE)]


def test_pieces_of_a_table_that_touch_show_its_header_once() -> None:
    header = "| name | count |\n| --- | --- |"
    document = Document(
        (PAY, f"{header}\n{ROWS[0]}"), (PAY, ROWS[1], header), (PAY, ROWS[2], header), (PAY, "- a", "Steps:"), gap="\n"
    )
    (passage,) = shown("beech", document.candidates(1), document)
    assert passage.text == "\n".join([header, *ROWS[:3]])
    (passage,) = shown("cedar", document.candidates(2), document, limit=101)
    assert passage.text == "\n".join([header, "| … |", *ROWS[1:3]]), "led by it where it does not reach it"


def test_marks_are_the_questions_words_in_the_text_shown() -> None:
    document = Document((LEAVE, "Parental leave lasts a year.", "How long leave lasts:"), (PAY, "Other words."))
    passages = shown("How long is parental leave?", document.candidates(0, 1), document)
    marked = [passages[0].text[start:end] for start, end in passages[0].marks]
    assert "Parental" in marked
    assert "leave" in marked, "in the lead too"
    assert "year" not in marked
    assert passages[1].marks == ()


def test_chinese() -> None:
    notes = [(("请假",), "事假须提前三天申请。"), (("请假",), "病假凭医院证明。"), (("工资",), "每月十日发放工资。")]
    document = Document(*notes)
    passages = shown("病假需要什么证明？", document.candidates(1, 2), document)
    assert [passage.text for passage in passages] == ["事假须提前三天申请。\n\n病假凭医院证明。", "每月十日发放工资。"]
    marked = [passages[0].text[start:end] for start, end in passages[0].marks]
    assert marked == ["病假", "证明"]


def test_see_also_names_what_is_not_shown_once() -> None:
    document = Document(*((place, f"Text {n}.") for n, place in enumerate([LEAVE, PAY, PAY, ("A",), ("B",), ("C",)])))
    ranked = document.candidates(0, 1, 2, 3, 4, 5)
    passages = shown("?", ranked[:1], document)
    places = ("staff.md › Pay", "staff.md › A", "staff.md › B")[:MOST_SEE_ALSO]
    assert see_also(ranked, passages, 100) == places
    assert see_also(ranked, passages, sum(len(place) + FRAME for place in places[:2])) == places[:2]
    assert see_also(ranked, passages, 5) == ()


def test_nothing_found_shows_nothing() -> None:
    assert shown("?", []) == ()


@pytest.mark.parametrize(
    "texts",
    [
        ("word word \n word word word word word word word word word word word word word \n ``` leave.", "word"),
        ("word " * 15 + "\n ``` leave.",),
        ("word word word word word word word \n word word word word word word word leave.", "``` word leave. 假期"),
    ],
)
def test_a_block_that_is_opened_and_never_closed_is_shown_within_the_limit(texts: tuple[str, ...]) -> None:
    document = Document(*(((), text) for text in texts), gap="\n")
    passages = shown("leave 假期", document.candidates(*range(len(texts))), document, limit=100)
    assert passages
    assert sum(len(passage.text) + len(passage.place) + FRAME for passage in passages) <= 100


SECTIONS = st.lists(st.sampled_from("AB"), max_size=2).map(tuple)
TEXTS = st.lists(
    st.sampled_from(["word", "leave.", "\n", "\n\n", "假期", "- a", "```", "| r | c |"]), min_size=1, max_size=60
)
NOTES = st.tuples(
    SECTIONS, TEXTS.map(" ".join).filter(str.strip).map(str.strip), st.sampled_from(["", "Lead:", "z" * 70])
)


@given(
    st.lists(NOTES, min_size=1, max_size=8), st.sampled_from(["\n", "\n\n", "\r\n\r\n", " ", "\n\n\n\n\n"]), st.data()
)
def test_laws(notes: list[tuple[str, ...]], gap: str, data: st.DataObject) -> None:
    """Exact slices, apart, in the limit as they are shown, the best first, each call the same."""
    document, limit = Document(*notes, gap=gap), data.draw(st.integers(100, 700))
    ranked = document.candidates(*data.draw(st.permutations(range(len(notes)))))
    passages = shown("leave 假期", ranked, document, limit=limit)
    assert passages == shown("leave 假期", ranked, document, limit=limit)
    marks = 2 * sum(passage.goes_on for passage in passages)
    assert sum(len(passage.text) + len(passage.place) + FRAME for passage in passages) + marks <= limit
    spans = sorted((passage.start, passage.end) for passage in passages)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert passages[0].start < ranked[0].end
    assert passages[0].end > ranked[0].start
    for passage in passages:
        assert all(0 <= start < end <= len(passage.text) for start, end in passage.marks)


def test_a_part_of_a_list_says_that_it_goes_on() -> None:
    steps = Document((LEAVE, "".join(f"{i}. Turn the valve {i} times.\n" for i in range(1, 30))))
    (first,) = shown("turn 3 times", steps.candidates(0), steps, limit=150)
    assert first.goes_on
    assert shown_text(first) == f"{first.text}\n…"
    assert first.citation.quote == steps.text[first.start : first.end]
    (last,) = shown("valve 29", steps.candidates(0), steps, limit=150)
    assert not last.goes_on
    (whole,) = shown("valve", steps.candidates(0), steps)
    assert not whole.goes_on


def test_a_part_of_a_code_block_opens_with_its_fence() -> None:
    text = "Run:\n\n```sh\n" + "".join(f"make step-{i:02}\n" for i in range(40)) + "```\n\nThen rest well."
    document = Document((LEAVE, text))
    (inside,) = shown("step-30", document.candidates(0), document, limit=200)
    assert inside.text.startswith("```sh\n…\nmake step-"), "what was left out before it is marked"
    assert "make step-30" in inside.text
    (after,) = shown("rest well", document.candidates(0), document, limit=64)
    assert after.text == "…\nThen rest well.", "what was left out before it is marked"
    late = Document((LEAVE, "make step-41\nmake step-42\n```\n\n" + "Then rest well. " * 9, "Run:\n\n```sh"))
    (led,) = shown("rest", late.candidates(0), late, limit=160)
    assert "```" not in led.text
    assert led.text.startswith("Run:\n…\nThen rest well.")


def test_a_few_lines_out_of_a_code_block_are_no_further_passage() -> None:
    code = "```yaml\n" + "".join(f"place_{i}: value {i}\n" for i in range(40)) + "```"
    document = Document((LEAVE, f"The place is set in a file. {'It is read once. ' * 12}".strip()), (PAY, code))
    question = "Which file sets place_30?"
    passages = shown(question, document.candidates(0, 1), document, limit=600)
    assert [one.note_id for one in passages] == ["staff.md#0"]
    assert "place_30" in shown(question, document.candidates(1, 0), document, limit=600)[0].text


def test_a_table_is_cut_to_rows_not_to_its_header() -> None:
    rows = [f"| database {i} | port {i} |" for i in range(30)]
    table = "\n".join(["| Client database | Port of the client |", "| --- | --- |", *rows])
    document = Document((LEAVE, table))
    (part,) = shown("client port of database 17", document.candidates(0), document, limit=300)
    assert part.text.startswith("| Client database | Port of the client |\n| --- | --- |\n| … |\n| database")
    assert "| database 17 | port 17 |" in part.text
    assert part.text.endswith(" |"), "no row is cut"
    wide = Document(
        (LEAVE, "Pay is paid."), (PAY, "| Pay day | When |\n| --- | --- |\n" + f"| {'word ' * 90} | tenth |")
    )
    assert [one.text for one in shown("pay day", wide.candidates(0, 1), wide, limit=300)] == ["Pay is paid."]


def test_code_is_shown_with_the_sentence_before_it() -> None:
    text = f"{'Before all. ' * 20}\n\nEnable the radius login\n\n```\nRADIUS=true\n```\n\n{'After it. ' * 20}"
    document = Document((LEAVE, text))
    (part,) = shown("enable radius login", document.candidates(0), document, limit=120)
    assert "Enable the radius login\n\n```\nRADIUS=true\n```" in part.text


def test_a_copy_under_another_level_of_heading_is_not_shown_twice() -> None:
    text = "Why is it slow?\n\nIt reads all files.\nOnce an hour."
    document = Document((("Why is it slow?",), f"# {text}"), (("Tea",), f"### {text}"), (PAY, "It reads all files."))
    assert len(shown("why is it slow", document.candidates(0, 1, 2), document)) == 1


def test_rows_of_a_table_stand_under_its_header() -> None:
    rows = "".join(f"| part {i:02} | {i} gp | some words on it |\n" for i in range(60))
    document = Document((LEAVE, f"Prices.\n\n| Part | Cost | Note |\n|---|---|---|\n{rows}\nThe end."))
    (inside,) = shown("part 41", document.candidates(0), document, limit=400)
    assert inside.text.startswith("| Part | Cost | Note |\n|---|---|---|\n| … |\n| part ")
    assert "| part 41 | 41 gp |" in inside.text
    assert len(inside.text) <= 400


def as_table(note: Candidate) -> Candidate:
    return note.model_copy(update={"kind": "table"})


def test_rows_whose_header_does_not_fit_are_not_shown_without_it() -> None:
    header = f"| Row | {'A long name of a column | ' * 5}\n|{' --- |' * 6}"
    row = f"| cup 2 | {'x | ' * 5}"
    document = Document((LEAVE, f"Each cup is washed. {'It is dried. ' * 20}"), (PAY, row, header))
    text, table = document.candidates(0, 1)
    assert [one.note_id for one in shown("cup", [text, as_table(table)], document, limit=700)] == [
        "staff.md#0",
        "staff.md#1",
    ]
    assert [one.note_id for one in shown("cup", [text, as_table(table)], document, limit=600)] == ["staff.md#0"]
    (alone,) = shown("cup", [as_table(table)], document, limit=300)
    assert alone.text == f"{header}\n| … |\n{row}"


HEADER = "| No | Tool |\n| --- | --- |\n"


def test_two_rows_that_are_asked_for_are_shown_however_far_apart() -> None:
    question = "What do a red chair and a blue lamp cost?"
    rows = [f"| part {i:02} | {i} euros |" for i in range(30)]
    rows[7], rows[21] = "| blue lamp | 70 euros |", "| red chair | 90 euros |"
    document = Document((LEAVE, HEADER + "\n".join(rows)))
    table = as_table(document.candidates(0)[0])
    text = table.text.removeprefix(HEADER)
    later = table.model_copy(update={"lead": HEADER.rstrip(), "text": text, "start": len(HEADER)})
    for note in (table, later):
        (both,) = shown(question, [note], document, limit=220)
        assert both.text.startswith(f"{HEADER}| … |\n{rows[7]}\n| … |\n{rows[21]}\n{rows[22]}")
        assert both.goes_on
    rows[8], rows[21] = rows[21], rows[8]
    document = Document((LEAVE, HEADER + "\n".join(rows)))
    table = as_table(document.candidates(0)[0])
    (beside,) = shown(question, [table], document, limit=220)
    assert beside.text.startswith(f"{HEADER}| … |\n{rows[7]}\n{rows[8]}\n{rows[9]}")
    (first,) = shown("What does part 00 cost?", [table], document, limit=220)
    assert first.text.startswith(f"{HEADER}{rows[0]}\n"), "no row is left out"


def test_rows_end_before_a_further_table_and_entries_of_json_stay_whole() -> None:
    rows = "\n".join(f"| part {i:02} | {i} euros |" for i in range(30))
    text = f"{HEADER}{rows}\n\nOther tools are these:\n\n{HEADER}| saw | oak |"
    document = Document((LEAVE, text))
    (end,) = shown("What does part 28 cost?", [as_table(document.candidates(0)[0])], document, limit=190)
    assert end.text.endswith("| part 29 | 29 euros |")
    entries = [f' {{\n  "no": "T-{i:02}"\n }},\n' for i in range(30)]
    document = Document((LEAVE, f"[\n{''.join(entries)}]"))
    (entry,) = shown("Where is T-21?", [as_table(document.candidates(0)[0])], document, limit=200)
    assert entry.text.removeprefix("…\n").startswith(entries[21])


def test_what_many_pages_hold_is_shown_once() -> None:
    document = Document((LEAVE, "Last updated in May."), (PAY, "Last updated in May."), (PAY, "Paid monthly."))
    passages = shown("updated", document.candidates(0, 1, 2), document, limit=400)
    assert "\n".join(one.text for one in passages).count("Last updated") == 1


def test_no_part_ends_on_a_line_that_announces_more() -> None:
    text = "Beech is tall. " * 4 + "\n\nThe default looks like this:\n\n```\n" + "x" * 300 + "\n```"
    document = Document((LEAVE, text))
    (passage,) = shown("beech tall", document.candidates(0), document, limit=130)
    assert "looks like this" not in passage.text


def test_a_page_without_headings_grows_by_what_has_none_either() -> None:
    document = Document(((), "An introducer is a device."), ((), "It tells others of devices."), (PAY, "Paid monthly."))
    (passage,) = shown("introducer", document.candidates(0), document)
    assert passage.text == "An introducer is a device.\n\nIt tells others of devices."


def test_a_table_of_several_notes_says_that_it_goes_on() -> None:
    head = "| Name | Order |\n| --- | --- |"
    rows = [f"| Maker {i} draws what the file shows, slowly | {i} |" for i in range(1, 4)]
    document = Document((LEAVE, f"{head}\n{rows[0]}"), (LEAVE, rows[1], head), (LEAVE, rows[2], head), gap="\n")
    (first,) = shown("maker 1", document.candidates(0), document, limit=200)
    assert first.text == f"{head}\n{rows[0]}\n{rows[1]}"
    assert first.goes_on
    (whole,) = shown("maker 1", document.candidates(0), document)
    assert whole.text.endswith(rows[2])
    assert not whole.goes_on


def test_no_passage_begins_or_ends_within_a_row() -> None:
    long = "| Maker | " + "It draws what the file shows. " * 9 + "| 6 |"
    document = Document((LEAVE, f"{long}\n\nMore on makers below."), (PAY, f"Makers are many.\n\n{long}"))
    (below,) = shown("more on makers", document.candidates(0), document, limit=120)
    assert below.text == "…\nMore on makers below."
    (above,) = shown("makers are many", document.candidates(1), document, limit=150)
    assert above.text == "Makers are many."


@pytest.mark.parametrize(("score", "kept"), [(0.35, "en"), (0.6, "en zh"), (0.29, "")])
def test_a_note_in_another_language_must_be_nearly_as_relevant(score: float, kept: str) -> None:
    best = [one.model_copy(update={"final_score": 1.0}) for one in Document((LEAVE, "Ten days.")).candidates(0)]
    others = Document((LEAVE, "More of it."), (LEAVE, "十天。")).candidates(0, 1)
    others = [one.model_copy(update={"final_score": score}) for one in others]
    assert relevant([*best, *others]) == [*best, *(one for one in others if one.language in kept.split())]


def test_a_cut_passage_names_the_heading_above_it_that_is_not_shown() -> None:
    ring = "Ring Marek at once, before a quarter past eight.\n\nThen rest well, drink tea and read a book."
    text = f"## Pay\n\nOn the 25th of a month.\n\n## Illness\n\nIt is bad luck.\n\n{ring}"
    staff = Document((LEAVE, text))
    limit = len("staff.md › Leave › Illness") + len(ring) + FRAME + 5
    [illness] = shown("Whom do I ring before a quarter past eight?", staff.candidates(0), staff, limit=limit)
    assert illness.text == f"…\n{ring}"
    assert (illness.section, illness.place) == ((*LEAVE, "Illness"), "staff.md › Leave › Illness")
    [whole] = shown("Whom do I ring before a quarter past eight?", staff.candidates(0), staff)
    assert whole.section == LEAVE


FAQ = (
    "## Lost key\n\nA new key costs 12 euros.\n\n## Visitors\n\nThey sign in below.\n\n## Parking\n\nBehind the house."
)


def test_of_small_sections_in_a_note_the_one_asked_for_leaves_room_for_other_notes() -> None:
    faq = Document(((), FAQ), name="faq.md")
    prices = Document((PAY, "Each lost key is also put on record, and who lost it pays for the lock."), name="pay.md")
    ranked = faq.candidates(0) + prices.candidates(0)
    first, second = shown("What does a lost key cost?", ranked, faq, prices, limit=190)
    assert (first.text, first.goes_on) == ("## Lost key\n\nA new key costs 12 euros.", True)
    assert second.text == prices.text


@pytest.mark.parametrize(
    ("question", "text", "entry"),
    [
        (
            "Where are plasters?",
            "**Are dogs allowed?**\nNo.\n\n**Where are the plasters?**\nIn the box.\n\n**Who has key 4?**\nAnn.",
            "**Where are the plasters?**\nIn the box.",
        ),
        (
            "被褥谁洗",
            "1. 可以带狗吗？\n答：不可以。\n\n2. 尿床了被褥谁洗？\n答：家长带回。\n\n3. 谁开门？\n答：保安。",
            "2. 尿床了被褥谁洗？\n答：家长带回。",
        ),
    ],
)
def test_of_questions_with_answers_the_one_asked_is_shown(question: str, text: str, entry: str) -> None:
    faq = Document(((), text), name="faq.md")
    [passage] = shown(question, faq.candidates(0), faq, limit=400)
    assert passage.text.removeprefix("…\n") == entry


def test_questions_without_answers_are_one_list() -> None:
    steps = "Say on the phone:\n\n1. Where is it?\n2. What happened?\n3. How many are hurt?\n\nDo not hang up first."
    note = Document((LEAVE, steps))
    [passage] = shown("How many are hurt?", note.candidates(0), note, limit=400)
    assert passage.text == steps


def test_no_section_is_taken_alone_that_says_no_more_than_another() -> None:
    faq = Document(((), "## Keys\n\nAt the desk.\n\n## Lost keys\n\nAt the desk too."), name="faq.md")
    other = Document((PAY, "Keys are counted once a year, before the house is closed in August."), name="pay.md")
    ranked = faq.candidates(0) + other.candidates(0)
    assert shown("Where are keys?", ranked, faq, other, limit=150)[0].text == faq.text


def test_small_sections_beside_those_of_the_best_note_do_not_go_before_other_notes() -> None:
    faq = Document(((), FAQ), ((), "## Bicycles\n\nIn the cellar.\n\n## Dogs\n\nOn a lead, please."), name="faq.md")
    prices = Document((PAY, "Each lost key is also put on record, and who lost it pays for the lock."), name="pay.md")
    ranked = faq.candidates(0) + prices.candidates(0)
    assert [one.document_id for one in shown("key, visitors, parking", ranked, faq, prices, limit=255)] == [
        "faq.md",
        "pay.md",
    ]


def test_a_comment_in_code_is_no_heading() -> None:
    code = "```shell\n# Build all\nmake all\n# Build the pages\nmake pages\n```"
    first = Document((LEAVE, f"Run this in the folder of the project:\n\n{code}"))
    other = Document((PAY, "What is built is put below a folder of its own, which git ignores."), name="pay.md")
    ranked = first.candidates(0) + other.candidates(0)
    assert shown("How do I build the pages?", ranked, first, other, limit=160)[0].text == first.text


def test_the_section_alone_goes_on_where_its_end_announces_more() -> None:
    steps = "1. Call the desk and say which one.\n2. Pay, and sign for the new one."
    faq = Document(((), "## Visitors\n\nThey sign in below.\n\n## Lost key\n\nWhat to do:"), ((), steps), name="faq.md")
    other = Document((PAY, "Each lost key is also put on record, and who lost it pays for the lock."), name="pay.md")
    ranked = faq.candidates(0) + other.candidates(0)
    assert shown("a lost key", ranked, faq, other, limit=240)[0].text.endswith(f"What to do:\n\n{steps}")


def test_a_list_is_shown_from_its_announcement_on_where_that_holds_the_item() -> None:
    items = ["Read it.", "Sign it.", "Scan it.", "Send it to the lender.", "Keep the paper.", "Wait for two weeks."]
    note = Document((LEAVE, "\n".join(["What to do with a form:", "", *(f"- {item}" for item in items)])))
    other = Document((PAY, "x" * 60), name="pay.md")
    [passage] = shown("Where is the scan sent?", note.candidates(0), note, limit=115)
    assert (passage.text[:10], passage.text[-7:], passage.goes_on) == ("What to do", "lender.", True)
    [passage] = shown("Wait two weeks?", note.candidates(0), note, other, limit=115)
    assert ("Read it." in passage.text, passage.text[-6:]) == (False, "weeks."), "the rest where it does not"
