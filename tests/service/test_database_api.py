"""Questions for figures over HTTP: rows of the mapped database, as the library gives them."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, settings_over
from theworld.demo.credit import write_sample
from theworld.service.app import create_app
from theworld.service.runtime import open_service
from theworld.settings import DatabaseSettings
from theworld.state import QueryOutput

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
            reply = client.post(f"/api/v1/{path}", json={"now": NOW, **body})
            assert reply.status_code == 200, reply.text
            return reply.json()["data"]

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
