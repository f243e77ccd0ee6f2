"""Formats to documents."""

from __future__ import annotations

import builtins
import json
import mailbox
import zipfile
from base64 import b64encode
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from docx import Document
from docx.oxml import parse_xml
from fpdf import FPDF

from theworld.errors import IngestionError
from theworld.ingestion.readers import SourceDocument, converted, read_source
from theworld.ingestion.readers.document import LONGEST_LINE
from theworld.ingestion.report import FailedSource


def read_one(path: Path) -> SourceDocument:
    (document,) = read_source(path)
    assert isinstance(document, SourceDocument)
    return document


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


MARKDOWN = [
    ("---\ntitle: T\n---\n\n# Other\n\nBody", "T", "# Other\n\nBody"),
    ("---\ntitle: 天一阁\n---\n\n# 天一阁\n\n正文", "天一阁", "正文"),
    ("# First *one*\n\nBody\n\n# Second", "First one", "Body\n\n# Second"),
    ("Text before\n\n## Heading\n\nBody", "some file", "Text before\n\n## Heading\n\nBody"),
    ("## Heading\n\nBody", "Heading", "Body"),
    ("## 1 安装\n\n正文\n\n## 2 使用", "some file", "## 1 安装\n\n正文\n\n## 2 使用"),
    ("Over\n====\n\nBody", "Over", "Body"),
    ("No heading at all", "some file", "No heading at all"),
    ("---\nA rule, not front matter", "some file", "A rule, not front matter"),
    ("---\n---\nBody", "some file", "Body"),
    ("---\ntitle: T\naliases: [\n\t/a,\n\t/b,\n]\n---\nBody", "T", "Body"),
    ("author: A, B\ntitle: T: 1\n\n## 简介\n\n正文", "T: 1", "## 简介\n\n正文"),
    ("Note: keep this.\n\n# Title\n\nBody", "Title", "Note: keep this.\n\n# Title\n\nBody"),
    ("usage: a tool\n\nBody", "some file", "usage: a tool\n\nBody"),
    ('+++\ntitle = "T: of plus signs"\n[menu]\nmain = 1\n+++\nBody', "T: of plus signs", "Body"),
    ("---\r\ntitle: T\r\n---\r\n\r\nBody\r\n", "T", "Body"),
    ("---\n- a\n- b\n---\nBody", "some file", "- a\n- b\n---\nBody"),
    ("# [Link](http://x.org) `code`\n\nBody", "Link code", "Body"),
]


@pytest.mark.parametrize("text", ["# Only a heading", "---\ntitle: T\n---\n# 待写（TODO）\n\n## 以后\n\n![](a.png)\n"])
def test_nothing_but_headings_is_no_text(tmp_path: Path, text: str) -> None:
    with pytest.raises(IngestionError, match="no text in it but headings"):
        read_one(write(tmp_path / "a.md", text))


@pytest.mark.parametrize(("text", "title", "body"), MARKDOWN)
def test_markdown(tmp_path: Path, text: str, title: str, body: str) -> None:
    document = read_one(write(tmp_path / "some-file.md", text))
    assert document.title == title
    assert document.text == text, "offsets refer to the file as it is written"
    assert document.text[document.body_start :].strip() == body


def test_front_matter_fields(tmp_path: Path) -> None:
    text = (
        "---\ntitle: 12\naliases: [A, 乙, A]\ndate: 2024-02-29\ntags: [x, 3]\nnested: {a: 1, b: null}\nok: true\n"
        "---\nBody"
    )
    document = read_one(write(tmp_path / "a.md", text))
    assert (document.title, document.aliases) == ("12", ("A", "乙"))
    assert document.metadata == {"date": "2024-02-29", "tags": ["x", "3"], "nested.a": 1, "ok": True}


def test_aliases_as_one_text(tmp_path: Path) -> None:
    assert read_one(write(tmp_path / "a.md", "---\naliases: 图灵、Turing; AT\n---\nx")).aliases == (
        "图灵", "Turing", "AT",
    )  # fmt: skip


@pytest.mark.parametrize("fields", ["title: &a [*a]", "x: &a {y: *a}", "a: &a [x, x]\nb: [*a, *a]"])
def test_front_matter_without_references(tmp_path: Path, fields: str) -> None:
    with pytest.raises(IngestionError, match=r"references \(\*name\) are not supported"):
        read_one(write(tmp_path / "a.md", f"---\n{fields}\n---\nx"))


@pytest.mark.parametrize("field", ["title: [a, b]", "title: {a: b}", "aliases: {a: b}"])
def test_front_matter_of_the_wrong_kind(tmp_path: Path, field: str) -> None:
    with pytest.raises(IngestionError, match=r"in the front matter is a (list|dict), not text"):
        read_one(write(tmp_path / "a.md", f"---\n{field}\n---\nx"))


def test_bad_front_matter_of_plus_signs(tmp_path: Path) -> None:
    with pytest.raises(IngestionError, match=r"not valid TOML: .*line 2"):
        read_one(write(tmp_path / "a.md", "+++\na = 1\nb = c\n+++\nx"))


def test_bad_front_matter_names_line(tmp_path: Path) -> None:
    with pytest.raises(IngestionError, match="not valid YAML in line 3"):
        read_one(write(tmp_path / "a.md", "---\ntitle: ok\nsub: a: b\n---\nx"))


NO_TEXT = [(name, text) for name in ("a.md", "a.txt", "a.html") for text in ("", "  \n\t\n")]


@pytest.mark.parametrize(
    ("name", "text"), [*NO_TEXT, ("a.md", "---\ntitle: x\n---\n\n"), ("a.html", "<title>x</title>")]
)
def test_no_text(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(IngestionError, match=r"empty|no text"):
        read_one(write(tmp_path / name, text))


def test_endless_line(tmp_path: Path) -> None:
    with pytest.raises(IngestionError, match="looks like data"):
        read_one(write(tmp_path / "a.txt", "x" * (LONGEST_LINE + 1)))


def test_plain_text(tmp_path: Path) -> None:
    document = read_one(write(tmp_path / "my_first-note.txt", "Hello\x00 there.\n" + "More. " * 50))
    assert (document.title, document.text) == ("my first note", "Hello\ufffd there.\n" + "More. " * 50)


HTML = """<!doctype html><html lang="en"><head><title> The  Title </title><style>p{color:red}</style></head><body>
<script>var hidden = 1;</script><h1>The Title</h1><p>One &amp; <b>two</b> <a href="http://x.org">link</a>.</p>
<h2>Part</h2><ul><li>first</li><li>second</li></ul><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr>
</table><noscript>no</noscript></body></html>"""


def test_html(tmp_path: Path) -> None:
    document = read_one(write(tmp_path / "a.html", HTML))
    assert document.title == "The Title"
    assert document.text.startswith("One & two link.\n\n## Part\n\n- first\n- second\n")
    assert document.metadata == {"lang": "en"}
    for hidden in ("hidden", "color", "http", "**", "noscript", "The Title"):
        assert hidden not in document.text


def test_html_nested_too_deep_keeps_its_words(tmp_path: Path) -> None:
    deep = "<div>" * 3000 + "words" + "</div>" * 3000
    assert read_one(write(tmp_path / "a.html", deep)).text.strip() == "words"


@pytest.mark.parametrize("charset", ["gb2312", "big5", "iso-8859-1"])
def test_html_declared_encoding(tmp_path: Path, charset: str) -> None:
    words = "café" if charset == "iso-8859-1" else "中文"
    path = tmp_path / "a.htm"
    path.write_bytes(f'<meta charset="{charset}"><h1>{words}</h1><p>{words} text</p>'.encode(charset))
    assert (read_one(path).title, read_one(path).text) == (words, f"{words} text\n")


def test_html_title_falls_back_to_name(tmp_path: Path) -> None:
    assert read_one(write(tmp_path / "a-page.html", "<p>x</p>")).title == "a page"


@pytest.mark.slow
def test_pdf(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=12)
    pdf.multi_cell(0, 8, "Ada Lovelace was born in London in 1815.")
    pdf.output(str(tmp_path / "ada-lovelace.pdf"))
    document = read_one(tmp_path / "ada-lovelace.pdf")
    assert document.title == "ada lovelace"
    assert "Ada Lovelace was born in London in 1815." in document.text


def test_docx(tmp_path: Path) -> None:
    word = Document()
    word.add_heading("天一阁", 1)
    word.add_paragraph("天一阁由范钦主持建造。")
    word.save(str(tmp_path / "a.docx"))
    document = read_one(tmp_path / "a.docx")
    assert document.title == "天一阁"
    assert document.text[document.body_start :].strip() == "天一阁由范钦主持建造。"


def test_title_and_table_of_docx(tmp_path: Path) -> None:
    word = Document()
    word.add_heading("Travel policy", 0)
    word.add_heading("Per diem", 1)
    for i, row in enumerate(word.add_table(3, 2).rows):
        row.cells[0].text, row.cells[1].text = (("Country", "Rate"), ("Germany", "28 EUR"), ("France", "35 EUR"))[i]
    word.save(str(tmp_path / "a.docx"))
    document = read_one(tmp_path / "a.docx")
    table = document.blocks[-1]
    assert (document.title, table.kind, table.section) == ("Travel policy", "table", ("Per diem",))
    assert table.lead is not None
    assert document.text[slice(*table.lead)].splitlines()[0] == "| Country | Rate |"


def test_merged_cells_of_docx(tmp_path: Path) -> None:
    word = Document()
    word.add_paragraph("Before.")
    table = word.add_table(3, 4)
    rows = [("Age", "Half day", "", "Full"), ("", "Morning", "Afternoon", "day"), ("Under 2", "£38", "£36", "£68")]
    for cells, row in zip(rows, table.rows, strict=True):
        for words, cell in zip(cells, row.cells, strict=True):
            cell.text = words
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 1).merge(table.cell(0, 2))
    word.add_paragraph("After.")
    word.save(str(tmp_path / "a.docx"))
    assert read_one(tmp_path / "a.docx").text.rstrip() == (
        "Before.\n\n| Age | Half day Morning | Half day Afternoon | Full day |\n| --- | --- | --- | --- |\n"
        "| Under 2 | £38 | £36 | £68 |\n\nAfter."
    )


def test_footnotes_of_docx_stand_where_they_are_referred_to(tmp_path: Path) -> None:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    text = "<w:p><w:r><w:t>{}</w:t></w:r>{}</w:p>"
    types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
    link = f'<Relationship Id="r1" Type="{types}/{{}}" Target="{{}}"/>'
    mark = '<w:r><w:footnoteReference w:id="1"/></w:r>'
    note = f'<w:footnote w:id="1">{text.format("Before tax.", "")}</w:footnote>'
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": links.format(link.format("officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {word}><w:body>{text.format('Pay is 100', mark)}</w:body></w:document>",
        "word/_rels/document.xml.rels": links.format(link.format("footnotes", "footnotes.xml")),
        "word/footnotes.xml": f"<w:footnotes {word}>{note}</w:footnotes>",
    }
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert read_one(tmp_path / "a.docx").text.strip() == "Pay is 100 (Before tax.)"


WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def write_word(path: Path, *paragraph: str, even: str = "") -> Path:
    """Write a Word file with a header, a footer, comments on its paragraph, and that much XML more in this."""
    word = Document()
    word.add_heading("Rules", 0)
    section = word.sections[0]
    section.header.paragraphs[0].text = "Document 17\tversion 3\tPage 1 of 2"
    section.footer.paragraphs[0].text = "- 1 -"
    section.footer.add_paragraph("Rules")
    if even:
        section.different_first_page_header_footer = True
        section.first_page_header.paragraphs[0].text = even
    said = word.add_paragraph("The fee is 10")
    word.add_comment(said.runs, text="Agreed\nby phone.", author="Ann")
    word.add_comment(said.runs, text="Since May.", author="")
    for xml in paragraph:
        said._p.append(parse_xml(xml))
    word.save(str(path))
    return path


def test_headers_footers_and_comments_of_docx(tmp_path: Path) -> None:
    document = read_one(write_word(tmp_path / "a.docx", even="第 1 页 共 2 页"))
    assert document.title == "Rules"
    assert document.text[document.body_start :].strip() == (
        "Document 17 · version 3\n\nThe fee is 10 (Ann: Agreed by phone.) (Since May.)"
    )


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        (f'<w:fldSimple {WORD} w:instr="REF x"><w:r><w:t> euro</w:t></w:r></w:fldSimple>', " euro"),
        (
            f"<w:r {WORD}><w:ruby><w:rt><w:r><w:t>hàn</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>汉</w:t></w:r>"
            "</w:rubyBase></w:ruby></w:r>",
            "汉",
        ),
        (f'<w:del {WORD} w:id="9"><w:r><w:delText> gone</w:delText></w:r></w:del>', ""),
        (f'<w:ins {WORD} w:id="9"><w:r><w:t>, new</w:t></w:r></w:ins>', ", new"),
        (f"<w:sdt {WORD}><w:sdtContent><w:r><w:t>, chosen</w:t></w:r></w:sdtContent></w:sdt>", ", chosen"),
    ],
)
def test_what_stands_within_a_paragraph_of_docx(tmp_path: Path, xml: str, words: str) -> None:
    document = read_one(write_word(tmp_path / "a.docx", xml))
    assert document.text.rstrip().endswith(f"(Since May.){words}")


@pytest.mark.parametrize("part", ["word/header1.xml", "word/footer1.xml", "word/comments.xml", "word/settings.xml"])
def test_damaged_parts_of_docx(tmp_path: Path, part: str) -> None:
    whole = write_word(tmp_path / "whole.docx")
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "a.docx", "w") as new:
        for name in old.namelist():
            new.writestr(name, b"<w:x" if name == part else old.read(name))
    text = read_one(tmp_path / "a.docx").text
    assert "The fee is 10" in text
    assert ("Ann" in text) == (part != "word/comments.xml")
    assert ("Document 17" in text) == (part != "word/header1.xml")


@pytest.mark.parametrize("kind", ["plain", "html"])
def test_email(tmp_path: Path, kind: str) -> None:
    message = EmailMessage()
    message["Subject"], message["From"] = "Laptops: 谁可以领?", "Ann Berg <ann@example.com>"
    message["To"], message["Date"] = "all@example.com", "Tue, 12 Mar 2019 09:31:00 +0530"
    words = "Hello,\n\nlaptops have 16 GB = enough. 请在周五前报名，" + "很长的一行" * 30
    message.set_content(words if kind == "plain" else f"<script>x</script><p>{words}</p>", subtype=kind, cte="base64")
    message.add_attachment("who;what\nAnn;Dell\n".encode("utf-16"), maintype="text", subtype="csv", filename="../a.csv")
    message.add_attachment(b"no archive", maintype="application", subtype="x", filename=f"{'很' * 90}.docx")
    message.add_attachment(b"\x89PNG\x00\x00", maintype="image", subtype="png", filename="photo.png")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    broken, document = read_source(tmp_path / "a.eml")
    assert isinstance(broken, FailedSource)
    assert broken.path.endswith("很.docx")
    assert isinstance(document, SourceDocument)
    assert document.title == "Laptops: 谁可以领?"
    assert document.metadata["from"] == "Ann Berg <ann@example.com>"
    assert document.text.startswith("From: Ann Berg <ann@example.com>\nTo: all@example.com\nDate: Tue, 12 Mar 2019 ")
    assert "laptops have 16 GB = enough. 请在周五前报名，很长的一行" in document.text
    assert "<" not in document.text.split("Date")[1]
    table = "| who | what |\n| --- | --- |\n| Ann | Dell |"
    assert document.text.endswith(f"## a.csv\n\n{table}\n\nAttached: {'很' * 90}.docx, photo.png\n")
    assert not (tmp_path.parent / "a.csv").exists()


def test_message_attached_to_an_email(tmp_path: Path) -> None:
    old, message = EmailMessage(), EmailMessage()
    old["Subject"], message["Subject"] = "Offer of May", "Offer"
    old.set_content("It was 9,100.")
    message.set_content("See below.")
    message.add_attachment(old)
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    assert read_one(tmp_path / "a.eml").text.strip() == "See below.\n\n## Offer of May\n\nIt was 9,100."


def test_email_that_cannot_be_decoded_or_is_empty_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"Subject: x\nContent-Type: text/plain; charset=none-such\n\nwords\n")
    with pytest.raises(IngestionError, match="cannot be decoded"):
        read_one(tmp_path / "a.eml")
    (tmp_path / "a.eml").write_bytes(b"Subject: x\n\n")
    with pytest.raises(IngestionError, match="no text in it"):
        read_one(tmp_path / "a.eml")


OF_UNKNOWN_ENCODING = "From: 张三 <a@b.c>\nSubject: 报价{type}\n\n{words}\n"
OFFER = "朱镕基·陶喆：88元——含税"


@pytest.mark.parametrize("encoding", ["utf-8", "gbk"])
@pytest.mark.parametrize("kind", ["", "\nContent-Type: text/plain; charset=us-ascii", "\nContent-Type: text/html"])
def test_email_that_names_no_encoding(tmp_path: Path, encoding: str, kind: str) -> None:
    (tmp_path / "a.eml").write_bytes(OF_UNKNOWN_ENCODING.format(type=kind, words=OFFER).encode(encoding))
    document = read_one(tmp_path / "a.eml")
    assert (document.title, document.text) == ("报价", f"From: 张三 <a@b.c>\n\n{OFFER}\n")


def test_email_of_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"Subject: x\xff\xfe \xfa\n\nGood words\xff\xfe\xfa.\n")
    assert read_one(tmp_path / "a.eml").text == "\n\nGood words\ufffd\ufffd\ufffd.\n"


@pytest.mark.parametrize("label", ["gb2312", "GBK", "gb_2312-80", "x-gbk"])
def test_names_of_gb18030_in_an_email(tmp_path: Path, label: str) -> None:
    coded = b64encode(OFFER.encode("gb18030")).decode()
    name = quote(OFFER.encode("gb18030"))
    (tmp_path / "a.eml").write_text(
        f"Subject: =?{label}?B?{coded}?=\nContent-Type: multipart/mixed; boundary=q\n\n"
        f"--q\nContent-Type: text/plain; charset={label}\nContent-Transfer-Encoding: base64\n\n{coded}\n"
        f"--q\nContent-Type: text/plain\nContent-Disposition: attachment; filename*={label}''{name}.txt\n\nx\n--q--\n"
    )
    document = read_one(tmp_path / "a.eml")
    assert (document.title, document.text) == (OFFER, f"\n\n{OFFER}\n\n## {OFFER}.txt\n\nx\n")


@pytest.mark.parametrize("label", ["utf-8", "utf-16", "gb2312"])
def test_email_that_an_editor_saved_in_utf_16(tmp_path: Path, label: str) -> None:
    text = OF_UNKNOWN_ENCODING.format(type=f"\nContent-Type: text/plain; charset={label}", words=OFFER)
    (tmp_path / "a.eml").write_bytes(text.encode("utf-16"))
    document = read_one(tmp_path / "a.eml")
    assert (document.title, document.text) == ("报价", f"From: 张三 <a@b.c>\n\n{OFFER}\n")


@pytest.mark.parametrize(
    "plain", ["", "View this message as HTML.", "Tubes for the workshop: 60 pieces. Tyres: 4 pieces."]
)
def test_a_message_is_read_as_its_page_where_that_says_much_more(tmp_path: Path, plain: str) -> None:
    message = EmailMessage()
    message.set_content(plain)
    rows = (("Article", "Pieces"), ("Tubes", "60"), ("Tyres", "4"))
    page = f"<table>{''.join(f'<tr><td>{name}</td><td>{number}</td></tr>' for name, number in rows)}</table>"
    message.add_alternative(page, subtype="html")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    table = "| Article | Pieces |\n| --- | --- |\n| Tubes | 60 |\n| Tyres | 4 |"
    text = read_one(tmp_path / "a.eml").text.strip()
    assert text.endswith(plain if "60" in plain else table)


@pytest.mark.parametrize("charset", ["utf-8", "none-such"])
def test_a_page_that_cannot_be_decoded_takes_nothing_from_the_plain_text(tmp_path: Path, charset: str) -> None:
    page = f"--q\nContent-Type: text/html; charset={charset}\n\n<p>{'The page. ' * 9}</p>\n--q--\n"
    fields = "From: a@b.c\nContent-Type: multipart/alternative; boundary=q\n\n--q\nContent-Type: text/plain\n\n"
    (tmp_path / "a.eml").write_text(f"{fields}Plain.\n{page}")
    assert read_one(tmp_path / "a.eml").text.strip().endswith("The page." if charset == "utf-8" else "Plain.")


def test_mailbox(tmp_path: Path) -> None:
    with closing(mailbox.mbox(tmp_path / "our-mails.mbox")) as box:
        for number, words in enumerate(("From here on 9,100.", "", "报名截止周五。")):
            message = EmailMessage()
            message["Subject"], message["From"] = f"Offer {number}", "Ann <a@b.c>"
            message.set_content(words)
            if number == 2:
                message.add_attachment("who;what\n", subtype="csv", filename="a.csv")
                message.add_attachment(b"no archive", maintype="application", subtype="x", filename="b.docx")
            elif not words:
                del message["Content-Type"]
                message["Content-Type"] = "text/plain; charset=none-such"
            box.add(message)
    *unread, document = read_source(tmp_path / "our-mails.mbox")
    assert isinstance(document, SourceDocument)
    assert [one.path.partition(":")[2] for one in unread if isinstance(one, FailedSource)] == ["2", "3: b.docx"]
    assert document.title == "our mails"
    assert document.text == (
        "## Offer 0\n\nFrom: Ann <a@b.c>\n\n>From here on 9,100.\n\n"
        "## Offer 2\n\nFrom: Ann <a@b.c>\n\n报名截止周五。\n\n"
        "### a.csv\n\n| who | what |\n| --- | --- |\n\nAttached: b.docx\n"
    )
    assert {block.section for block in document.blocks} == {("Offer 0",), ("Offer 2",), ("Offer 2", "a.csv")}


def test_email_attached_with_bytes_in_its_fields(tmp_path: Path) -> None:
    inside = OF_UNKNOWN_ENCODING.format(type="", words=OFFER).replace("报价", "报价" * 60)
    (tmp_path / "a.eml").write_text(
        f"Content-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: message/rfc822\n\n{inside}\n--q--\n", "utf-8"
    )
    assert read_one(tmp_path / "a.eml").text.strip() == f"## {'报价' * 60}\n\nFrom: 张三 <a@b.c>\n\n{OFFER}"


SAVED_PAGE = (
    "From: <Saved by Blink>\nSubject: =?utf-8?Q?=E9=80=9A=E7=9F=A5?=\nContent-Type: multipart/related; boundary=q\n\n"
    "--q\nContent-Type: text/html{charset}\nContent-Transfer-Encoding: base64\n\n{page}\n"
    "--q\nContent-Type: image/png\nContent-Location: https://x.cn/a.png\n\nPNG\n--q--\n"
)


@pytest.mark.parametrize("ending", ["mht", "mhtml"])
@pytest.mark.parametrize(("charset", "head"), [("", "<meta charset=gb2312>"), ("; charset=gbk", ""), ("", "")])
def test_page_that_a_browser_saved(tmp_path: Path, ending: str, charset: str, head: str) -> None:
    page = f"<html><head>{head}</head><body><nav><a href=x>首页</a></nav><p>{OFFER}</p><img src=a.png></body></html>"
    content = SAVED_PAGE.format(charset=charset, page=b64encode(page.encode("gb18030")).decode())
    (tmp_path / f"a.{ending}").write_text(content)
    document = read_one(tmp_path / f"a.{ending}")
    assert (document.title, document.text) == ("通知", f"{OFFER}\n")


def test_saved_page_without_a_page(tmp_path: Path) -> None:
    (tmp_path / "a.mht").write_text("Subject: x\n\nwords\n")
    with pytest.raises(IngestionError, match="no page in it"):
        read_one(tmp_path / "a.mht")
    (tmp_path / "a.mht").write_text("Content-Type: text/html; charset=none-such\n\nwords\n")
    with pytest.raises(IngestionError, match="cannot be decoded"):
        read_one(tmp_path / "a.mht")


@pytest.mark.parametrize("title", ["", "规定"])
def test_bold_lines_of_docx_without_headings(tmp_path: Path, title: str) -> None:
    word = Document()
    if title:
        word.add_paragraph(title, style="Title")
    for bold, more in (("一、请假", ""), ("", "提前三天申请。"), ("二、报销", ""), ("注意：", "十五天内报销。")):
        word.add_paragraph().add_run(bold).bold = True
        word.paragraphs[-1].add_run(more)
    word.save(str(tmp_path / "a.docx"))
    document = read_one(tmp_path / "a.docx")
    paragraphs = {document.text[block.start : block.end]: block.section for block in document.blocks}
    assert document.title == (title or "a")
    assert paragraphs["提前三天申请。"] == ("一、请假",)
    assert paragraphs["**注意：**十五天内报销。"] == ("二、报销",)


def test_pdf_without_text(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.output(str(tmp_path / "a.pdf"))
    with pytest.raises(IngestionError, match="OCR"):
        read_one(tmp_path / "a.pdf")


def test_pictures_beside_a_docx(tmp_path: Path) -> None:
    word, path = Document(), tmp_path / "a.docx"
    word.add_paragraph("Before.")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
    place = word.part.relate_to("https://example.com/a.png", kind, is_external=True)
    names = "".join(
        f' xmlns:{name}="http://schemas.openxmlformats.org/{whole}"'
        for name, whole in [("a", "drawingml/2006/main"), ("w", "wordprocessingml/2006/main"),
                            ("wp", "drawingml/2006/wordprocessingDrawing"),
                            ("pic", "drawingml/2006/picture"), ("r", "officeDocument/2006/relationships")]
    )  # fmt: skip
    picture = f'<pic:pic><pic:blipFill><a:blip r:embed="{place}"/></pic:blipFill></pic:pic>'
    drawing = f"<wp:inline><a:graphic><a:graphicData>{picture}</a:graphicData></a:graphic></wp:inline>"
    word.add_paragraph("After.")._p.append(parse_xml(f"<w:r{names}><w:drawing>{drawing}</w:drawing></w:r>"))
    word.save(str(path))
    assert read_one(path).text.split() == ["Before.", "After."]


def test_lists_of_docx_go_on_behind_what_interrupts_them(tmp_path: Path) -> None:
    word = Document()
    numbering = word.part.numbering_part.element
    for xml in (
        '<w:abstractNum w:abstractNumId="90" {}><w:lvl w:ilvl="0"><w:start w:val="7"/><w:numFmt w:val="decimal"/>'
        "</w:lvl></w:abstractNum>",
        '<w:num w:numId="91" {}><w:abstractNumId w:val="90"/></w:num>',
    ):
        names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        numbering.append(parse_xml(xml.format(names)))
    for words, style in [("One", "List Number"), ("Note", ""), ("Two", "List Number"), ("a", "List Bullet"),
                         ("Three", "List Number")]:  # fmt: skip
        word.add_paragraph(words, style or None)
    word.add_table(1, 1).cell(0, 0).text = "x"
    word.add_paragraph("Four", "List Number")
    for words in ("Seven", "Eight"):
        word.add_heading(words, 1)
        settings = word.add_paragraph(words)._p.get_or_add_pPr().get_or_add_numPr()
        settings.get_or_add_ilvl().val, settings.get_or_add_numId().val = 0, 91
    word.save(str(tmp_path / "a.docx"))
    assert read_one(tmp_path / "a.docx").text.split() == (
        "1. One Note 2. Two * a 3. Three | x | | --- | 4. Four # Seven 7. Seven # Eight 8. Eight".split()
    )


def test_text_of_docx_is_no_html(tmp_path: Path) -> None:
    said = [
        "if a<b and c>d then stop <!-- x --> end",
        '<server port="80"/> in `<b>` and {% tag %}',
        r"Edit my_file_name.txt, __init__.py and *args in C:\new_dir\*.log.",
        "&lt; is <",
        "<!-- opens a comment",
    ]
    word = Document()
    word.add_heading("On <b>", 1)
    for words in said:
        word.add_paragraph(words)
    word.add_table(1, 1).cell(0, 0).text = "x <br> y"
    word.add_heading("Next", 1)
    run = word.add_paragraph("10").add_run("6")
    run.font.superscript = True
    word.sections[0].header.paragraphs[0].text = "Form <7>"
    word.save(str(tmp_path / "a.docx"))
    document = read_one(tmp_path / "a.docx")
    assert document.text.strip().split("\n\n") == [
        "Form <7>", "# On <b>", *said, "| x <br> y |\n| --- |", "# Next", "10⁶"
    ]  # fmt: skip
    assert [block.section for block in document.blocks][-1] == ("Next",)


@pytest.mark.parametrize("name", ["a.pdf", "a.docx"])
def test_broken_document(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"%PDF-1.4 not really a document")
    with pytest.raises(IngestionError, match="damaged, encrypted or no"):
        read_one(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "newer"), [("a.doc", ".docx"), ("b.ET", ".xlsx"), ("c.ppt", ".pptx"), ("d.msg", ".eml")]
)
def test_older_formats_name_what_to_save_them_as(tmp_path: Path, name: str, newer: str) -> None:
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(IngestionError, match=f"cannot be read.*Save it as {newer}"):
        read_one(tmp_path / name)


@pytest.mark.parametrize(
    ("package", "kind"),
    [
        ("markitdown", ".docx"),
        ("markitdown", ".epub"),
        ("pdfplumber", ".pdf"),
        ("openpyxl", ".xlsx"),
        ("python_calamine", ".xls"),
        ("odfdo", ".odt"),
        ("odfdo", ".ods"),
        ("odfdo", ".odp"),
    ],
)
def test_missing_extra_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, kind: str
) -> None:
    real = builtins.__import__

    def without_it(name: str, *rest: Any) -> Any:
        if name.startswith(package):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_it)
    with pytest.raises(IngestionError, match=r"pip install .*\[documents\]"):
        converted.convert(b"%PDF", tmp_path / f"a{kind}")


def lines(path: Path, *rows: object) -> Path:
    return write(path, "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))


def test_corpus(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "corpus.jsonl",
        {"_id": "a", "title": "T", "text": "One.", "metadata": {"year": 2020, "aliases": ["U"]}},
        "",
        {"_id": 7, "text": "二。"},
    )
    first, second = read_source(path)
    assert first == SourceDocument("T", "One.", "a", ("U",), {"year": 2020}, passage=True)
    assert second == SourceDocument("", "二。", "7", passage=True)


BAD_LINES = [
    ("{broken", "not valid JSON"),
    ("[1]", "not a JSON object"),
    ("[" * 100_000, "not valid JSON"),
    ({"text": "x"}, "`_id` is missing"),
    ({"_id": True, "text": "x"}, "`_id` is missing"),
    ({"_id": "a\x1fb", "text": "x"}, "control characters"),
    ({"_id": "a"}, "`text` is missing"),
    ({"_id": "a", "text": 3}, "must be text"),
    ({"_id": "a", "text": "x", "title": ["t"]}, "must be text"),
    ({"_id": "a", "text": "  "}, "`text` is empty"),
    ({"_id": "a", "text": "x", "metadata": [1]}, "`metadata` must be an object"),
    ({"_id": "a", "text": "x" * (LONGEST_LINE + 1)}, "divide it"),
]


@pytest.mark.parametrize(("row", "reason"), BAD_LINES)
def test_bad_line_is_reported_and_the_rest_read(tmp_path: Path, row: object, reason: str) -> None:
    path = lines(tmp_path / "corpus.jsonl", {"_id": "1", "text": "x"}, row, {"_id": "2", "text": "y"})
    first, failure, last = read_source(path)
    assert isinstance(first, SourceDocument)
    assert isinstance(last, SourceDocument)
    assert isinstance(failure, FailedSource)
    assert failure.path == f"{path}:2"
    assert reason in failure.reason


def test_many_bad_lines_are_summed_up(tmp_path: Path) -> None:
    found = list(read_source(lines(tmp_path / "a.jsonl", *["nonsense"] * 150)))
    assert len(found) == 101
    assert isinstance(found[-1], FailedSource)
    assert "50 further lines" in found[-1].reason


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    (document,) = read_source(write(tmp_path / "a.jsonl", '{"_id": "a", "text": "x\\ud800y"}'))
    assert isinstance(document, SourceDocument)
    assert document.text == "x\ufffdy"


def test_unknown_kind_is_read_when_it_is_text(tmp_path: Path) -> None:
    assert read_one(write(tmp_path / "a-note.xyz", "x")).title == "a note"
    assert read_one(write(tmp_path / "Makefile", "all: x")).text == "all: x"
    (tmp_path / "b.xyz").write_bytes(b"x\x00\x01")
    with pytest.raises(IngestionError, match=r"there is no text in files of the kind '\.xyz'.* Supported: any text"):
        read_one(tmp_path / "b.xyz")


@pytest.mark.parametrize("field", ["date: 2024-13-45", "n: !!float abc", "t: !!timestamp abc", "n: !!int abc"])
def test_a_value_that_cannot_be_fails_its_file_alone(tmp_path: Path, field: str) -> None:
    with pytest.raises(IngestionError, match="front matter is not valid YAML"):
        read_one(write(tmp_path / "a.md", f"---\n{field}\n---\nBody\n"))


def test_what_no_database_takes_is_told_as_text(tmp_path: Path) -> None:
    fields = 'title: "a\\uD800"\naliases: ["b\\uD800"]\nkey: "c\\0"\nn: .nan\nm: -.inf\nk: 0.5'
    document = read_one(write(tmp_path / "a.md", f"---\n{fields}\n---\nBody\n"))
    assert (document.title, document.aliases) == ("a\ufffd", ("b\ufffd",))
    assert document.metadata == {"key": "c\ufffd", "n": "nan", "m": "-inf", "k": 0.5}
    row = r'{"_id": "1", "text": "t", "aliases": ["\ud800"], "metadata": {"\udc00": ["\ud800", NaN]}}'
    document = read_one(write(tmp_path / "c.jsonl", row))
    assert (document.aliases, document.metadata) == (("\ufffd",), {"\ufffd": ["\ufffd", "nan"]})


def test_a_byte_order_mark_is_no_text_of_a_page(tmp_path: Path) -> None:
    page = "\ufeff<html><head><meta charset='utf-8'><title>T</title></head><body><p>Body</p></body></html>"
    assert read_one(write(tmp_path / "a.html", page)).text == "Body\n"
