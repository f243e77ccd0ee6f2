from __future__ import annotations

import json
from pathlib import Path

import pytest

ROWS = [
    {"role": "user", "content": "Who founded Rush?", "timestamp": "2024-05-01T10:00:00"},
    {"role": "assistant", "content": "Alex Lifeson founded Rush.", "topic": "bands"},
]


@pytest.mark.parametrize("layout", ["list", "lines"])
def test_a_history_is_a_list_or_lines(cli, tmp_path: Path, layout: str) -> None:
    file = tmp_path / "history"
    lines = "\n\n".join(json.dumps(row) for row in ROWS)
    file.write_text(json.dumps(ROWS, indent=1) if layout == "list" else lines, encoding="utf-8-sig")
    done = cli("resolve", "What did you just say?", "--history", file, "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["reference_type"] != "none"
    assert "Alex Lifeson" in found["resolved_content"]


def test_in_words(cli, tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_text(
        json.dumps([{"role": "user", "content": "谁建了天坛？"}, {"role": "assistant", "content": "永乐。"}])
    )
    done = cli("resolve", "你刚才说了什么？", "--history", file)
    assert done.code == 0
    assert "刚才" in done.out
    assert "永乐" in done.out


def test_without_a_reference(cli) -> None:
    found = json.loads(cli("resolve", "Who wrote Hamlet?", "--json").out)
    assert found["reference_type"] == "none"
