"""Bytes to text."""

from __future__ import annotations

from pathlib import Path

import pytest

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import decode, is_text, read_text

CHINESE = "屠呦呦，药学家，1930年出生于浙江宁波。她发现了青蒿素。"
TRADITIONAL = "在歐洲，梵語的學術研究，由德國學者開創，後來發現了印歐語系。"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", [CHINESE, TRADITIONAL, "Straße, café: 3 €", "plain"])
def test_unicode(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), Path("x.txt")) == text


@pytest.mark.parametrize("encoding", ["gb18030", "gbk"])
@pytest.mark.parametrize("text", [CHINESE, TRADITIONAL, "plain"])
def test_chinese_encodings(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), Path("x.txt")) == text


@pytest.mark.parametrize(("mark", "encoding"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
def test_byte_order(mark: bytes, encoding: str) -> None:
    assert decode(mark + CHINESE.encode(encoding), Path("x.txt")) == CHINESE


@pytest.mark.parametrize("text", [TRADITIONAL, "姓名,電話\n陳,123\n", "價格 80 元"])
def test_big5(text: str) -> None:
    assert decode(text.encode("big5"), Path("x.txt")) == text


@pytest.mark.parametrize("text", ["价格表 A", "见 A"])
def test_a_chinese_word_among_ascii(text: str) -> None:
    assert decode(text.encode("gbk"), Path("x.txt")) == text


@pytest.mark.parametrize(
    "text",
    [
        "Déjà vu à l'école, où était l'élève ? Très tôt.",
        "name;city\nMüller;Köln\nJosé;Málaga\n",
        "What’s new – a £5 fee “today…”",
        "±5 °C, Ø 3 mm, 50 µm, §3, ½; 20 °C « Été »",
    ],
)
def test_windows(text: str) -> None:
    assert decode(text.encode("cp1252"), Path("x.txt")) == text


@pytest.mark.parametrize(
    "data",
    [
        "Привет, как дела?".encode("koi8-r"),
        "Łódź, opłata wynosi".encode("cp1250"),
        "日本語のテキストです".encode("shift-jis"),
        "A damaged “text” – ".encode() + b"\xe9.",
    ],
)
def test_other_encodings_are_refused_with_a_remedy(data: bytes) -> None:
    with pytest.raises(IngestionError, match=r"x\.txt: its encoding is not UTF-8.*iconv"):
        decode(data, Path("x.txt"))


def test_a_bad_byte_is_shown_where_it_stands() -> None:
    with pytest.raises(IngestionError, match=r"byte 0xff in line 3.*Fix that byte"):
        decode(b"Good words.\n\nBad \xff\xfe\xfa ones \x80.\n", Path("x.txt"))


def test_damaged_marked_text_is_refused() -> None:
    with pytest.raises(IngestionError):
        decode("\ufeffhello".encode("utf-16-le") + b"\x00", Path("x.txt"))


@pytest.mark.parametrize("content", [bytes(range(256)) * 20, b"\x89PNG\r\n\x1a\n" + b"\x00" * 500, b"abc\x00\x01" * 90])
def test_binary_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(IngestionError, match="binary"):
        read_text(path)


@pytest.mark.parametrize("ending", ["md", "unknown"])
def test_stray_control_characters_vanish_from_text(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    text = "## \b\b\b处理方式\n\x1bP3 小范围\x1c核心业务\n\x1b[31m红\x1b[0m\n" + "五分钟以内的故障\n" * 5
    path.write_text(text, "utf-8")
    assert is_text(path)
    assert read_text(path) == "## 处理方式\nP3 小范围 核心业务\n红\n" + "五分钟以内的故障\n" * 5
    path.write_text(text, "gb18030")
    with pytest.raises(IngestionError, match="binary"):
        read_text(path)


def test_a_small_compiled_file_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "model.unknown"
    path.write_bytes(b'\b\x03\x12\x07backend:.\n\x06input1\x12\boutput_1"\x03Exp')
    assert not is_text(path)
    with pytest.raises(IngestionError, match="binary"):
        read_text(path)


def test_a_carriage_return_alone_ends_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"# A\r\rone\rtwo\r\n\r\n\r")
    assert read_text(tmp_path / "a.md") == "# A\n\none\ntwo\r\n\r\n\n"
