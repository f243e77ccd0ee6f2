"""PDF files: reading order, headings, tables, paragraphs, what runs along the pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fpdf import FPDF
from pdfminer.layout import IndexAssigner, LAParams, LTLayoutContainer, LTTextBoxHorizontal

from theworld.errors import IngestionError
from theworld.ingestion.readers import read_source
from theworld.ingestion.readers.document import MONO, SourceDocument
from theworld.ingestion.readers.pdf import _blocks, _Line, read_pdf
from theworld.ingestion.readers.pdf_layout import break_ties_in_order, clean

BODY = "A request is answered within two days, and a refusal names its reason in writing. " * 3


def made(write: Callable[[FPDF], None]) -> str:
    """Return the text that is read of a file that `write` makes in 11 point Helvetica."""
    return read_pdf(written(write))[1]


def written(write: Callable[[FPDF], None]) -> bytes:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=11)
    write(pdf)
    return bytes(pdf.output())


def test_radicals_and_ligatures_are_the_characters_that_they_look_like():
    assert clean("被保险⼈的⻔诊ﬁle，⻓期 (cid:12)") == "被保险人的门诊file，长期"


@pytest.mark.parametrize(
    ("named", "lines", "title"),
    [
        ("Travel & Leave", [(11, "Issue 3"), (22, "Handbook"), (15, "Travel and"), (15, "leave")], "Handbook"),
        ("handbook: leave", [(11, "Issue 3"), (22, "Handbook"), (15, "Leave"), (11, BODY)], "handbook: leave"),
        ("untitled", [(22, "Handbook"), (15, "Leave"), (11, BODY)], "Handbook"),
        ("", [(11, BODY), (22, "A figure"), (11, BODY)], ""),
        ("", [(15, "Front cover"), (22, "Handbook"), (11, BODY)], ""),
        ("", [(11, BODY)], ""),
    ],
)
def test_title(named: str, lines: list[tuple[float, str]], title: str) -> None:
    def write(pdf: FPDF) -> None:
        pdf.set_title(named)
        for size, text in lines:
            pdf.set_font("helvetica", size=size)
            pdf.multi_cell(0, size / 2, text, new_x="LMARGIN", new_y="NEXT")
            pdf.ln(size / 3)
        pdf.add_page()
        heading(pdf, "LARGE", 40)
        pdf.multi_cell(0, 5, BODY)

    assert read_pdf(written(write))[0] == title


def heading(pdf: FPDF, text: str, size: float = 11, style: str = "") -> None:
    pdf.set_font("helvetica", style, size=size)
    pdf.cell(0, 14, text, new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("helvetica", size=11)


def test_headings_by_their_type() -> None:
    def write(pdf: FPDF) -> None:
        heading(pdf, "Handbook", 22)
        heading(pdf, "Leave", 15)
        pdf.multi_cell(0, 5, BODY)
        pdf.ln(8)
        heading(pdf, "Parental leave", style="B")
        pdf.multi_cell(0, 5, BODY)
        pdf.ln(8)
        heading(pdf, "NOTE.", style="B")
        pdf.multi_cell(0, 5, BODY)

    lines = made(write).splitlines()
    assert [line for line in lines if line.startswith("#")] == ["# Handbook", "## Leave", "### Parental leave"]
    assert BODY.strip() in lines


def test_headings_by_the_outline_and_not_in_its_table_of_contents() -> None:
    def write(pdf: FPDF) -> None:
        pdf.multi_cell(0, 8, "Install\nRemove")
        for name in ("Install", "Remove"):
            pdf.add_page()
            pdf.start_section(name)
            heading(pdf, name, 12)
            heading(pdf, "Not in the outline", 15)
            pdf.multi_cell(0, 5, BODY)
        pdf.ln(10)
        pdf.start_section("A section whose name takes two lines of the page, as long as it is")
        pdf.multi_cell(0, 5, "A section whose name takes two lines\nof the page, as long as it is")

    text = made(write)
    assert text.endswith("# A section whose name takes two lines of the page, as long as it is")
    assert text.startswith("Install\n\nRemove\n\n# Install\n\nNot in the outline")
    assert text.count("# Remove") == 1


def test_columns_are_read_one_after_the_other() -> None:
    left = ["Whoever leaves returns the lap-", "top on the last day and signs", "for it, which the manager con-"]
    right = ["firms. The laptop-free day is", "Friday."]

    def write(pdf: FPDF) -> None:
        for i in range(3):
            for x, column in ((15, left), (115, right)):
                if i < len(column):
                    pdf.text(x, 60 + 5 * i, column[i])

    assert made(write) == (
        "Whoever leaves returns the laptop on the last day and signs for it, which the manager confirms. "
        "The laptop-free day is Friday."
    )


PROSE = "{} is a line of running text that is\nas long as the column in which it stands"
WIDE = "{} stands across the gutter of the page, above both columns, and is as wide as these are"
LEFT, RIGHT = 15, 115


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        # Two columns of paragraphs at the same heights.
        ([(x, y, PROSE) for y in (60, 80, 100) for x in (LEFT, RIGHT)], "ACEBDF"),
        # Headings over them, and columns that end at different heights.
        ([(x, y, "{}") for y in (60, 90) for x in (LEFT, RIGHT)] + [(LEFT, 66, PROSE), (RIGHT, 66, PROSE)], "AECBFD"),
        ([(LEFT, 60, PROSE), (RIGHT, 60, PROSE), (LEFT, 80, PROSE), (RIGHT, 75, PROSE), (RIGHT, 90, PROSE)], "ACBDE"),
        # A title and a caption across both columns.
        (
            [
                *((LEFT, 40, WIDE), *((x, y, PROSE) for y in (60, 80) for x in (LEFT, RIGHT))),
                *((LEFT, 100, WIDE), *((x, y, PROSE) for y in (120, 140) for x in (LEFT, RIGHT))),
            ],
            "ABDCEFGIHJ",
        ),
        # Three columns.
        ([(x, y, PROSE) for y in (60, 80, 100) for x in (5, 75, 145)], "ADGBEHCFI"),
        # Labels and values, notes in the margin, and cells of a table are no columns.
        ([(x, y, text) for y in (60, 80, 100) for x, text in ((LEFT, "{}"), (35, "{} Road 12"))], "ABCDEF"),
        ([(x, y, text) for y in (60, 80, 100) for x, text in ((LEFT, "{}"), (25, PROSE))], "ABCDEF"),
        ([(x, y, text) for y in (60, 140) for x, text in ((LEFT, PROSE), (95, PROSE + "\nand more."))], "ABCD"),
    ],
)
def test_reading_order(texts: list[tuple[float, float, str]], order: str) -> None:
    def write(pdf: FPDF) -> None:
        for name, (x, y, text) in zip("ABCDEFGHIJ", texts, strict=False):
            for i, line in enumerate(text.format(f"({name})").split("\n")):
                pdf.text(x, y + 5 * i, line)

    assert "".join(re.findall(r"\(([A-J])\)", made(write))) == order


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_justified_text_keeps_its_words_in_order(columns: int) -> None:
    texts = [
        f"Column {i} says. " + 4 * f"{BODY.strip()} {'Responsibilities' * 2} {'undertakings' * 2}. "
        for i in range(columns)
    ]

    def write(pdf: FPDF) -> None:
        for column, text in enumerate(texts):
            pdf.set_xy(15 + 66 * column, 40 + 2 * column)
            pdf.multi_cell(60, 5, text, align="J")

    assert made(write).split() == " ".join(texts).split()


def test_columns_whose_paragraphs_begin_at_one_height_by_chance() -> None:
    columns = ((LEFT, ((40, 4), (65, 2), (100, 4), (125, 2))), (RIGHT, ((40, 3), (60, 2), (100, 3), (120, 2))))
    lines = [(x, y + 5 * i) for x, paragraphs in columns for y, count in paragraphs for i in range(count)]

    def write(pdf: FPDF) -> None:
        for place, (x, y) in enumerate(lines):
            pdf.text(x, y, f"({place}) is a line that is as long as the column in which it is")

    assert re.findall(r"\((\d+)\)", made(write)) == [str(place) for place in range(len(lines))]


def test_boxes_equally_far_apart_are_read_alike_wherever_they_lie_in_memory() -> None:
    def order(*, descending: bool) -> list[int]:
        boxes = sorted((LTTextBoxHorizontal() for _ in range(30)), key=id, reverse=descending)
        for place, box in enumerate(boxes):
            x, y = 20 + place % 3 * 60, 700 - place // 3 * 60
            box.set_bbox((x, y, x + 40, y + 40))
        (page,) = LTLayoutContainer((0, 0, 600, 800)).group_textboxes(LAParams(), boxes)
        page.analyze(LAParams())
        IndexAssigner().run(page)
        return [boxes.index(box) for box in sorted(boxes, key=lambda box: box.index)]

    break_ties_in_order()
    assert order(descending=False) == order(descending=True)


def test_ruled_tables_are_tables_and_frames_are_none() -> None:
    def write(pdf: FPDF) -> None:
        pdf.multi_cell(0, 8, "The rates:")
        with pdf.table() as table:
            for row in (("Country", "Per day"), ("France", "39 EUR"), ("Japan | Tokyo", "48 EUR, with\nbreakfast")):
                cells = table.row()
                for cell in row:
                    cells.cell(cell)
        pdf.ln(10)
        pdf.multi_cell(0, 8, "Ask the travel desk.", border=1)

    assert made(write) == (
        "The rates:\n\n| Country | Per day |\n| --- | --- |\n| France | 39 EUR |\n"
        "| Japan \\| Tokyo | 48 EUR, with breakfast |\n\nAsk the travel desk."
    )


def test_columns_around_a_ruled_table() -> None:
    def write(pdf: FPDF) -> None:
        for x, y, name in ((LEFT, 60, "A"), (LEFT, 120, "B"), (RIGHT, 60, "C"), (RIGHT, 90, "D"), (RIGHT, 130, "E")):
            for i, line in enumerate(PROSE.format(name).split("\n")):
                pdf.text(x, y + 5 * i, line)
        for row, cells in enumerate((("Thing", "Limit"), ("Bicycle", "900"), ("Laptop", "150"))):
            for column, cell in enumerate(cells):
                pdf.rect(LEFT + 30 * column, 75 + 8 * row, 30, 8)
                pdf.text(LEFT + 30 * column + 2, 80 + 8 * row, cell)

    text = made(write)
    assert re.findall(r"\b[A-E] is|Bicycle", text) == ["A is", "Bicycle", "B is", "C is", "D is", "E is"]
    assert "| Bicycle | 900 |" in text


def test_tables_without_rules_are_rows_of_pieces_in_the_same_columns() -> None:
    rows = [("Port", "Ferries a day", "Fare"), ("Oban", "4", "12.50"), ("Mallaig", "11", "9.00"), ("Uig", "", "23.40")]

    def write(pdf: FPDF) -> None:
        for i, row in enumerate(rows):
            for x, cell in zip((20, 40, 75), row, strict=True):
                pdf.text(x, 60 + 6 * i, cell)
            pdf.text(105, 60 + 6 * i, f"Beside the table stands a second column, {'abcd'[i]}")
        for i in range(3):
            for x in (15, 80, 145):
                pdf.text(x, 160 + 5 * i, "prose in three columns, " + "abc"[i])

    assert made(write).startswith(
        "| Port | Ferries a day | Fare |\n| --- | --- | --- |\n| Oban | 4 | 12.50 |\n| Mallaig | 11 | 9.00 |\n"
        "| Uig |  | 23.40 |\n\nBeside the table stands a second column, a\n\n"
    )


@pytest.mark.parametrize("upright", [False, True])
def test_text_along_the_side_is_left_out_unless_it_is_all_there_is(upright: bool) -> None:
    def write(pdf: FPDF) -> None:
        with pdf.rotation(90, 10, 150):
            pdf.text(10, 150, "xyz")
        if upright:
            pdf.text(60, 60, "Ask the office.")

    assert made(write) == ("Ask the office." if upright else "xyz")


@pytest.mark.parametrize("degrees", [90, 180, 270])
@pytest.mark.parametrize("said", [False, True])
def test_pages_are_read_whichever_way_they_are_turned(degrees: int, said: bool) -> None:
    def write(pdf: FPDF) -> None:
        with pdf.rotation(0 if said else degrees, 105, 105):
            heading(pdf, "Fees of the house", 16)
            pdf.multi_cell(0, 5, BODY, new_x="LMARGIN", new_y="NEXT")
            with pdf.table() as table:
                for row in (("Item", "Fee"), ("Pool", "12"), ("Sauna", "20")):
                    table.row(row)

    turned = written(write)
    if said:
        turned = turned.replace(b"/Type /Page\n", b"/Type /Page\n/Rotate %d\n" % degrees)
    table = "| Item | Fee |\n| --- | --- |\n| Pool | 12 |\n| Sauna | 20 |"
    assert read_pdf(turned)[1] == f"# Fees of the house\n\n{BODY.strip()}\n\n{table}"


def test_running_heads_and_page_numbers_are_left_out() -> None:
    def write(pdf: FPDF) -> None:
        for page in range(1, 6):
            if page > 1:
                pdf.add_page()
            pdf.text(20, 10, "Acme handbook")
            pdf.text(20, 60, f"Rule {page} holds.")
            pdf.text(100, 290, f"Page {page} of 5")

    assert made(write) == "\n\n".join(f"Rule {page} holds." for page in range(1, 6))


def test_what_is_printed_twice_to_be_bold_is_read_once() -> None:
    def write(pdf: FPDF) -> None:
        for shift in (0, 0.1, 0.2):
            pdf.text(20 + shift, 60, "Collect all bills")

    assert made(write) == "Collect all bills"


def test_a_file_with_a_password_says_so(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_encryption(owner_password="owner", user_password="user")
    pdf.output(str(tmp_path / "a.pdf"))
    with pytest.raises(IngestionError, match=r"needs a password\. Save it without one"):
        next(read_source(tmp_path / "a.pdf"))


@pytest.mark.parametrize(
    ("font", "code"), [("DejaVuSansMono", True), ("ArialUnicodeMS", False), ("MonotypeCorsiva", False)]
)
def test_fonts_of_code(font: str, code: bool) -> None:
    assert bool(MONO.search(font)) is code


def test_code_and_items_keep_their_lines() -> None:
    def write(pdf: FPDF) -> None:
        pdf.multi_cell(0, 6, "Run these:")
        pdf.ln(8)
        pdf.set_font("courier", size=10)
        pdf.multi_cell(0, 5, "for f in *.txt; do\n  cat $f\ndone")
        pdf.ln(8)
        pdf.set_font("helvetica", size=11)
        pdf.multi_cell(0, 6, "1. Open the lid.\n2. Turn the key,\nthen wait.\n- Close it.")

    assert made(write) == (
        "Run these:\n\n```\nfor f in *.txt; do\n  cat $f\ndone\n```\n\n"
        "1. Open the lid.\n\n2. Turn the key, then wait.\n\n- Close it."
    )


@pytest.mark.parametrize(
    ("lines", "blocks"),
    [
        (["年假每年十五天，", "未休完的可以", "顺延。"], ["年假每年十五天，未休完的可以顺延。"]),
        (["第一条 适用范围", "第二条 职责"], ["第一条 适用范围", "第二条 职责"]),
        (["• 身份证", "• 护照"], ["- 身份证", "- 护照"]),
        (["# not a heading"], ["\\# not a heading"]),
        (["a well-known word, well-", "known and di-", "vided"], ["a well-known word, well-known and divided"]),
        (["the year 2024-", "2025"], ["the year 2024- 2025"]),
    ],
)
def test_lines_become_paragraphs(lines: list[str], blocks: list[str]) -> None:
    assert list(_blocks([_Line(line, 0, 0, right=1.0) for line in lines])) == blocks


@pytest.mark.parametrize(
    ("last", "line", "one"),
    [
        ("which is", "returned", True),
        ("is returned.", "Then", False),
        ("可以", "顺延", True),
        ("结束。", "另外", False),
        ("a caption", "Another box", False),
    ],
)
def test_paragraphs_go_on_on_the_next_page(last: str, line: str, one: bool) -> None:
    assert len(list(_blocks([_Line(last, 0, 3, right=1.0), _Line(line, 1, 0, right=1.0)]))) == 1 + (not one)


def test_sections_of_a_document(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    heading(pdf, "Travel <policy>", 20)
    heading(pdf, "Rates", 15)
    pdf.multi_cell(0, 5, BODY)
    pdf.output(str(tmp_path / "travel.pdf"))
    document = next(read_source(tmp_path / "travel.pdf"))
    assert isinstance(document, SourceDocument)
    assert document.title == "Travel <policy>"
    assert document.blocks[-1].section == ("Rates",)


CODES = b"/CMapName /Codes def 1 begincodespacerange <0000> <FFFF> endcodespacerange "


def test_text_whose_codes_are_mapped_within_the_file() -> None:
    """pdfminer knows no mapping of codes to glyphs that a file brings along, and finds no text in it."""
    said = "".join(f"{ord(character):04X}" for character in "租金一年一付")
    streams = (
        f"BT /F1 12 Tf 50 700 Td <{said}> Tj ET".encode(),
        CODES + b"1 begincidrange <0000> <FFFF> 0 endcidrange",
        CODES + b"1 beginbfrange <0000> <FFFF> <0000> endbfrange",
    )
    objects = [
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 6 0 R /Resources <</Font <</F1 4 0 R>>>>>>",
        b"<</Type /Font /Subtype /Type0 /BaseFont /A /Encoding 7 0 R /ToUnicode 8 0 R /DescendantFonts [5 0 R]>>",
        b"<</Type /Font /Subtype /CIDFontType0 /BaseFont /A /CIDSystemInfo"
        b" <</Registry (Adobe) /Ordering (Identity) /Supplement 0>>>>",
        *(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream) for stream in streams),
    ]
    data = b"%PDF-1.7\n"
    for number, content in enumerate(objects, 1):
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    assert read_pdf(data + b"trailer <</Root 1 0 R>>\n%%EOF") == ("", "租金一年一付")
