"""Slides, workbooks, books and notebooks to Markdown; archives that would explode are refused."""

from __future__ import annotations

import builtins
import zipfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import nbformat
import pytest
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from odfdo import Cell, DrawPage, Frame, Header, List, Paragraph, Table
from odfdo import Document as OpenDocument
from openpyxl import Workbook
from openpyxl.comments import Comment
from pptx import Presentation
from pptx.util import Inches

from theworld.errors import IngestionError
from theworld.ingestion.plan import divided
from theworld.ingestion.readers import READERS, SourceDocument, converted, notebook, read_source
from theworld.settings import NoteSettings

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def read_one(path: Path) -> SourceDocument:
    reader = notebook.read if path.suffix == ".ipynb" else READERS[path.suffix]
    (document,) = reader(path)
    assert isinstance(document, SourceDocument)
    return document


def kinds(document: SourceDocument) -> list[tuple[str, tuple[str, ...]]]:
    return [(block.kind, block.section) for block in document.blocks]


@pytest.mark.slow
def test_slides(tmp_path: Path) -> None:
    slides = Presentation()
    first = slides.slides.add_slide(slides.slide_layouts[1])
    first.shapes.title.text = "Leave"
    first.placeholders[1].text = "Ask your lead."
    second = slides.slides.add_slide(slides.slide_layouts[5])
    second.shapes.title.text = "产假"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, words in enumerate([("Country", "Weeks"), ("France", "16")]):
        for column, word in enumerate(words):
            table.cell(row, column).text = word
    slides.save(str(tmp_path / "a.pptx"))
    document = read_one(tmp_path / "a.pptx")
    assert document.title == "Leave"
    assert "Slide number" not in document.text
    assert kinds(document) == [("paragraph", ("Leave",)), ("heading", ("产假",)), ("table", ("产假",))]
    assert "| France | 16 |" in document.text


def test_slides_without_a_title_and_shapes_of_no_known_kind(tmp_path: Path) -> None:
    slides = Presentation()
    for title, said in [
        ("", "Cover"),
        ("Budget\v2024", "4 <b> million\vEUR"),
        ("", "On 12 May."),
        ("", ""),
        ("Ask", "Ann"),
    ]:
        slide = slides.slides.add_slide(slides.slide_layouts[5 if title else 6])
        if title:
            slide.shapes.title.text = title
        if said:
            shape = slide.shapes.add_textbox(Inches(1), Inches(3), Inches(1), Inches(1))
            shape.text_frame.text = said
            own = shape._element
            own.nvSpPr.cNvSpPr.attrib.pop("txBox")
            own.spPr.remove(own.spPr.prstGeom)
    slides.save(str(tmp_path / "a.pptx"))
    document = read_one(tmp_path / "a.pptx")
    assert document.text.split() == (
        "Cover # Budget 2024 4 <b> million EUR # Slide 3 On 12 May. # Ask Ann".split()
    )  # fmt: skip
    assert "\v" not in document.text
    assert [section for kind, section in kinds(document) if kind == "heading"] == [
        ("Budget 2024",), ("Slide 3",), ("Ask",)
    ]  # fmt: skip


def add_parts(path: Path, parts: dict[str, str], links: dict[str, str]) -> None:
    """Add parts to an Office file, and links to parts that have some or none."""
    types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path) as archive:
        whole = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith((".xml", ".rels"))}
    for name, targets in links.items():
        added = "".join(f'<Relationship Id="x{at}" Type="{types}/{one.split("/")[-1].split(".")[0]}" Target="/{one}"/>'
                        for at, one in enumerate(targets.split()))  # fmt: skip
        whole[name] = whole[name].replace("</Relationships>", f"{added}</Relationships>")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**whole, **parts}.items():
            archive.writestr(name, content)


@pytest.mark.slow
def test_groups_notes_merged_cells_and_comments_of_slides(tmp_path: Path) -> None:
    slides, path = Presentation(), tmp_path / "a.pptx"
    for title in ("Fees", "Ask"):
        slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = title
    first = slides.slides[0]
    group = first.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(3), Inches(1), Inches(1)).text_frame.text = "In a group."
    table = first.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for place, words in enumerate(("Group", "Fee", "Adults", "12", "", "9")):
        table.cell(*divmod(place, 2)).text = words
    table.cell(1, 0).merge(table.cell(2, 0))
    first.notes_slide.notes_text_frame.text = "Say it twice."
    slides.save(str(path))
    parts = {
        "ppt/commentAuthors.xml": '<l><cmAuthor id="0" name="Ann"/></l>',
        "ppt/comments/comments.xml": '<l><cm authorId="0"><text>Is it 9?</text></cm><cm><text>Yes.</text></cm></l>',
    }
    add_parts(path, parts, {
        "ppt/_rels/presentation.xml.rels": "ppt/commentAuthors.xml",
        "ppt/slides/_rels/slide1.xml.rels": "ppt/comments/comments.xml",
        "ppt/slides/_rels/slide2.xml.rels": "ppt/comments/none/comments.xml",
    })  # fmt: skip
    text = read_one(path).text
    assert "| Group | Fee |\n| --- | --- |\n| Adults | 12 |\n| Adults | 9 |" in text
    assert "In a group." in text
    assert text.index("(Ann: Is it 9?)\n\n(Yes.)") < text.index("Say it twice.") < text.index("# Ask")


def test_comments_and_hidden_sheets_of_a_workbook(tmp_path: Path) -> None:
    book, path = Workbook(), tmp_path / "a.xlsx"
    for row in (["Item", "Price"], ["Pool", 3], ["Sauna", 4]):
        book.active.append(row)
    for cell, author, words in (("B1", "Bo", "Of 2026."), ("B2", "Ann", "Ann:\nAsk\nher."), ("B3", "", "Old."),
                                ("E2", "Bo", "Row."), ("C9", "Bo", "Below.")):  # fmt: skip
        book.active[cell].comment = Comment(words, author)
    hidden = book.create_sheet("Margins")
    hidden.append(["Pool", 42])
    hidden.sheet_state = "hidden"
    book.save(path)
    add_parts(path, {
        "xl/persons/person.xml": '<l><person id="p" displayName="Cy"/></l>',
        "xl/threadedComment.xml": '<l><threadedComment ref="B3" personId="p"><text>New.</text></threadedComment>'
        '<threadedComment ref="B3"><text>Yes.</text></threadedComment><threadedComment ref="no cell"/></l>',
    }, {"xl/_rels/workbook.xml.rels": "xl/persons/person.xml",
        "xl/worksheets/_rels/sheet1.xml.rels": "xl/threadedComment.xml"})  # fmt: skip
    assert read_one(path).text.replace("|  |", "| |") == (
        "| Item | Price (Bo: Of 2026.) | |\n| --- | --- | --- |\n"
        "| Pool | 3 (Ann: Ask her.) | (Bo: Row.) |\n"
        "| Sauna | 4 (Cy: New.) (Yes.) | |\n\n(Bo: Below.)\n\n"
    )
    add_parts(path, {"xl/comments/comment1.xml": "<comments", "xl/threadedComment.xml": "<"}, {})
    assert "| Pool | 3 |" in read_one(path).text


@pytest.mark.parametrize(
    ("rows", "tables"),
    [
        (  # titles above, of different height
            [["Income", None, None, "Reserves"], [], ["From", "EUR", None, "Account", "EUR"],
             ["Fees", 20, None, "Bank", 3], ["Gifts", 5, None, "Cash", 4], ["Sales", 6]],
            ["Income\n\n| From | EUR |", "| Sales | 6 |\n\nReserves\n\n| Account | EUR |", "| Cash | 4 |"],
        ),
        (  # the same header, whose columns begin with dates
            [["Date", "In", None, "Date", "Out"], [date(2026, 1, 2), 7, None, date(2026, 1, 3), 8],
             [date(2026, 1, 4), 9, None, date(2026, 1, 4), 1]],
            ["| Date | In |\n| --- | --- |\n| 2026-01-02 | 7 |", "| Date | Out |\n| --- | --- |\n| 2026-01-03 | 8 |"],
        ),
        (  # numbers on the right go on with the words on the left
            [["Item", "Unit", None, "2025", "2026"], ["A", "kg", None, 1, 2], ["B", "kg", None, 3, 4]],
            ["| A | kg | 1 | 2 |"],
        ),
        (  # so does what is sparse, what is said twice, and a single column
            [["Item", "Unit", None, "Who", "Room"], ["A", "kg", None, "Bo", "x"], ["B", "kg"],
             ["C", "kg", None, "Al", "y"]],
            ["| A | kg | Bo | x |"],
        ),
        (
            [["Name", "Team", None, "Here", "Paid"], ["Ann", "X", None, "yes", "no"], ["Bo", "Y", None, "yes", "no"]],
            ["| Ann | X | yes | no |"],
        ),
        (
            [["Name", "Team", None, "Remark"], ["Ann", "X", None, "new"], ["Bo", "Y", None, "old"]],
            ["| Ann | X | new |"],
        ),
        (  # a header over an empty column
            [["Name", "Team", "Left", "Who", "Room"], ["Ann", "X", None, "Al", "1"], ["Bo", "Y", None, "Cy", "2"]],
            ["| Ann | X | | Al | 1 |"],
        ),
    ],
)  # fmt: skip
def test_tables_side_by_side(tmp_path: Path, rows: list[list[Any]], tables: list[str]) -> None:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    text = read_one(tmp_path / "a.xlsx").text.replace("|  |", "| |")
    places = [text.index(table) for table in tables]
    assert places == sorted(places)


def test_workbook(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    for row in [["Rooms of the house"], [], ["Room", None, "Since", "Free"], ["A|1", None, date(2024, 2, 1), True],
                [None, None, 7, None]]:  # fmt: skip
        sheet.append(row)
    book.create_sheet("空")
    book.create_sheet("价格").append(["只有一格"])
    book.save(str(tmp_path / "the-rooms.xlsx"))
    document = read_one(tmp_path / "the-rooms.xlsx")
    assert document.title == "the rooms"
    assert document.text == (
        "## Sheet\n\nRooms of the house\n\n"
        "| Room | Since | Free |\n| --- | --- | --- |\n| A\\|1 | 2024-02-01 | True |\n"
        "| | 7 | |\n\n## 价格\n\n| 只有一格 |\n| --- |\n\n"
    )
    assert kinds(document)[:3] == [("heading", ("Sheet",)), ("paragraph", ("Sheet",)), ("table", ("Sheet",))]


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_each_sheet_is_a_note_of_its_own_under_its_name(tmp_path: Path, kind: str) -> None:
    def notes(**sheets: list[list[Any]]) -> list[tuple[tuple[str, ...], bool]]:
        """Return the section of each note of a workbook, and whether a sheet's name is in its text."""
        path = tmp_path / f"plan.{kind}"
        if kind == "xlsx":
            book = Workbook()
            book.remove(book.active)
            for name, rows in sheets.items():
                sheet = book.create_sheet(name)
                for row in rows:
                    sheet.append(row)
            book.save(path)
        else:
            other = OpenDocument("spreadsheet")
            other.body.clear()
            for place, (name, rows) in enumerate(sheets.items()):
                other.body.append(Table(name))
                other.body.tables[place].set_values(rows)
            other.save(path)
        return [(note.section, "## " in note.text) for note in divided(read_one(path), NoteSettings())]

    rows = [["Name", "Shift"], ["Ann", "early"]]
    both = notes(East=rows, Rooms=[["Room", "Key"], [101, "K-07"]], Plan=[["One line"]])
    assert both == [(("East",), True), (("Rooms",), True), (("Plan",), True)]
    assert notes(Sheet1=rows, 工作表2=rows) == [(("Sheet1",), True), (("工作表2",), True)]
    assert notes(East=rows) == [(("East",), True)]
    assert notes(Sheet1=rows) == notes(工作表1=rows) == [((), False)]


def test_workbook_with_spanning_cells_and_number_formats(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    sheet.title = "Fees"
    for row in [["Fees of 2024"], ["Item", "Fee", None, "Tax"], [None, "Adults", "Children"],
                ["Pool", 12, 7.5, 0.07], [None, 3, 1000000, 0.125], ["Sauna", -20, date(2024, 2, 1), 3],
                [1234, 2.345, -3.5, 2]]:  # fmt: skip
        sheet.append(row)
    for merged in ("A1:D1", "A2:A3", "B2:C2", "D2:D3", "A4:A5"):
        sheet.merge_cells(merged)
    for cell, shown_as in {"B4": '"$"#,##0.00', "C4": "[$€-407] #,##0", "B5": '0.0\\ "kg"', "C5": "#,##0;[Red]-#,##0",
                           "D4": "0%", "D5": "0.0%", "B6": '_("¥"* #,##0_)', "D6": "000-0000",
                           "A7": "00000", "B7": "0.0", "C7": "000.00", "D7": "0.00E+00"}.items():  # fmt: skip
        sheet[cell].number_format = shown_as
    sheet.append(["Swum", timedelta(hours=26, minutes=5), timedelta(seconds=75), timedelta(hours=-1)])
    for cell, shown_as in {"B8": "[h]:mm", "C8": "[h]:mm:ss", "D8": "[h]:mm"}.items():
        sheet[cell].number_format = shown_as
    book.save(str(tmp_path / "a.xlsx"))
    assert read_one(tmp_path / "a.xlsx").text == (
        "## Fees\n\nFees of 2024\n\n"
        "| Item | Fee Adults | Fee Children | Tax |\n| --- | --- | --- | --- |\n"
        "| Pool | $12.00 | € 7.5 | 7% |\n| Pool | 3.0 kg | 1000000 | 12.5% |\n| Sauna | ¥-20 | 2024-02-01 | 3 |\n"
        "| 01234 | 2.345 | -003.50 | 2 |\n| Swum | 26:05 | 0:01:15 | -1:00 |\n\n"
    )


def test_what_is_said_above_the_header_is_no_header(tmp_path: Path) -> None:
    book = Workbook()
    for row in (
        ["Quote"],
        ["For: M. Reed", None, "Date: 2026-10-12"],
        ["No.", "Item", "Unit", "Price"],
        [1, "Tiles", "m2", 25],
        [2, "Paint", "l", 9],
    ):
        book.active.append(row)
    rota = book.create_sheet("Rota")
    for row in ([None, "Monday", "Tuesday"], ["Ann", "early", "late"], ["Ben", "late", "9 to 5"]):
        rota.append(row)
    book.save(tmp_path / "a.xlsx")
    assert read_one(tmp_path / "a.xlsx").text == (
        "## Sheet\n\nQuote\n\nFor: M. Reed Date: 2026-10-12\n\n"
        "| No. | Item | Unit | Price |\n| --- | --- | --- | --- |\n| 1 | Tiles | m2 | 25 |\n| 2 | Paint | l | 9 |\n\n"
        "## Rota\n\n| | Monday | Tuesday |\n| --- | --- | --- |\n| Ann | early | late |\n| Ben | late | 9 to 5 |\n\n"
    )


def test_a_stray_cell_far_away_costs_no_memory(tmp_path: Path) -> None:
    book, other = Workbook(), OpenDocument("spreadsheet")
    for row in (["Item", "Price"], ["Pool", 3], ["Sauna", 4]):
        book.active.append(row)
    book.active["XFD1048576"] = "stray"
    book.active.merge_cells("A2:A3")
    book.create_sheet("Next").append(["only"])
    book.save(tmp_path / "a.xlsx")
    assert read_one(tmp_path / "a.xlsx").text == (
        "## Sheet\n\n| Item | Price |\n| --- | --- |\n| Pool | 3 |\n| Pool | 4 |\n\nstray\n\n"
        "## Next\n\n| only |\n| --- |\n\n"
    )
    other.body.clear()
    other.body.append(Table("Sheet"))
    other.body.tables[0].set_values([["Item", "Price"], ["Pool", 3]])
    other.body.tables[0].set_value((16383, 1048575), "stray")
    other.save(tmp_path / "a.ods")
    table = "| Item | Price |\n| --- | --- |\n| Pool | 3 |"
    assert read_one(tmp_path / "a.ods").text == f"{table}\n\nstray\n\n"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [["Prices"], [], ["Item", "Price"], ["A", 3], ["B", 4], ["* with tax"], [], ["Rebates"],
             ["Group", "Per cent"], ["Children", 50], [], ["Ask at the desk."]],
            "Prices\n\n| Item | Price |\n| --- | --- |\n| A | 3 |\n| B | 4 |\n\n* with tax\n\nRebates\n\n"
            "| Group | Per cent |\n| --- | --- |\n| Children | 50 |\n\nAsk at the desk.",
        ),
        (
            [["姓名", "邮箱", "部门"], ["李雷", "l@x", "财务"], [], ["术语", "含义"], ["年假", "带薪"], ["事假", "无"]],
            "| 姓名 | 邮箱 | 部门 |\n| --- | --- | --- |\n| 李雷 | l@x | 财务 |\n\n"
            "| 术语 | 含义 |\n| --- | --- |\n| 年假 | 带薪 |\n| 事假 | 无 |",
        ),
        (
            [["Item", "Price"], ["A", 3], [], ["B", 4], ["C"], [], ["Total", 7]],
            "| Item | Price |\n| --- | --- |\n| A | 3 |\n| B | 4 |\n| C | |\n| Total | 7 |",
        ),
        ([["only"], [], ["a list"]], "| only |\n| --- |\n| a list |"),
    ],
)  # fmt: skip
def test_tables_of_a_sheet(tmp_path: Path, rows: list[list[Any]], text: str) -> None:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(str(tmp_path / "a.xlsx"))
    assert read_one(tmp_path / "a.xlsx").text.replace("|  |", "| |") == f"{text}\n\n"


def test_a_formula_that_nothing_has_computed_is_shown(tmp_path: Path) -> None:
    book = Workbook()
    for row in [["Item", "Net", "Gross"], ["A", 3, "=B2*1.2"], ["Total", "=SUM(B2:B2)", None]]:
        book.active.append(row)
    book.save(str(tmp_path / "a.xlsx"))
    rows = "| A | 3 | =B2*1.2 |\n| Total | =SUM(B2:B2) | |"
    text = read_one(tmp_path / "a.xlsx").text.replace("|  |", "| |")
    assert text == f"| Item | Net | Gross |\n| --- | --- | --- |\n{rows}\n\n"


def test_line_below_cells_that_span_rows(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    for row in [["Team", "Member"], ["Red", "Ann"], [None, "Bo"], ["Since May."]]:
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    book.save(str(tmp_path / "a.xlsx"))
    table = "| Team | Member |\n| --- | --- |\n| Red | Ann |\n| Red | Bo |"
    assert read_one(tmp_path / "a.xlsx").text == f"{table}\n\nSince May.\n\n"


def test_older_workbook() -> None:
    document = read_one(Path(__file__).parent / "prices.xls")
    assert document.title == "prices"
    assert document.text == (
        "## 价目\n\nPrice list\n\n| Item | Fee Adults | Fee Children |\n| --- | --- | --- |\n"
        "| Pool | 12 | 7.5 |\n| Sauna | 2024-03-01 | |\n\n"
    )


def test_open_document_text(tmp_path: Path) -> None:
    document = OpenDocument("text")
    document.body.clear()
    document.body.append(Header(1, "Leave"))
    document.body.append(Paragraph("Up to well-known limits."))
    document.body.append(List(["one", "两个"]))
    document.save(tmp_path / "a.odt")
    found = read_one(tmp_path / "a.odt")
    assert found.title == "Leave"
    assert [kind for kind, _ in kinds(found)] == ["paragraph", "list"]
    assert "well-known" in found.text


def test_merged_cells_of_an_open_document_text(tmp_path: Path) -> None:
    document, table = OpenDocument("text"), Table("fees")
    document.body.clear()
    table.set_values([["Item", "Fee", None], [None, "Adults", "a <b"], ["Pool", 12, 7], [None, 3, 4]])
    for area in ((0, 0, 0, 1), (1, 0, 2, 0), (0, 2, 0, 3)):
        table.set_span(area)
    for part in (Header(1, "Fees"), table, Paragraph("From May.")):
        document.body.append(part)
    document.save(tmp_path / "a.odt")
    assert read_one(tmp_path / "a.odt").text.rstrip() == (
        "# Fees\n\n| Item | Fee Adults | Fee a <b |\n| --- | --- | --- |\n"
        "| Pool | 12 | 7 |\n| Pool | 3 | 4 |\n\nFrom May."
    )


def test_open_document_workbook(tmp_path: Path) -> None:
    book = OpenDocument("spreadsheet")
    book.body.clear()
    sheet = Table("费用")
    sheet.set_values([["Fees of 2024"], ["Item", "Fee", None], [None, "Adults", "Children"], ["Pool", None, None]])
    for area in ((0, 0, 2, 0), (0, 1, 0, 2), (1, 1, 2, 1)):
        sheet.set_span(area)
    sheet.set_cell((1, 3), Cell(0.125, text="12,5 %"))
    sheet.set_cell((2, 3), Cell(date(2024, 2, 1), text="1.2.24"))
    book.body.append(sheet)
    book.body.append(Table("empty", width=3, height=9))
    book.save(tmp_path / "the-fees.ods")
    document = read_one(tmp_path / "the-fees.ods")
    assert document.title == "the fees"
    assert document.text == (
        "## 费用\n\nFees of 2024\n\n| Item | Fee Adults | Fee Children |\n| --- | --- | --- |\n"
        "| Pool | 12,5 % | 2024-02-01 |\n\n"
    )


def test_open_document_slides(tmp_path: Path) -> None:
    slides = OpenDocument("presentation")
    slides.body.clear()
    slides.meta.title = "The plan"
    for name, texts in {"Budget": ["12,000 for the roof", "预算已批准"], "": ["What is left"]}.items():
        page = DrawPage(name or "last", name="page 2")
        if name:
            page.append(Frame.text_frame(name, presentation_class="title"))
        page.append(Frame.text_frame([List(texts)] if name else texts))
        slides.body.append(page)
    table = Table("costs")
    table.set_values([["Item", "Cost"], ["Roof", "9,000"]])
    frame = Frame()
    frame.append(table)
    slides.body.get_draw_page(0).append(frame)
    slides.save(tmp_path / "a.odp")
    document = read_one(tmp_path / "a.odp")
    assert document.title == "The plan"
    assert document.text == (
        "# Budget\n\n- 12,000 for the roof\n- 预算已批准\n\n| Item | Cost |\n| --- | --- |\n| Roof | 9,000 |\n\n"
        "# page 2\n\nWhat is left\n"
    )


def test_book(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as book:
        book.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>',
        )
        book.writestr(
            "c.opf",
            '<package xmlns:dc="d"><metadata><dc:title>The Book</dc:title><dc:creator>Ada</dc:creator></metadata>'
            '<manifest><item id="x" href="x.xhtml"/></manifest><spine><itemref idref="x"/></spine></package>',
        )
        book.writestr("x.xhtml", "<html><body><h1>Chapter</h1><ul><li>one</li><li>two</li></ul></body></html>")
    document = read_one(tmp_path / "a.epub")
    assert document.title == "The Book"
    assert kinds(document) == [("paragraph", ()), ("heading", ("Chapter",)), ("list", ("Chapter",))]


@pytest.mark.parametrize(
    ("properties", "guide"),
    [(' properties="nav"', ""), ("", '<guide><reference type="toc" href="nav.xhtml"/></guide>')],
)
def test_pages_that_list_the_contents_of_a_book_are_not_read(tmp_path: Path, properties: str, guide: str) -> None:
    page = "<html><body><h1>{}</h1><ol><li><a href='x.xhtml'>{}</a></li></ol></body></html>"
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as book:
        book.writestr("META-INF/container.xml", '<x><rootfile full-path="o/c.opf"/></x>')
        book.writestr(
            "o/c.opf",
            '<package xmlns="o" xmlns:dc="d"><metadata><dc:title>The Book</dc:title></metadata><manifest>'
            f'<item id="n" href="nav.xhtml"{properties}/><item id="x" href="x.xhtml"/></manifest>'
            f'<spine><itemref idref="n"/><itemref idref="x"/></spine>{guide}</package>',
        )
        book.writestr("o/nav.xhtml", page.format("Contents", "One"))
        book.writestr("o/x.xhtml", page.format("One", "It began."))
    document = read_one(tmp_path / "a.epub")
    assert (document.title, document.text.split("\n")[2]) == ("The Book", "# One")


DIAGRAM = (
    '<d:dataModel xmlns:d="d" xmlns:a="a"><d:ptLst><d:pt type="doc"/><d:pt><d:t><a:p><a:r><a:t>Plan it</a:t></a:r>'
    "</a:p></d:t></d:pt><d:pt><d:t><a:p><a:r><a:t>Do</a:t></a:r></a:p></d:t></d:pt></d:ptLst></d:dataModel>"
)


def test_words_of_diagrams(tmp_path: Path) -> None:
    slides, word = Presentation(), Document()
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = "Steps"
    slides.save(str(tmp_path / "a.pptx"))
    add_parts(tmp_path / "a.pptx", {"ppt/diagrams/diagramData.xml": DIAGRAM},
              {"ppt/slides/_rels/slide1.xml.rels": "ppt/diagrams/diagramData.xml"})  # fmt: skip
    assert read_one(tmp_path / "a.pptx").text.split() == "# Steps Plan it Do".split()
    said = word.add_paragraph("Steps: ")._p
    said.append(parse_xml(
        f'<w:r {WORD}><w:drawing><d:relIds xmlns:d="d" xmlns:r="r" r:dm="x0" r:lo="x9"/></w:drawing></w:r>'
    ))  # fmt: skip
    word.add_paragraph("After.")
    word.save(str(tmp_path / "a.docx"))
    add_parts(tmp_path / "a.docx", {"word/diagrams/diagramData.xml": DIAGRAM},
              {"word/_rels/document.xml.rels": "word/diagrams/diagramData.xml"})  # fmt: skip
    assert read_one(tmp_path / "a.docx").text.rstrip() == "Steps: Plan it / Do\n\nAfter."


def test_code_of_word_keeps_its_lines(tmp_path: Path) -> None:
    word = Document()
    word.styles.add_style("Source Code", 1)
    word.styles.add_style("Listing", 1).font.name = "Consolas"
    word.styles.add_style("Sub", 1).base_style = word.styles["Listing"]
    word.add_heading("Run", 1).runs[0].font.name = "Consolas"
    word.add_paragraph("Do this, and read more about it in the manual of the server and its many clients:")
    for line, style in (("# all <a&b>", ""), ("for x in y:", "Sub"), ("    if x:", "Source Code"), ("", ""),
                        ("        stop(`1`)", "Listing")):  # fmt: skip
        paragraph = word.add_paragraph(style=style or None)
        if not line:
            continue
        run = paragraph.add_run(line[: len(line) - len(line.lstrip())])
        run._r.addnext(added := word.paragraphs[-1].add_run(line.lstrip())._r)
        if not style:
            added.get_or_add_rPr().get_or_add_rFonts().set(qn("w:ascii"), "Courier New")
    word.add_paragraph()
    word.add_paragraph("Then wait.")
    word.save(str(tmp_path / "a.docx"))
    document = read_one(tmp_path / "a.docx")
    assert document.text.split("clients:\n\n")[1].rstrip() == (
        "```\n# all <a&b>\nfor x in y:\n    if x:\n\n        stop(`1`)\n```\n\nThen wait."
    )
    assert [kind for kind, _ in kinds(document)] == ["paragraph", "code", "paragraph"]


def test_text_in_a_typewriter_font_is_no_code(tmp_path: Path) -> None:
    word = Document()
    word.styles["Normal"].font.name = "Courier New"
    for line in ("INT. HOUSE", "    She sits."):
        word.add_paragraph(line)
    word.save(str(tmp_path / "a.docx"))
    assert read_one(tmp_path / "a.docx").text.split("\n\n")[0] == "INT. HOUSE"


MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def test_an_equation_that_cannot_be_converted_costs_only_itself(tmp_path: Path) -> None:
    word, run = Document(), "<m:r><w:rPr><w:ins w:id='1' z:x='1'/></w:rPr><m:t>{}</m:t></m:r>"
    limit = f"<m:limLow><m:e>{run.format('argmin')}</m:e><m:lim>{run.format('z')}</m:lim></m:limLow>"
    raised = f"<m:sSup><m:e>{run.format('a')}</m:e><m:sup>{run.format('2')}</m:sup></m:sSup>"
    for equation in (raised, limit):
        said = word.add_paragraph("Let ")._p
        said.append(parse_xml(f'<m:oMath {MATH} {WORD} xmlns:z="z">{equation}</m:oMath>'))
    word.save(str(tmp_path / "a.docx"))
    assert read_one(tmp_path / "a.docx").text.rstrip() == "Let $a^{2}$\n\nLet $argminz$"


def test_tables_within_cells_are_read_once(tmp_path: Path) -> None:
    word = Document()
    table = word.add_table(2, 2)
    for place, words in enumerate(("Day", "Times", "Monday", "Hours:")):
        table.cell(*divmod(place, 2)).text = words
    inner = table.cell(1, 1).add_table(2, 2)
    for place, words in enumerate(("open", "9", "closed", "17")):
        inner.cell(*divmod(place, 2)).text = words
    word.save(str(tmp_path / "a.docx"))
    table_of_cells = "| Day | Times |\n| --- | --- |\n| Monday | Hours: / open 9 / closed 17 |"
    assert read_one(tmp_path / "a.docx").text.rstrip() == table_of_cells


@pytest.mark.parametrize("name", ["a.pptx", "a.xlsx", "a.epub", "a.odt", "a.odp", "a.ods", "a.xls", "a.xlsb"])
def test_broken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(IngestionError, match="damaged, encrypted or no"):
        read_one(tmp_path / name)


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx"])
def test_files_with_a_password(tmp_path: Path, name: str) -> None:
    inside = "".join(stream.ljust(32, "\0") for stream in ("EncryptionInfo", "EncryptedPackage")).encode("utf-16-le")
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1016) + inside)
    with pytest.raises(IngestionError, match=r"it needs a password\. Save it without one"):
        read_one(tmp_path / name)


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub", "a.odt", "a.odp", "a.ods"])
def test_exploding_archive(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(converted.SUSPECT_UNPACKED + 1))
    with pytest.raises(IngestionError, match="would unpack to 50,000,001"):
        read_one(tmp_path / name)


def test_large_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converted, "LARGEST_UNPACKED", 99)
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("x", bytes(100))
    with pytest.raises(IngestionError, match="would unpack to 100"):
        read_one(tmp_path / "a.docx")


def write_notebook(path: Path, *cells: Any, **metadata: Any) -> Path:
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells), metadata=metadata), path)  # type: ignore[no-untyped-call]
    return path


def test_notebook(tmp_path: Path) -> None:
    new: Any = nbformat.v4
    outputs = [
        new.new_output("stream", text="\x1b[31mred\x1b[0m\n"),
        new.new_output("execute_result", data={"text/plain": "```\n42"}),
        new.new_output("display_data", data={"image/png": "aGk=", "text/plain": "<Figure>"}),
        new.new_output("error", ename="KeyError", evalue="'x'", traceback=["long"]),
    ]
    path = write_notebook(
        tmp_path / "a.ipynb",
        new.new_markdown_cell("# 标题\n\n![a picture](data:image/png;base64,aGk=) Run:"),
        new.new_code_cell("x = 1\n", outputs=outputs),
        new.new_code_cell("print(x)", outputs=[new.new_output("stream", text="y" * 9_999)]),
        new.new_code_cell(""),
        language_info={"name": "python"},
    )
    document = read_one(path)
    assert document.title == "标题"
    assert document.text.startswith(
        "# 标题\n\na picture Run:\n\n```python\nx = 1\n```\n\n```text\nred\n```\n\n````text\n```\n42\n````\n\n"
        "```text\nKeyError: 'x'\n```\n\n```python\nprint(x)\n```\n\n"
    )
    assert document.text.endswith(f"```text\n{'y' * notebook.LONGEST_OUTPUT} …\n```\n")
    assert [kind for kind, _ in kinds(document)] == ["paragraph", *["code"] * 6]


@pytest.mark.parametrize("text", ["not JSON", "[]", '{"cells": 3}', "{}", '{"nbformat": 4, "cells": [{}]}'])
def test_no_notebook(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(IngestionError, match="it is no notebook"):
        read_one(tmp_path / "a.ipynb")


def test_notebook_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "nbformat":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    path = write_notebook(tmp_path / "a.ipynb")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(IngestionError, match=r"pip install .*\[documents\]"):
        list(read_source(path))
