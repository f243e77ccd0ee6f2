"""Citations say where a reader finds them, and come back from JSON and checkpoints as they were."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from theworld.state import Candidate, Citation, place_of

SECTION = ("Parental leave", "Eligibility")


@pytest.mark.parametrize(
    ("document_id", "source", "title", "section", "place"),
    [
        ("hr/leave.md", "/x/hr/leave.md", "Time off", SECTION, "leave.md › Time off › Parental leave › Eligibility"),
        ("hr/parental-leave.md", "", "Parental Leave", ("Eligibility",), "parental-leave.md › Eligibility"),
        ("hr/leave_2.md", "", "leave_2.md", ("Who",), "leave_2.md › Who"),
        ("菜谱/红烧肉.md", "/x/菜谱/红烧肉.md", "红烧肉的做法", ("操作",), "红烧肉.md › 红烧肉的做法 › 操作"),
        ("菜谱/红烧肉.md", "", "红烧肉", ("操作", "焯水"), "红烧肉.md › 操作 › 焯水"),
        ("hr/leave.md", "", "", ("Who",), "leave.md › Who"),
        ("hr/leave.md", "", "Time\n off", (" Who \n asks", ""), "leave.md › Time off › Who asks"),
        ("4711", "https://a.example/b/leave%20plan.html?x=/c.md#d", "Leave", ("Who",), "leave plan.html › Leave › Who"),
        ("4711", "https://a.example", "Leave", ("Who",), "Leave › Who"),
        ("4711", "http://[", "Leave", ("Who",), "Leave › Who"),
        ("4711", "/x/corpus.jsonl", "Leave", ("Who",), "Leave › Who"),
        ("St. Ives v2.1", "", "St. Ives", ("History",), "St. Ives › History"),
        ("4711", "", "", ("Who",), "4711 › Who"),
        ("hr/leave.md", "/x/hr/leave.md", "Time off", (), "leave.md › Time off"),
        ("hr/leave.md", "", "", (), "leave.md"),
        ("guides/s3/_index.md", "", "Amazon S3", ("Setup",), "s3/_index.md › Amazon S3 › Setup"),
        ("client/_index.zh-cn.md", "", "客户端", ("安装",), "client/_index.zh-cn.md › 客户端 › 安装"),
        ("4711", "https://a.example/guides/s3/index.html", "S3", ("Setup",), "s3/index.html › S3 › Setup"),
        ("README.md", "", "Leave", ("Who",), "README.md › Leave › Who"),
        (
            *("basic_auth.md", "", "basic_auth (Caddyfile directive)", ("basic_auth", "Examples")),
            "basic_auth.md › basic_auth (Caddyfile directive) › Examples",
        ),
        ("4711", "", "登录（指令）", ("登录", "示例"), "登录（指令） › 示例"),
        ("4711", "", "Setup and use", ("Setup", "Setup (Linux)"), "Setup and use › Setup › Setup (Linux)"),
        ("git.html", "", "git(1)", ("git(1)", "Git (1)", "Options"), "git.html › git(1) › Options"),
    ],
)
def test_a_place_is_file_title_and_headings(
    document_id: str, source: str, title: str, section: tuple[str, ...], place: str
) -> None:
    assert place_of(document_id, source, title, section) == place


def test_a_citation_knows_its_place_and_keeps_it() -> None:
    note = Candidate(note_id="hr/leave.md#3", document_id="hr/leave.md", title="Leave", section=SECTION, text="Ask.")
    citation = Citation.of(1, note)
    assert citation.place == "leave.md › Parental leave › Eligibility"
    assert citation.model_dump()["place"] == citation.place
    assert Citation.model_validate_json(citation.model_dump_json()) == citation
    serializer = JsonPlusSerializer(allowed_msgpack_modules=[("theworld.state.answers", "Citation")])
    assert serializer.loads_typed(serializer.dumps_typed(citation)) == citation
    assert "place" in Citation.model_json_schema()["properties"]
