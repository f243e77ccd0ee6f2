"""Calendars, contacts and subtitles: what a person sees of them, without what programs write for each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from theworld.errors import IngestionError
from theworld.ingestion.readers import SourceDocument, read_source

CASES = [
    (
        "a.ics",
        "BEGIN:VCALENDAR\r\nX-WR-CALNAME:Family\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Rome\r\nBEGIN:STANDARD\r\n"
        "DTSTART:19701025T020000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:1@x\r\n"
        "DTSTART;TZID=Europe/Rome:20260421T183000\r\nDTEND:20260421T170000Z\r\nSUMMARY:Parents' evening\r\n"
        "DESCRIPTION:Bring the report\\, please.\\nPar\r\n king in the yard.\r\nORGANIZER;CN=Ann Berg:mailto:a@x.no\r\n"
        "BEGIN:VALARM\r\nDESCRIPTION:ring\r\nEND:VALARM\r\nLOCATION:Room 12\r\nEND:VEVENT\r\nBEGIN:VTODO\r\n"
        "SUMMARY:交税\r\nDUE;VALUE=DATE:20260531\r\nEND:VTODO\r\nEND:VCALENDAR\r\n",
        "Family",
        "## Parents' evening\n\n- Start: 2026-04-21 18:30 (Europe/Rome)\n- End: 2026-04-21 17:00 UTC\n"
        "- Description: Bring the report, please. Parking in the yard.\n- Organizer: Ann Berg\n- Location: Room 12\n\n"
        "## 交税\n\n- Due: 2026-05-31",
    ),
    (
        "club.ics",
        "BEGIN:VEVENT\nSUMMARY:Closed\nDTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20270102\nEND:VEVENT\n"
        "BEGIN:VEVENT\nSUMMARY:Fair\nDTSTART;VALUE=DATE:20260912\nDTEND;VALUE=DATE:20260912\nEND:VEVENT\n"
        "BEGIN:VEVENT\nSUMMARY:Choir\nDURATION:PT1H30M\n"
        "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20261215\nEND:VEVENT\n"
        "BEGIN:VEVENT\nSUMMARY:Broken\nDTEND:20269999\nDURATION:long\nRRULE:FREQ=YEARLY;COUNT=3;ODD\nEND:VEVENT\n",
        "club",
        "## Closed\n\n- Start: 2026-12-24\n- End: 2027-01-01\n\n"
        "## Fair\n\n- Start: 2026-09-12\n\n"
        "## Choir\n\n- Duration: 1 h 30 min\n- Repeats: every 2 weeks, on Monday, Thursday, until 2026-12-15\n\n"
        "## Broken\n\n- End: 2026-99-99\n- Duration: long\n- Repeats: yearly, count 3",
    ),
    (
        "our-people.vcf",
        "BEGIN:VCARD\nVERSION:3.0\nN:Berg;Ann;;;\nFN:Ann Berg\nORG:Acme;Sales\nitem1.TEL;TYPE=cell:+47 55 12\n"
        "ADR;TYPE=home:;;Storgata 1;Oslo;;0155;Norway\nPHOTO;ENCODING=b:AAAA\nEND:VCARD\n",
        "our people",
        "## Ann Berg\n\n- Org: Acme, Sales\n- Phone: +47 55 12\n- Address: Storgata 1, Oslo, 0155, Norway",
    ),
    (
        "weekly.vtt",
        "WEBVTT\n\nNOTE made by a program\n\n00:00.500 --> 00:04.000 align:start\n<v 李工>上线定在周五。\n\n"
        "2\n01:00:04.200 --> 01:00:09.000\n<v.loud 王敏>还有<i>3个</i>缺陷，\n预计周四改完。\n",
        "weekly",
        "[0:00:00] 李工: 上线定在周五。\n\n[1:00:04] 王敏: 还有3个缺陷， 预计周四改完。",
    ),
    (
        "talk.srt",
        "1\r\n00:00:01,000 --> 00:00:04,000\r\nThe deposit of B&amp;B, 500&nbsp;euros\r\n\r\n"
        "2\r\n00:00:04,000 --> 00:00:09,000\r\nis due on Monday.\r\n",
        "talk",
        "[0:00:01] The deposit of B&B, 500 euros is due on Monday.",
    ),
]


@pytest.mark.parametrize(("name", "content", "title", "text"), CASES, ids=[name for name, *_ in CASES])
def test_what_is_read(tmp_path: Path, name: str, content: str, title: str, text: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    (document,) = read_source(tmp_path / name)
    assert isinstance(document, SourceDocument)
    assert (document.title, document.text.strip()) == (title, text)


def test_a_line_of_options_without_a_value_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.ics").write_text(f"BEGIN:VEVENT\nSUMMARY:Choir\nX{';a' * 5000}\nEND:VEVENT\n")
    (document,) = read_source(tmp_path / "a.ics")
    assert isinstance(document, SourceDocument)
    assert document.text.strip() == "## Choir"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("1\n00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:02,000 --> 00:00:03,000\n42\n", "[0:00:01] One 42"),
        ("1\n00:00:01,000 --> 00:00:02,000\n42\n\n2\n00:00:02,000 --> 00:00:03,000\n\n", "[0:00:01] 42"),
        ("No times at all.\n", "No times at all."),
    ],
)
def test_subtitles_without_empty_lines_or_times(tmp_path: Path, content: str, text: str) -> None:
    (tmp_path / "a.srt").write_text(content)
    (document,) = read_source(tmp_path / "a.srt")
    assert isinstance(document, SourceDocument)
    assert document.text == text


TIMES = "00:00:0{}.000 --> 00:00:0{}.500\n{}\n\n"


@pytest.mark.parametrize(
    ("cues", "paragraphs"),
    [
        (
            ["林梅：收入八万，注意：不含税。", "降了。", "乔：明白。"],
            ["[0:00:00] 林梅: 收入八万，注意：不含税。 降了。", "[0:00:02] 乔: 明白。"],
        ),
        (
            ["Mei Lin: The move: 2 September.", "At ten", "- Dr. Tom: Fine.", "Tom stays", "Mei Lin: Good."],
            [
                "[0:00:00] Mei Lin: The move: 2 September. At ten",
                "[0:00:02] Dr. Tom: Fine. Tom stays",
                "[0:00:04] Mei Lin: Good.",
            ],
        ),
        (
            ["[SPEAKER_00]: One", "two", "three", "[SPEAKER_00]: four", "Remember: five", "six", "seven"],
            ["[0:00:00] SPEAKER_00: One two three four Remember: five six seven"],
        ),
        (["Remember: bring it.", "It is", "closed."], ["[0:00:00] Remember: bring it. It is closed."]),
        (
            ["The plan for all of us: go", "one thing: wait", "12: no"],
            ["[0:00:00] The plan for all of us: go one thing: wait 12: no"],
        ),
        (["这个季度的全部工作计划如下：先看", "再看"], ["[0:00:00] 这个季度的全部工作计划如下：先看 再看"]),
        (["<v Ann>Tom: no name", "<v Ann>Tom: again"], ["[0:00:00] Ann: Tom: no name Tom: again"]),
    ],
)
def test_speakers_before_a_colon(tmp_path: Path, cues: list[str], paragraphs: list[str]) -> None:
    (tmp_path / "a.vtt").write_text("".join(TIMES.format(i, i, said) for i, said in enumerate(cues)), "utf-8")
    (document,) = read_source(tmp_path / "a.vtt")
    assert isinstance(document, SourceDocument)
    assert document.text.split("\n\n") == paragraphs


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=MONTHLY;BYDAY=4MO", "monthly, on the 4th Monday"),
        ("FREQ=MONTHLY;BYDAY=+1MO,-1FR", "monthly, on the 1st Monday, the last Friday"),
        ("FREQ=YEARLY;BYMONTHDAY=2,-1,-2,11,23", "yearly, on the 2nd, the last, the 2nd last, the 11th, the 23rd"),
        ("FREQ=YEARLY;BYDAY=112TU,-3TU;COUNT=2", "yearly, on the 112th Tuesday, the 3rd last Tuesday, count 2"),
        ("FREQ=WEEKLY;BYDAY=SU,XX,,2.", "weekly, on Sunday, XX, , 2."),
    ],
)
def test_rules_of_repeating_in_words(tmp_path: Path, rule: str, words: str) -> None:
    (tmp_path / "a.ics").write_text(f"BEGIN:VEVENT\nSUMMARY:Check\nRRULE:{rule}\nEND:VEVENT\n")
    (document,) = read_source(tmp_path / "a.ics")
    assert isinstance(document, SourceDocument)
    assert document.text.strip() == f"## Check\n\n- Repeats: {words}"


@pytest.mark.parametrize("name", ["a.ics", "a.vcf"])
def test_nothing_in_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    with pytest.raises(IngestionError, match="no text"):
        list(read_source(tmp_path / name))
