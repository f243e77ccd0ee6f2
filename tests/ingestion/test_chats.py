"""Chats that were exported as JSON are lines of who said what and when; other JSON stays as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from theworld.ingestion.plan import divided
from theworld.ingestion.readers import SourceDocument, read_source
from theworld.settings import NoteSettings

SLACK = [
    {"type": "message", "user": "U1", "text": "Settings &gt; Clear, <@U3>", "ts": "1760947200.000100"},
    {
        "user": "U2", "ts": "1760947500.0002", "user_profile": {"real_name": "Ewan Reid"},
        "text": "see <https://w.example/x?a=1&amp;b=2|the wiki> or <https://w.example>, <#C1|general>, <!here>",
    },
    {"user": "U1", "text": "<@U2> <left out>\n\nR&amp;D", "ts": "1760947800", "user_profile": {"real_name": "Marta"}},
    {"subtype": "channel_topic", "text": ""},
]  # fmt: skip
TELEGRAM = {
    "name": "Workshop",
    "id": 12,
    "messages": [
        {"type": "service", "date": "2025-10-21T09:19:00", "actor": "Ann", "action": "create_group", "text": ""},
        {"date": "2025-10-21T09:20:01", "date_unixtime": "1", "from": "Ann", "from_id": "user1", "text": "Morning"},
        {"date": "2025-10-21T09:21:00", "from": "Bo", "text": ["see ", {"type": "link", "text": "a.example"}, "."]},
        {"date": "2025-10-21T09:22:00", "from": "Bo", "photo": "a.jpg", "text": ""},
    ],
}
DISCORD = {
    "guild": {"name": "Bikes"},
    "messages": [
        {"timestamp": "2025-10-21T09:20:00.1+02:00", "content": "hi <3", "author": {"id": "7", "name": "bo"}},
        {"timestamp": "2025-10-21T09:21:00.1+02:00", "content": "<@7> ok", "author": {"id": "8", "name": "ann"}},
    ],
}
WECHAT = [{"时间": "2026-09-15 16:40", "发送人": "黎师傅", "内容": "两点半到"}]
MESSENGER = {"messages": [{"sender_name": "Ann", "timestamp_ms": 1760947200123, "content": "One\n2"}]}

CHATS: list[tuple[Any, str]] = [
    (
        SLACK,
        "2025-10-20 08:00 Marta: Settings > Clear, @Priya Nair\n"
        "2025-10-20 08:05 Ewan Reid: see the wiki or https://w.example, #general, @here\n"
        "2025-10-20 08:10 Marta: @Ewan Reid <left out>\n\nR&D\n",
    ),
    (TELEGRAM, "name: Workshop\n\n2025-10-21 09:20 Ann: Morning\n2025-10-21 09:21 Bo: see a.example.\n"),
    (DISCORD, "2025-10-21 09:20 bo: hi <3\n2025-10-21 09:21 ann: @bo ok\n"),
    (WECHAT, "2026-09-15 16:40 黎师傅: 两点半到\n"),
    (MESSENGER, "2025-10-20 08:00 Ann: One\n2\n"),
]


def read_one(path: Path, root: Path | None = None) -> SourceDocument:
    (document,) = read_source(path, root)
    assert isinstance(document, SourceDocument)
    return document


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(("data", "text"), CHATS)
def test_chats(tmp_path: Path, data: Any, text: str, indent: int | None) -> None:
    people = [{"id": "U3", "name": "priya", "profile": {"real_name": "Priya Nair"}}, {"id": "U1"}, 7]
    (tmp_path / "users.json").write_text(json.dumps(people))
    (tmp_path / "general").mkdir()
    (tmp_path / "general" / "2025-10-20.json").write_text(json.dumps(data, indent=indent))
    document = read_one(tmp_path / "general" / "2025-10-20.json", tmp_path)
    assert (document.title, document.text) == ("2025 10 20", text)
    block = document.blocks[-1]
    parts = [document.text[slice(*part)] for part in block.parts]
    assert "".join(parts) == document.text[block.start : block.end]
    assert all(part.startswith("202") for part in parts)


@pytest.mark.parametrize("people", [None, "{", "[]", '{"U1": "x"}'])
def test_people_are_not_looked_for_outside_the_folder(tmp_path: Path, people: str | None) -> None:
    (tmp_path / "users.json").write_text('[{"id": "U3", "real_name": "Priya Nair"}]')
    (tmp_path / "general").mkdir()
    (tmp_path / "general" / "a.json").write_text(json.dumps(SLACK))
    if people is not None:
        (tmp_path / "general" / "users.json").write_text(people)
    assert "Settings > Clear, @U3" in read_one(tmp_path / "general" / "a.json", tmp_path / "general").text
    assert "Settings > Clear, @U3" in read_one(tmp_path / "general" / "a.json").text


@pytest.mark.parametrize(
    "data",
    [
        [{"author": "Ann", "text": "Good shoes", "date": "2025-10-21", "rating": 5}],
        [{"text": "no author", "time": "2025-10-21 09:20"}] * 3 + [WECHAT[0]],
        [{"author": "Ann", "time": "2025-10-21 09:20", "title": "no text"}],
        [{"author": "Ann", "text": "a number that is no time", "time": 12}, {"text": True}],
        [{"author": "Ann", "text": "", "time": "2025-10-21 09:20"}],
        {"messages": {"author": "Ann", "text": "x", "time": "2025-10-21 09:20"}},
        ["text", 3],
        [],
        7,
    ],
)
def test_other_json_stays(tmp_path: Path, data: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(data, indent=1, ensure_ascii=False))
    document = read_one(tmp_path / "a.json")
    assert (document.title, document.text) == ("a.json", json.dumps(data, indent=1, ensure_ascii=False))


def test_long_chats_are_divided_between_messages(tmp_path: Path) -> None:
    said = [{"ts": 1760947200 + 60 * n, "user": "ann", "text": f"Is it so? Yes.\n\nNumber {n}. ok"} for n in range(50)]
    (tmp_path / "a.json").write_text(json.dumps(said))
    document = read_one(tmp_path / "a.json")
    notes = list(divided(document, NoteSettings(max_characters_en=300)))
    assert len(notes) == 10
    assert all(note.text.startswith("2025-10-20 ") and note.text.endswith(". ok") for note in notes)
