"""Questions for figures over HTTP: rows of the mapped database, as the library gives them."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, settings_over
from theworld.demo.credit import write_sample
from theworld.service.api.passages import MOST_ROWS, tables_text
from theworld.service.app import create_app
from theworld.service.openai.conversation import of_chat
from theworld.service.openai.schemas import ChatRequest
from theworld.service.runtime import open_service
from theworld.settings import DatabaseSettings
from theworld.state import QueryOutput, QueryTable
from theworld.state.tables import TableColumn

pytestmark = pytest.mark.slow
NOW = "2024-12-31T12:00:00"
QUESTIONS = {
    "zh": "关联企业近30天授信变化与交易波动",
    "en": "credit change and transaction volatility of affiliated companies in the last 30 days",
}


@pytest.fixture(scope="module")
def call(copy_of_demo, tmp_path_factory):
    paths = write_sample(tmp_path_factory.mktemp("credit"))
    database = DatabaseSettings(
        url=f"sqlite:///{paths['database']}", ontology=paths["ontology"], timezone="Asia/Shanghai"
    )
    settings = settings_over(copy_of_demo()).model_copy(update={"database": database})
    with open_service(settings, bound_to="127.0.0.1") as service:
        client = TestClient(create_app(service), **LOCAL)

        def post(path, body):
            known = {} if path.startswith("/v1/") else {"now": NOW}
            reply = client.post(path if known == {} else f"/api/v1/{path}", json={**known, **body})
            assert reply.status_code == 200, reply.text
            return reply.json()["data"] if known else reply.text

        yield post


@pytest.mark.parametrize("language", QUESTIONS)
def test_search_and_ask_give_the_rows_and_the_statement(call, language):
    found = call("retrieval/search", {"query": QUESTIONS[language]})
    answered = call("ask", {"question": QUESTIONS[language], "stream": False})
    assert answered["kind"] == answered["result"]["kind"] == "computed"
    for data in (found, answered):
        assert [table["shape"] for table in data["tables"]] == ["groups", "volatility"]
        assert data["tables"][0]["sql"].startswith("SELECT ")
        assert 12000.0 in [row[1] for row in data["tables"][0]["rows"]]


def chat(*said, **more):
    roles = ("user", "assistant") * len(said)
    return {
        "model": "theworld",
        "messages": [{"role": r, "content": c} for r, c in zip(roles, said, strict=False)],
        **more,
    }


def test_a_chat_gets_the_rows_below_the_links_and_what_was_understood(call):
    question = "2024年每月的交易笔数"
    whole = json.loads(call("/v1/chat/completions", chat(question)))
    content = whole["choices"][0]["message"]["content"]
    told = call("/v1/chat/completions", chat(question, stream=True)).split("\n\n")
    chunks = [json.loads(line.removeprefix("data: ")) for line in told if line.startswith("data: {")]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == content
    assert whole["understood"] == chunks[-1]["understood"] == question
    said, links, title, table = content.split("\n\n")[:4]
    assert links.startswith("[1]: ")
    assert title.startswith("**")
    assert len(table.splitlines()) == 2 + 12
    asked = of_chat(ChatRequest.model_validate(chat(question, content, "5月呢？")))
    assert asked.history[1].content == said


def test_of_many_rows_a_client_gets_some_and_how_many_are_left_out():
    columns = (TableColumn(label="name"), TableColumn(label="paid", unit="€"))
    rows = (("A | B", 1234.5), *[("C", None)] * (MOST_ROWS + 2))
    table = QueryTable(title="Payments", columns=columns, rows=rows, truncated=True)
    text = tables_text([table], "en")
    assert text.startswith("**Payments**\n\n| name | paid (€) |\n| --- | --- |\n| A \\| B | 1,234.50 |\n| C | – |\n")
    assert text.endswith("| C | – |\n\n… rows left out: 4+")
    assert text.count("\n| ") == MOST_ROWS + 2, "with the headings and their line"


def test_the_database_can_be_left_out(call):
    data = call("ask", {"question": QUESTIONS["zh"], "stream": False, "enable_database": False})
    assert data["tables"] == []
    assert data["kind"] != "computed"


def test_a_reply_says_all_that_the_library_says(call):
    """What a caller of the library gets back, a caller over HTTP gets too; `messages` are Studio's."""
    data = call("ask", {"question": QUESTIONS["en"], "stream": False})
    assert set(QueryOutput.model_fields) - set(data) == {"messages"}


def test_every_kind_of_answer_is_documented(call):
    from theworld.service.api.schemas import AskData

    kind = AskData.model_json_schema()["properties"]["kind"]
    said = {name for choice in kind.get("anyOf", [kind]) for name in choice.get("enum", [choice.get("const")])}
    assert said == {"entity", "extractive", "generated", "computed", "none", "clarify"}
