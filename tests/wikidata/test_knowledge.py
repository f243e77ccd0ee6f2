"""What the settings choose, and what a failing service costs the graph: links, never the answer."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime

from theworld.entities import SnapshotKnowledge, make_knowledge, open_knowledge
from theworld.errors import SettingsError, StoreError, WikidataUnavailableError
from theworld.nodes.disambiguate_entities import find_entity_candidates
from theworld.settings import Settings
from theworld.state import Context, QueryState
from theworld.wikidata import Snapshot, WikidataClient, build_snapshot

QUESTION = "Where was Alan Turing born?"


def settings(**wikidata: Any) -> Settings:
    return Settings.load(wikidata=wikidata)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on any connection."""

    def refuse(*arguments: Any, **named: Any) -> None:
        pytest.fail("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    "wikidata", [{}, {"contact": "me@example.org"}, {"online": False, "contact": "me@example.org"}]
)
@pytest.mark.usefixtures("no_network")
def test_nothing_is_asked_of_the_network_unless_online(wikidata: dict[str, Any]) -> None:
    with open_knowledge(settings(**wikidata).wikidata) as knowledge:
        assert isinstance(knowledge, SnapshotKnowledge)
        assert knowledge.search("Paris", "en", 3)[0]["id"] == "Q90"


@pytest.mark.usefixtures("no_network")
def test_the_guard_of_these_tests_can_fail() -> None:
    online = settings(online=True, contact="me@example.org").wikidata
    with open_knowledge(online, cached=False) as knowledge, pytest.raises(pytest.fail.Exception, match="was tried"):
        knowledge.search("Paris", "en", 3)


def test_online_without_an_operator_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"^wikidata\.contact: "):
        make_knowledge(settings(online=True).wikidata)


def test_a_snapshot_of_your_own_is_used(dump: Path, tmp_path: Path) -> None:
    build_snapshot(dump, tmp_path / "mine.sqlite")
    with open_knowledge(settings(snapshot=tmp_path / "mine.sqlite").wikidata) as knowledge:
        assert isinstance(knowledge, Snapshot)
        assert knowledge.search("Peking", "en", 3)[0]["id"] == "Q956"
    with pytest.raises(StoreError, match="cannot be read"):
        knowledge.search("Peking", "en", 3)


def test_a_missing_snapshot_is_told_before_any_question(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        make_knowledge(settings(snapshot=tmp_path / "none.sqlite").wikidata)


def test_online_the_service_is_asked_and_remembered(service: Any, tmp_path: Path) -> None:
    online = settings(online=True, contact="me@example.org", api=service.url, cache=tmp_path / "cache").wikidata
    for _ in range(2):
        with open_knowledge(online) as knowledge:
            assert isinstance(knowledge, WikidataClient)
            assert knowledge.search("Paris", "en", 1)[0]["id"] == "Q90"
    assert len(service.asked) == 3
    assert (tmp_path / "cache" / "wikidata.sqlite").exists()


def look_up(knowledge: Any, **context: Any) -> Any:
    state = QueryState(question=QUESTION, query=QUESTION)
    return find_entity_candidates(state, Runtime(context=Context(**context)), knowledge=knowledge)


def test_a_failing_service_is_a_degradation(service: Any, make_client: Any, reply: Any) -> None:
    service.always = reply(b"<html>Too Many Requests</html>", 429, {"Retry-After": "600"})
    update = look_up(make_client(timeout_s=5))
    (degradation,) = update["degradations"]
    assert degradation.stage == "find_entity_candidates"
    assert "HTTP 429" in degradation.reason
    assert update["entity_candidates"] == {}


def test_strict_asks_for_the_error(service: Any, make_client: Any, reply: Any) -> None:
    service.always = reply(b"", 403)
    with pytest.raises(WikidataUnavailableError, match="HTTP 403"):
        look_up(make_client(), strict=True)


def test_candidates_of_the_service_reach_the_state_and_cached_ones_ask_nothing(make_client: Any, service: Any) -> None:
    client = make_client(cached=True)
    first = look_up(client)["entity_candidates"]
    assert first["Alan Turing"][0].id == "Q7251"
    assert "instance of: human" in first["Alan Turing"][0].key_props_excerpt
    asked = len(service.asked)
    assert asked
    assert look_up(client)["entity_candidates"] == first
    assert len(service.asked) == asked


@pytest.mark.slow
def test_the_graph_answers_without_the_service(resources: Any, service: Any, make_client: Any, reply: Any) -> None:
    from theworld.graph import build_graph

    service.always = reply(b"half", promised=500)
    graph = build_graph(dataclasses.replace(resources, knowledge=make_client(timeout_s=0.3)))
    output = graph.invoke({"question": "Who was the commander of Apollo 11?"})
    assert "Armstrong" in output["answer"]
    assert [d.stage for d in output["degradations"]] == ["find_entity_candidates"]


@pytest.mark.slow
def test_the_graph_links_through_the_service(resources: Any, make_client: Any) -> None:
    from theworld.graph import build_graph

    graph = build_graph(dataclasses.replace(resources, knowledge=make_client()))
    output = graph.invoke({"question": "Who was Alan Turing?"})
    matched = {judgement.selection.id for judgement in output["judgements"] if judgement.matched}
    assert "Q7251" in matched
    assert not output["degradations"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "qid"), [("Who was Alan Turing?", "Q7251"), ("水星是太阳系的第几颗行星？", "Q308")]
)
def test_the_graph_links_through_a_snapshot(
    resources: Any, dump: Path, tmp_path: Path, question: str, qid: str
) -> None:
    from theworld.graph import build_graph

    build_snapshot(dump, tmp_path / "mine.sqlite")
    with Snapshot(tmp_path / "mine.sqlite") as snapshot:
        output = build_graph(dataclasses.replace(resources, knowledge=snapshot)).invoke({"question": question})
    found = [judgement for judgement in output["judgements"] if judgement.matched]
    assert qid in {judgement.selection.id for judgement in found}
