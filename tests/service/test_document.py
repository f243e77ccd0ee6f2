"""Sections 7 to 11 of the retrieval specification, a test for each sentence: those that are here, and where others are.

The sentences stand word for word in `SENTENCES`; a test that is renamed or removed breaks the table.
"""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from service_cases import CHINESE, LOCAL, TWO_HOP, data_of, settings_over
from theworld.demo import load_questions
from theworld.demo.credit import load_credit_ontology
from theworld.graph import build_graph
from theworld.ontology.storing import import_ontology
from theworld.ranking import Reranking
from theworld.service.app import create_app
from theworld.service.requests.replay import replay
from theworld.service.requests.strategies import Strategy
from theworld.service.runtime import open_service
from theworld.stores.knowledge_store import open_store
from theworld.stores.ledger.models import Base

TESTS = Path(__file__).resolve().parents[1]
HERE = "service/test_document.py"
SENTENCES = {
    "7.1 在线指标：`Answer Success`, `Tool Success`, `Clarify Rate`, `Recovery Rate`, `Latency`。": [
        (HERE, "test_7_1_online_metrics_of_known_traffic"),
        ("evaluation/test_online.py", "test_section_7_answer_success_counts_what_was_judged_only"),
        ("evaluation/test_online.py", "test_section_7_tool_success_is_by_run_and_other_stages_do_not_count"),
        ("evaluation/test_online.py", "test_section_7_clarify_rate"),
        ("evaluation/test_online.py", "test_section_7_recovery_rate"),
        ("evaluation/test_online.py", "test_section_7_latency_is_in_percentiles"),
    ],
    "7.2 检索指标：`Recall@K`, `MRR`, `nDCG@K`。": [
        ("service/test_evaluation_api.py", "test_7_2_the_metrics_are_those_of_the_rankings_on_record")
    ],
    "7.3 质量回放：同 query 多策略 A/B 对比。": [
        (HERE, "test_7_3_the_same_query_is_replayed_with_several_strategies"),
        ("service/test_evaluation_api.py", "test_sections_7_and_8_a_job_compares_two_strategies_and_names_culprits"),
    ],
    "7.4 失败分析：按错误类型聚类（路由错选、召回不足、重排误杀）。": [
        ("evaluation/test_failures.py", "test_section_7_the_first_change_that_mends_names_the_culprit")
    ],
    "8.1 `POST /api/v1/retrieval/search`": [
        ("service/test_retrieval_api.py", "test_section_8_search_takes_the_documents_own_example")
    ],
    "8.2 `POST /api/v1/retrieval/route`": [
        ("service/test_retrieval_api.py", "test_section_8_route_decides_and_searches_nothing")
    ],
    "8.3 `POST /api/v1/retrieval/rerank`": [
        ("service/test_retrieval_api.py", "test_section_8_rerank_orders_given_texts_and_notes")
    ],
    "8.4 `GET /api/v1/retrieval/explain/{request_id}`": [
        ("service/test_explain.py", "test_section_10_2_explain_restores_route_and_evidence")
    ],
    "8.5 `POST /api/v1/eval/jobs`": [(HERE, "test_8_all_endpoints_are_in_the_openapi_with_examples")],
    "8.6 `GET /api/v1/eval/jobs/{job_id}`": [
        ("service/test_evaluation_api.py", "test_sections_7_and_8_a_job_compares_two_strategies_and_names_culprits")
    ],
    "9.1 - 9.8 `graph_node` `graph_edge` `retrieval_request_log` `retrieval_candidate` `rerank_score` "
    "`router_decision_log` `eval_dataset` `eval_result`": [
        (HERE, "test_9_every_table_is_written_by_what_it_is_for"),
        ("service/test_request_log.py", "test_the_tables_of_section_9_are_there"),
    ],
    "9 关键字段 1-3 `router_decision_log.strategy` `retrieval_candidate.source` `rerank_score.model_version`": [
        ("service/test_explain.py", "test_section_9_the_key_fields_are_on_record")
    ],
    "9 关键字段 4 `eval_result.metric_json`：评估指标明细。": [
        (HERE, "test_9_every_table_is_written_by_what_it_is_for")
    ],
    "10.1.1 图遍历边界与环路控制。": [
        ("ontology/test_graph_section.py", "test_10_1_1_the_walk_is_bounded_and_cannot_go_in_circles")
    ],
    "10.1.2 路由策略规则正确性。": [
        ("routing/test_document.py", "test_6_2_2_top_k_and_weight_of_each_channel"),
        ("routing/test_rules.py", "test_questions_over_several_hops_keep_every_channel_at_its_weight"),
    ],
    "10.1.3 重排超时降级逻辑。": [("graph/test_faults.py", "test_a_faulty_reranker_leaves_the_fused_order")],
    "10.1.4 召回融合权重计算。": [("ranking/test_rrf.py", "test_weights_count")],
    "10.2.1 Hybrid 检索链路端到端正确性。": [(HERE, "test_10_2_1_the_hybrid_chain_end_to_end")],
    "10.2.2 图检索增强对跨本体问题有效性。": [
        ("ontology/test_graph_section.py", "test_10_2_2_the_graph_helps_with_questions_across_classes")
    ],
    "10.2.3 A/B 策略切换不影响主链路可用性。": [
        ("service/test_ab.py", "test_section_10_2_both_arms_are_logged_and_the_callers_answer_is_the_main_ones"),
        ("service/test_ab.py", "test_section_10_2_a_strategy_that_fails_leaves_the_main_path_untouched"),
        ("service/test_ab.py", "test_section_10_2_a_strategy_that_hangs_is_not_waited_for"),
    ],
    "10.2.4 Explain 接口可还原路由与召回证据。": [
        ("service/test_explain.py", "test_section_10_2_explain_restores_route_and_evidence"),
        ("service/test_explain.py", "test_every_number_is_recomputed_from_the_logged_parts"),
    ],
    "10.3.1 - 10.3.3 检索端到端 P95；与 M3 对比 `Recall@20`；复杂关联问题首答正确率 (benchmarks; their arithmetic)": [
        ("evaluation/test_baseline.py", "test_worked_example"),
        ("evaluation/test_on_the_graph.py", "test_first_answers_come_from_both_lists"),
    ],
    "10.3.4 重排超时降级成功率 100%。": [(HERE, "test_10_3_4_a_late_reranker_always_leaves_the_fused_order")],
    "11.1 GraphRAG、Re-ranking、Router 可独立开关。": [
        ("service/test_retrieval_api.py", "test_section_11_graph_rerank_and_router_can_each_be_switched_off")
    ],
    "11.2 检索质量指标可持续采集并可追溯。": [(HERE, "test_11_2_every_figure_can_be_traced_to_its_requests")],
    "11.3 Explain 能力可解释路由、召回与重排结果。": [
        ("service/test_explain.py", "test_section_10_2_explain_restores_route_and_evidence"),
        ("service/test_explain.py", "test_as_text_in_both_languages"),
    ],
    "11.4 关键增强能力具备回退策略，不影响主链路稳定性。": [
        (HERE, "test_11_4_without_any_one_of_them_the_question_is_still_answered"),
        ("graph/test_faults.py", "test_a_failing_channel_is_dropped_and_named"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_has_its_test(sentence):
    for file, name in SENTENCES[sentence]:
        tree = ast.parse((TESTS / file).read_text("utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, (file, name)


@pytest.fixture(scope="module")
def own(copy_of_demo):
    """A service of this module alone, so that what it counts is known."""
    settings = settings_over(copy_of_demo())
    with open_store(settings, read_only=False) as store:
        import_ontology(store, load_credit_ontology())
    with (
        open_service(settings, bound_to="127.0.0.1") as service,
        TestClient(create_app(service), **LOCAL) as client,
    ):
        yield service, client


def ask(client, question=TWO_HOP, tenant="default", **more):
    body = {"question": question, "stream": False, **more}
    return data_of(client.post("/api/v1/ask", json=body, headers={"X-Tenant-Id": tenant}))


@pytest.mark.slow
def test_7_1_online_metrics_of_known_traffic(copy_of_demo):
    history = [
        {"role": "user", "content": "Tell me about Ada Lovelace and Marie Curie"},
        {"role": "assistant", "content": "Ada Lovelace was a mathematician. Marie Curie was a physicist."},
    ]
    with open_service(settings_over(copy_of_demo()), bound_to="127.0.0.1") as service:
        late = dataclasses.replace(service, graph=build_graph(with_reranker(service, "timeout")))
        with TestClient(create_app(service), **LOCAL) as client, TestClient(create_app(late), **LOCAL) as other:
            for question, verdict in ((TWO_HOP, "good"), (CHINESE, "good"), ("hello", "bad")):
                judged = {"request_id": ask(client, question)["request_id"], "verdict": verdict}
                data_of(client.post("/api/v1/feedback", json=judged))
            assert ask(client, "What about it?", history=history, clarify=True)["kind"] == "clarify"
            assert [item["stage"] for item in ask(other)["degradations"]] == ["rerank_candidates"]
            assert service.writer.flush()
            found = data_of(client.get("/api/v1/metrics/online"))
    assert (found["requests"], found["judged"]) == (5, 3)
    assert found["answer_success"] == pytest.approx(2 / 3, abs=1e-6)
    assert found["clarify_rate"] == 1 / 5
    assert found["recovery_rate"] == 1.0
    assert 0 < found["tool_success"] < 1
    assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p95"] <= found["latency_ms"]["p99"]


@pytest.mark.slow
def test_7_3_the_same_query_is_replayed_with_several_strategies(own):
    service, client = own
    request_id = ask(client)["request_id"]
    assert service.writer.flush()
    record = service.journal.read(request_id, tenant="default")
    given = [{"name": "as-it-is"}, {"name": "no-rerank", "rerank": False}, {"name": "words", "channels": ["sparse"]}]
    found = {item["name"]: replay(record, service.resources, strategy=Strategy.model_validate(item)) for item in given}
    assert found["as-it-is"].exact
    assert not found["no-rerank"].exact
    assert found["no-rerank"].stages["channels"], "what the channels found does not depend on reranking"
    assert not found["no-rerank"].stages["ranking"]
    assert not found["words"].stages["channels"]
    assert found["words"].causes[0] == "it was asked with strategy words"


@pytest.mark.slow
def test_8_all_endpoints_are_in_the_openapi_with_examples(own):
    _, client = own
    document = client.get("/openapi.json").json()
    paths = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert paths >= {
        ("POST", "/api/v1/retrieval/search"),
        ("POST", "/api/v1/retrieval/route"),
        ("POST", "/api/v1/retrieval/rerank"),
        ("GET", "/api/v1/retrieval/explain/{request_id}"),
        ("POST", "/api/v1/eval/jobs"),
        ("GET", "/api/v1/eval/jobs/{job_id}"),
    }
    schemas = document["components"]["schemas"]
    assert {"section", "place"} <= schemas["Citation"]["properties"].keys()
    assert {"section", "kind", "lead"} <= schemas["Candidate"]["properties"].keys()
    for path, item in document["paths"].items():
        body = item.get("post", {}).get("requestBody")
        if body is not None and path != "/api/v1/documents/file":  # a file as it is
            name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert schemas[name]["examples"], f"{path} shows how it is used"


@pytest.mark.slow
def test_9_every_table_is_written_by_what_it_is_for(own):
    service, client = own
    ask(client)
    queries = [{"id": "1", "text": TWO_HOP, "answers": ["Vienna"]}]
    made = data_of(client.post("/api/v1/eval/datasets", json={"name": "one", "queries": queries}))
    data_of(client.post("/api/v1/eval/jobs", json={"dataset_id": made["dataset_id"]}))
    assert service.jobs.wait(600)
    assert service.writer.flush()
    names = [
        "graph_node", "graph_edge", "retrieval_request_log", "retrieval_candidate", "rerank_score",
        "router_decision_log", "eval_dataset", "eval_result",
    ]  # fmt: skip
    tables = {name: Base.metadata.tables[name] for name in names}
    with service.ledger.reading() as connection:
        rows = {name: connection.execute(select(table).limit(1)).first() for name, table in tables.items()}
    assert [name for name, row in rows.items() if row is None] == []
    assert {"n", "em", "answer_success", "latency_ms"} <= set(rows["eval_result"].metric_json)


def with_reranker(service, outcome):
    class Faulty:
        name, scale = "faulty", "unit"

        def rerank(self, query, candidates, **_):
            return Reranking((), outcome, "0 scored")

    return dataclasses.replace(service.resources, reranker=Faulty())


@pytest.mark.slow
def test_10_2_1_the_hybrid_chain_end_to_end(own):
    _, client = own
    data = ask(client)
    assert "Vienna" in data["answer"]
    assert data["route"]["path"] == "hybrid"
    assert {name for c in data["candidates"] for name in c["channels"]} >= {"sparse", "dense", "graph"}
    stages = [stage["stage"] for stage in data["stages"]]
    order = ["resolve_references", "route_query", "fuse_candidates", "rerank_candidates", "finish_answer"]
    assert [stage for stage in stages if stage in order] == order
    cited = {citation["document_id"] for citation in data["citations"]}
    assert cited <= {candidate["document_id"] for candidate in data["candidates"]}
    assert "en/fritz-lang.md" in cited


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["timeout", "error"])
def test_10_3_4_a_late_reranker_always_leaves_the_fused_order(own, outcome):
    service, _ = own
    late = dataclasses.replace(service, graph=build_graph(with_reranker(service, outcome)))
    asked = fell_back = 0
    with TestClient(create_app(late), **LOCAL) as client:
        for item in load_questions():
            data = data_of(client.post("/api/v1/retrieval/search", json={"query": item.question}))
            if not data["candidates"]:
                continue
            asked += 1
            ranks = [candidate["fused_rank"] for candidate in data["candidates"]]
            named = [item["stage"] for item in data["degradations"]] == ["rerank_candidates"]
            fell_back += data["rerank_outcome"] == outcome and ranks == sorted(ranks) and named
    assert fell_back == asked > 5


@pytest.mark.slow
def test_11_2_every_figure_can_be_traced_to_its_requests(own):
    service, client = own
    traced = {"X-Tenant-Id": "traced"}
    for count in (1, 2, 3):
        ask(client, tenant="traced")
        assert service.writer.flush()
        assert data_of(client.get("/api/v1/metrics/online", headers=traced))["requests"] == count
    ids = [row["request_id"] for row in service.journal.requests("traced")]
    assert len(ids) == 3
    for request_id in ids:
        explained = client.get(f"/api/v1/retrieval/explain/{request_id}", headers=traced)
        assert data_of(explained)["explanation"]["request"]["question"] == TWO_HOP
    judged = {"request_id": ids[0], "verdict": "good"}
    data_of(client.post("/api/v1/feedback", json=judged, headers=traced))
    exposed = client.get("/metrics").text
    for name in ("requests_total", "tool_runs_total", "answers_total", "request_seconds_bucket", "feedback_total"):
        assert f"theworld_{name}" in exposed
    assert "_created" not in exposed


@pytest.mark.slow
@pytest.mark.parametrize("switched_off", ["enable_graph", "enable_rerank", "enable_router"])
def test_11_4_without_any_one_of_them_the_question_is_still_answered(own, switched_off):
    _, client = own
    assert "Vienna" in ask(client, **{switched_off: False})["answer"]
