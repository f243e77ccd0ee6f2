"""The mapped database in the whole graph, questions of several parts, and every combination of the three switches."""

import dataclasses
import time
from datetime import datetime
from itertools import product

import pytest

from theworld.errors import RetrievalUnavailableError
from theworld.graph import build_graph
from theworld.graph.resources import make_resources, open_database, open_resources
from theworld.ingestion import ingest
from theworld.models.registry import Models
from theworld.settings import Settings
from theworld.sql.database import Database
from theworld.state import Context
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeChatModel, FakeEmbedder, FakeTagger
from theworld.text.phrases import word_patterns

pytestmark = pytest.mark.slow

NOW = datetime(2024, 12, 31, 12)  # noqa: DTZ001 - meant in the database's zone
EXAMPLE = "关联企业近30天授信变化与交易波动"


@pytest.fixture(scope="module")
def resources(tmp_path_factory):
    """The sample domain: notes with instant models, and the database."""
    from theworld.demo.credit import write_sample

    paths = write_sample(tmp_path_factory.mktemp("credit"))
    settings = Settings(
        store=tmp_path_factory.mktemp("notes") / "store",
        retrieval={"deadline_ms": 60_000},
        database={"url": f"sqlite:///{paths['database']}", "ontology": paths["ontology"], "timezone": "Asia/Shanghai"},
    )
    embedder = FakeEmbedder()
    tagger = FakeTagger({"星槎精工": "organization", "Starraft Precision": "organization"})
    models = Models({"en": embedder, "zh": embedder}, {"en": tagger, "zh": tagger})
    with KnowledgeStore.open(settings.store, create=True, read_only=False) as store:
        assert not ingest([paths["notes"]], store, models, settings).failed
        with open_database(settings) as database:
            yield dataclasses.replace(make_resources(settings, store, models), database=database)


@pytest.fixture(scope="module")
def graph(resources):
    return build_graph(resources)


def test_the_routers_word_lists_are_read_before_the_first_question(resources, monkeypatch):
    monkeypatch.setattr("theworld.graph.resources.load_models", lambda settings: resources.models)
    word_patterns.cache_clear()
    with open_resources(resources.settings) as opened:
        assert opened.database is not None
        assert word_patterns.cache_info().currsize == 2, "signals and small talk"


def ask(graph, question, /, **context):
    return graph.invoke({"question": question}, context=Context(now=NOW, **context))


def stages(output):
    return [trace.stage for trace in output["stages"]]


def test_the_documents_example_is_answered_from_rows(graph):
    output = ask(graph, EXAMPLE)
    assert (output["kind"], output["route"].path, output["route"].intent) == ("computed", "sql", "statistics")
    change, volatility = output["tables"]
    assert (change.shape, volatility.shape) == ("groups", "volatility")
    assert change.columns[1].unit == "万元"
    assert ("珀栎能源", 12000.0) in change.rows
    assert change.sql.startswith("SELECT ")
    assert change.parameters["tenant"] == "default"
    assert "万元" in output["answer"]
    assert "2024-12-02 至 2024-12-31" in output["answer"]
    assert [c.note_id for c in output["citations"]] == ["table:1", "table:2"]
    assert output["usage"].calls == 0
    assert not any(stage.startswith("retrieve") for stage in stages(output))


def test_english_too(graph):
    output = ask(graph, "credit change and transaction volatility of affiliated companies in the last 30 days")
    assert output["kind"] == "computed"
    assert "12,000 10k CNY" in output["answer"]


def test_what_the_database_does_not_understand_is_answered_otherwise_and_said(graph):
    output = ask(graph, "星槎精工主要生产什么产品？", database=True)
    assert output["kind"] != "computed"
    assert [d.stage for d in output["degradations"]] == ["query_database"]
    assert "mean nothing to the database" in output["degradations"][0].reason
    assert {"retrieve_sparse", "retrieve_dense", "retrieve_graph"} <= set(stages(output))


def test_a_question_tried_every_way_that_is_none_for_the_database_misses_nothing(graph):
    output = ask(graph, "星槎精工主要生产什么产品？")
    assert (output["route"].path, "query_database" in stages(output)) == ("hybrid", True)
    assert output["degradations"] == []
    assert "mean nothing to the database" in output["route"].reasons[-1]


def test_a_broken_database_is_dropped_and_named(resources, tmp_path):
    file = tmp_path / "gone.sqlite"
    file.write_bytes(resources.database.engine._path.read_bytes())
    url = {"url": f"sqlite:///{file}"}
    settings = resources.database.settings.model_copy(update={"url": None}) if not url else resources.settings.database
    database = Database.open(type(settings)(**{**settings.model_dump(), **url}))
    database.lexicon("default")
    file.unlink()
    graph = build_graph(dataclasses.replace(resources, database=database))
    output = ask(graph, "授信总额是多少")
    assert "cannot be asked" in output["degradations"][0].reason
    assert "fuse_candidates" in stages(output)
    with pytest.raises(RetrievalUnavailableError, match="query_database"):
        ask(graph, "授信总额是多少", strict=True)


def test_without_a_database_there_is_no_such_path(resources):
    graph = build_graph(dataclasses.replace(resources, database=None))
    assert "query_database" not in graph.get_graph().nodes
    output = ask(graph, EXAMPLE)
    assert (output["route"].database, output["tables"]) == (False, [])
    assert "fuse_candidates" in stages(output)


@pytest.mark.parametrize(("graph_on", "rerank_on", "router_on"), list(product([True, False], repeat=3)))
def test_graph_reranking_and_router_switch_independently(graph, graph_on, rerank_on, router_on):
    output = ask(
        graph,
        "星槎精工和九桥贸易之间有什么关联",
        graph=graph_on,
        rerank=rerank_on,
        router=router_on,
        database=False,
    )
    ran = stages(output)
    assert ("retrieve_graph" in ran) == graph_on
    assert ("rerank_candidates" in ran) == rerank_on
    assert ("restore_fused_order" in ran) == (not rerank_on)
    assert (output["route"].strategy == "off") == (not router_on)
    assert {"retrieve_sparse", "retrieve_dense", "fuse_candidates", "finish_answer"} <= set(ran)
    assert output["candidates"]
    assert output["degradations"] == []


@pytest.mark.parametrize(("graph_on", "rerank_on", "router_on"), list(product([True, False], repeat=3)))
def test_the_settings_switch_them_too(resources, graph_on, rerank_on, router_on):
    settings = resources.settings.model_copy(
        update={
            "retrieval": resources.settings.retrieval.model_copy(update={"graph": graph_on}),
            "rerank": resources.settings.rerank.model_copy(update={} if rerank_on else {"kind": "none"}),
            "router": resources.settings.router.model_copy(update={"enabled": router_on}),
        }
    )
    output = ask(build_graph(dataclasses.replace(resources, settings=settings)), "星槎精工生产什么？", database=False)
    ran = stages(output)
    assert ("retrieve_graph" in ran, "rerank_candidates" in ran) == (graph_on, rerank_on)
    assert (output["route"].strategy == "off") == (not router_on)
    assert output["candidates"]


def broken(*_args, **_options):
    raise RuntimeError("it broke")


class BrokenStrategy:
    name = "broken"
    choose = broken


class BrokenReranker:
    name = "broken"
    rerank = broken


@pytest.mark.parametrize(("graph_on", "rerank_on", "router_on"), list(product([True, False], repeat=3)))
def test_what_is_switched_on_and_fails_falls_back_and_is_named(resources, monkeypatch, graph_on, rerank_on, router_on):
    """All that is on breaks at once: the other channels' notes in fused order still answer, by every way."""
    monkeypatch.setattr(type(resources.store.graph), "rank", broken)
    failing = dataclasses.replace(resources, strategy=BrokenStrategy(), reranker=BrokenReranker())
    switches = {"graph": graph_on, "rerank": rerank_on, "router": router_on}
    output = ask(build_graph(failing), "星槎精工生产什么？", database=False, **switches)
    ran, fallen = stages(output), {one.stage for one in output["degradations"]}
    expected = {"retrieve_graph": graph_on, "rerank_candidates": rerank_on, "route_query": router_on}
    assert fallen == {stage for stage, on in expected.items() if on}
    assert "restore_fused_order" in ran
    assert {hit for c in output["candidates"] for hit in c.channels} == {"sparse", "dense"}
    assert output["kind"] != "none"
    assert output["route"].strategy == "off"
    if any(expected.values()):
        with pytest.raises((RetrievalUnavailableError, RuntimeError)):
            ask(build_graph(failing), "星槎精工生产什么？", database=False, strict=True, **switches)


def test_parts_that_need_different_ways_are_answered_one_by_one(graph):
    output = ask(graph, "星槎精工的授信总额是多少，它主要生产什么产品？")
    if not output["parts"]:
        output = ask(graph, "星槎精工的授信总额是多少？星槎精工主要生产什么产品？")
    assert len(output["parts"]) == 2
    assert "59,800 万元" in output["answer"]
    assert output["tables"][0].rows == ((59800.0,),)
    assert [c.number for c in output["citations"]] == list(range(1, len(output["citations"]) + 1))
    assert output["candidates"], "the other part was retrieved"
    assert "query_database" in stages(output)
    assert "rerank_candidates" in stages(output)


def test_parts_share_the_time_of_the_request_and_say_what_was_dropped(resources):
    """Every question vector comes too late, for each part: the first part's waiting is the others' loss."""
    slow = FakeEmbedder(delay_s=20.0)
    models = dataclasses.replace(resources.models, embedders={"en": slow, "zh": slow})
    graph = build_graph(dataclasses.replace(resources, models=models))
    total_ms = 4000
    begun = time.perf_counter()
    question = "星槎精工生产什么产品？九桥贸易做什么？星槎精工的授信总额是多少？"
    output = ask(graph, question, total_deadline_ms=total_ms)
    elapsed_ms = (time.perf_counter() - begun) * 1000
    assert len(output["parts"]) == 3
    late = [d for d in output["degradations"] if d.stage == "retrieve_dense"]
    assert len(late) == 2
    assert all("too late" in d.reason for d in late)
    assert late[0].elapsed_ms > total_ms / 2
    assert late[1].elapsed_ms < late[0].elapsed_ms / 2
    assert elapsed_ms < 2 * total_ms
    assert output["candidates"], "what was found in time stays"


def test_parts_that_go_the_same_way_stay_one_question(graph):
    output = ask(graph, "Who founded Starraft Precision, and where does it produce?")
    assert output["parts"] == []


SQL = '{"sql": "SELECT COUNT(*) AS n FROM company WHERE status = \'frozen\'"}'


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (SQL, "computed"),
        ('{"sql": "DELETE FROM company"}', "other"),
        ('{"sql": "SELECT * FROM sqlite_master"}', "other"),
        ('{"sql": ""}', "other"),
        ("I cannot say", "other"),
    ],
)
def test_a_models_statement_goes_through_the_same_guard(resources, reply, kind):
    model = FakeChatModel([reply, "Not enough evidence."])
    settings = resources.settings.database.model_copy(update={"model_sql": True})
    database = Database(resources.database.engine, resources.database.mapping, settings)
    models = dataclasses.replace(resources.models, chat=model)
    graph = build_graph(dataclasses.replace(resources, database=database, models=models))
    output = ask(graph, "冻结客户数目几何", database=True)
    assert (output["kind"] == "computed") == (kind == "computed")
    assert output["degradations"][0].stage == "query_database"
    if kind == "computed":
        assert output["tables"][0].rows == ((1,),)
        assert output["confidence"] == 0.5
    assert "SELECT" in model.calls[0][0].content
    assert "company" in model.calls[0][0].content


class HangingModel(FakeChatModel):
    """A model that keeps to no time."""

    def complete(self, messages, *, timeout_s=None):
        time.sleep(60)
        return super().complete(messages)


def test_a_model_that_hangs_over_a_statement_is_left(resources):
    settings = resources.settings.database.model_copy(update={"model_sql": True})
    database = Database(resources.database.engine, resources.database.mapping, settings)
    models = dataclasses.replace(resources.models, chat=HangingModel([SQL]))
    graph = build_graph(dataclasses.replace(resources, database=database, models=models))
    began = time.perf_counter()
    output = ask(graph, "冻结客户数目几何", database=True, total_deadline_ms=1500)
    assert time.perf_counter() - began < 20
    assert "fake-chat: was too late" in output["degradations"][0].reason
