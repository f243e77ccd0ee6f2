"""Section 10.2.4 and 11.3: explain restores route and evidence from the tables; every number is recomputed here."""

from __future__ import annotations

import re

import pytest

from service_cases import CHINESE, TWO_HOP

pytestmark = pytest.mark.slow
SEARCH, ASK = "/api/v1/retrieval/search", "/api/v1/ask"
QUESTIONS = [TWO_HOP, CHINESE, '"Voyager 1" launch date', "Compare the Danube and the River Cam"]


def explained(call, request_id, form="json", language="en", **headers):
    path = f"/api/v1/retrieval/explain/{request_id}?format={form}&language={language}"
    return call(path, **headers)[{"json": "explanation"}.get(form, form)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_section_10_2_explain_restores_route_and_evidence(call, question):
    reply = call(ASK, {"question": question, "stream": False})
    found = explained(call, reply["request_id"])
    assert found["route"] == reply["route"]
    assert found["paths"] == reply["paths"]
    assert found["answer"]["text"] == reply["answer"]
    assert found["answer"]["citations"] == reply["citations"]
    assert found["entities"]["judgements"] == reply["judgements"]
    assert [row["note_id"] for row in found["rerank"]["results"]] == [c["note_id"] for c in reply["candidates"]]
    for row, candidate in zip(found["rerank"]["results"], reply["candidates"], strict=True):
        assert row["final_score"] == candidate["final_score"]
        assert row["covered"] == candidate["covered"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_number_is_recomputed_from_the_logged_parts(call, question):
    reply = call(ASK, {"question": question, "stream": False})
    found = explained(call, reply["request_id"])
    fusion = found["fusion"]
    ranks = {
        (name, hit["note_id"]): hit["rank"] for name, channel in found["channels"].items() for hit in channel["hits"]
    }
    scores = {
        (name, hit["note_id"]): hit["score"] for name, channel in found["channels"].items() for hit in channel["hits"]
    }
    totals = {}
    for name in sorted(found["channels"]):
        hits, weight = found["channels"][name]["hits"], found["channels"][name]["weight"]
        counted = hits[: fusion["depths"].get(name, len(hits))]
        scale = max((abs(hit["score"]) for hit in counted), default=0.0) or 1.0
        scaled = [hit["score"] / scale for hit in counted]
        for hit in hits:
            totals.setdefault(hit["note_id"], 0.0)
        for hit, score in zip(counted, scaled, strict=True):
            width = max(scaled) - min(scaled)
            totals[hit["note_id"]] += weight * ((score - min(scaled)) / width if width else 1.0)
    order = sorted(totals, key=lambda note: (-totals[note], note))[: fusion["kept"]]
    assert [note["note_id"] for note in fusion["notes"]] == order
    for place, note in enumerate(fusion["notes"], start=1):
        assert note["rank"] == place
        assert note["score"] == totals[note["note_id"]], "to the last bit"
        total = 0.0
        for term in note["terms"]:
            key = (term["channel"], note["note_id"])
            assert (term["rank"], term["score"]) == (ranks[key], scores[key])
            assert term["product"] == term["weight"] * term["points"]
            total += term["product"]
        assert total == note["score"]
    fused = {note["note_id"]: note for note in fusion["notes"]}
    results = found["rerank"]["results"]
    for place, row in enumerate(results, start=1):
        assert row["position"] == row["rank"] == place
        assert row["fused_score"] == fused[row["note_id"]]["score"]
        assert row["fused_rank"] == fused[row["note_id"]]["rank"]
        assert row["moved_up"] == row["fused_rank"] - place
        assert row["final_score"] == row["score"], "the evidence set's merit is a relevance already"
    assert [row["score"] for row in results] == sorted((row["score"] for row in results), reverse=True)
    assert found["answer"]["confidence"] == reply["confidence"]
    times = found["timings"]
    channels = [s["elapsed_ms"] for s in times["stages"] if s["stage"].startswith("retrieve_")]
    others = [s["elapsed_ms"] for s in times["stages"] if not s["stage"].startswith("retrieve_")]
    assert times["in_nodes_ms"] == sum(others) + max(channels)
    assert times["between_nodes_ms"] == times["graph_ms"] - times["in_nodes_ms"]
    assert times["around_graph_ms"] == times["elapsed_ms"] - times["graph_ms"]


def test_without_reranking_relevance_is_the_share_of_the_best_fused_score(call):
    found = explained(call, call(SEARCH, {"query": TWO_HOP, "enable_rerank": False})["request_id"])
    best = found["rerank"]["results"][0]["fused_score"]
    for row in found["rerank"]["results"]:
        assert row["rank"] is None
        assert row["final_score"] == row["fused_score"] / best
    assert found["rerank"]["model_version"] == ""


@pytest.mark.parametrize("method", ["rrf", "minmax"])
def test_the_terms_add_up_for_every_method_of_fusion(service, method):
    from theworld.graph import build_graph
    from theworld.service.requests.explanation import fused_again, terms_by_note
    from theworld.service.requests.record import FinishedRequest, record_of
    from theworld.service.requests.running import run_graph
    from theworld.service.requests.strategies import Strategy
    from theworld.state import Context, QueryInput

    strategy = Strategy.model_validate({"settings": {"retrieval": {"fusion": {"method": method}}}})
    resources = strategy.resources(service.resources)
    run = run_graph(build_graph(resources), QueryInput(question=TWO_HOP), Context(), until="evidence")
    record = record_of(
        FinishedRequest(
            "default", "r", "t", "search", "evidence", run, resources.settings, 0, resources.reranker.name, 1.0
        )
    )
    again = fused_again(record)
    assert [(n.note_id, n.score) for n in again] == run.state["fused"]
    terms = terms_by_note(record)
    for note in again:
        total = 0.0
        for term in terms[note.note_id]:
            total += term["product"]
        assert total == note.score


def test_section_9_the_key_fields_are_on_record(service, call):
    request_id = call(ASK, {"question": TWO_HOP, "stream": False})["request_id"]
    service.writer.settle(request_id, tenant="default")
    record = service.journal.read(request_id, tenant="default")
    assert record.route["strategy"] == record.route["decision"]["strategy"] != ""
    assert {row["source"] for row in record.candidates} == {"sparse", "dense", "graph"}
    assert {row["model_version"] for row in record.ranking} == {service.resources.reranker.name}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_as_text_in_both_languages(call, language):
    text = explained(call, call(ASK, {"question": CHINESE, "stream": False})["request_id"], "text", language)
    assert CHINESE in text
    assert ("路由：" in text) == (language == "zh")
    assert ("Route:" in text) == (language == "en")
    assert "{" not in text
    assert ("  理由：意图：提问" in text) == (language == "zh")
    assert ("because: intent question" in text) == (language == "en")


@pytest.mark.parametrize(
    ("question", "reader", "said"),
    [("Metropolis Fritz Lang", "zh-CN", "zh"), ("Metropolis Fritz Lang", "en", None), (TWO_HOP, "zh-CN", None)],
)
def test_where_a_question_has_no_plain_language_the_reader_decides(client, service, question, reader, said):
    asked = client.post(ASK, json={"question": question, "stream": False}, headers={"Accept-Language": reader}).json()
    request_id = asked["data"]["request_id"]
    service.writer.settle(request_id, tenant="default")
    record = service.journal.read(request_id, tenant="default")
    assert record.request["request"]["context"]["language"] == said
    assert asked["data"]["language"] == "en"


def test_as_mermaid_what_a_question_says_is_never_markup(call):
    nasty = 'What is "x"] --> y; <script>alert(1)</script> | `z` {of} Vienna?'
    drawing = explained(call, call(SEARCH, {"query": nasty})["request_id"], "mermaid")
    assert drawing.startswith("flowchart LR\n")
    for line in drawing.splitlines()[1:]:
        assert re.fullmatch(
            r'  \w+(?:(?:\["[^"<>\[\]]*(?:<br/>[^"<>]*)?"\])|(?:\{"[^"<>{}]*"\})|(?:\(\["[^"<>]*"\]\))'
            r"| -->(?:\|[\d.e-]+\|)? \w+)",
            line,
        ), line
    assert "<script>" not in drawing


def test_the_words_have_both_languages():
    from theworld.packages import load_table
    from theworld.service.api.replies import Code, load_messages

    words = load_table("theworld.service.requests", "data/words.yaml").values()
    assert all(set(entry) == {"en", "zh"} for entry in words)
    assert set(load_messages()) == {int(code) for code in Code}
    assert all(set(entry) == {"en", "zh"} for entry in load_messages().values())
