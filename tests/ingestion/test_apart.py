"""Files that are small and yet without end for a parser: they are reported by name, and the next file is read."""

from __future__ import annotations

import os
import signal
import sys
import zlib
from pathlib import Path

import pytest

from theworld.errors import IngestionError
from theworld.ingestion.readers import converted

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot limit a process's time and memory"),
]
WORDS = b"BT /F1 12 Tf 10 700 Td (some words here) Tj ET\n"


def pdf(path: Path, content: bytes, filters: bytes = b"/FlateDecode") -> Path:
    """Write a PDF of one page with that content stream."""
    page = b"/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [5 0 R] >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d /Filter %s >>\nstream\n%s\nendstream" % (len(content), filters, content),
        b"<< %s >>" % page,
    ]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(b"%010d 00000 n \n" % len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(places)
    path.write_bytes(data + table + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(data))
    return path


def text_of(path: Path) -> str:
    (document,) = converted.read(path)
    return document.text


def test_a_page_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = pdf(tmp_path / "endless.pdf", zlib.compress(WORDS * 400_000, 9))
    with monkeypatch.context() as patched:
        patched.setattr(converted, "SECONDS", 3.0)
        with pytest.raises(IngestionError, match=r"more than 4 s of processor time.*\n?.*Divide it") as told:
            text_of(endless)
    assert str(endless) in str(told.value)
    assert "some words here" in text_of(pdf(tmp_path / "next.pdf", zlib.compress(WORDS)))


def test_a_stream_that_would_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = zlib.compressobj(9)
    blanks = b"".join(once.compress(bytes(10_000_000)) for _ in range(40)) + once.flush()
    huge = pdf(tmp_path / "huge.pdf", zlib.compress(blanks, 9), b"[/FlateDecode /FlateDecode]")
    assert huge.stat().st_size < 10_000
    monkeypatch.setattr(converted, "MEMORY", 300_000_000)
    with pytest.raises(IngestionError, match="takes more than 300,000,000 bytes of memory"):
        text_of(huge)
    assert "some words here" in text_of(pdf(tmp_path / "next.pdf", zlib.compress(WORDS)))


def test_a_process_that_was_killed_is_followed_by_another(tmp_path: Path) -> None:
    plain = pdf(tmp_path / "plain.pdf", zlib.compress(WORDS))
    assert text_of(plain)
    child = converted.converting.child
    assert child is not None
    os.kill(child.process.pid, signal.SIGKILL)
    child.process.wait()
    assert text_of(plain)
    converted.converting.close()
    assert converted.converting.child is None
