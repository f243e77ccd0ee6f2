"""The whole graph over the bundled corpus and the real models."""

import asyncio
import dataclasses
import json

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from theworld.errors import InvalidQuestionError, SettingsError
from theworld.graph import build_graph, open_resources
from theworld.state import Context, QueryOutput, QueryState

pytestmark = pytest.mark.slow

TWO_HOP = "In which city was the director of Metropolis born?"
CHINESE = "天一阁是由谁主持建造的？"


@pytest.fixture(scope="module")
def graph(resources):
    return build_graph(resources)


def essence(output):
    """The output without what differs from run to run by nature: timings and message ids."""
    plain = QueryOutput.model_validate(output).model_dump(mode="json", exclude={"messages", "stages"})
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)


@pytest.mark.parametrize(("question", "expected"), [(TWO_HOP, "Vienna"), (CHINESE, "范钦")])
def test_answers_with_citations_that_hold(graph, resources, question, expected):
    output = graph.invoke({"question": question})
    assert expected in output["answer"]
    assert output["kind"] in {"entity", "extractive"}
    assert output["usage"].calls == 0
    assert output["degradations"] == []
    assert output["citations"]
    for citation in output["citations"]:
        (note,) = resources.store.notes([citation.note_id], tenant="default")
        assert note.text[citation.start - note.start : citation.end - note.start] == citation.quote


def test_candidates_carry_every_channel(graph):
    candidates = graph.invoke({"question": TWO_HOP})["candidates"]
    assert set(candidates[0].channels) == {"sparse", "dense", "graph"}
    assert [c.rerank_rank for c in candidates] == list(range(1, len(candidates) + 1))
    scores = [c.final_score for c in candidates]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_sync_async_and_stream_agree(graph):
    sync = graph.invoke({"question": TWO_HOP})
    assert essence(asyncio.run(graph.ainvoke({"question": TWO_HOP}))) == essence(sync)
    *_, last = graph.stream({"question": TWO_HOP}, stream_mode="values")
    assert essence(last) == essence(sync)


def test_nodes_return_only_keys_of_the_state(graph):
    known = set(QueryState.model_fields) | set(QueryOutput.model_fields)
    for update in graph.stream({"question": TWO_HOP}, stream_mode="updates"):
        for node, keys in update.items():
            assert set(keys or {}) <= known, node


def test_every_stage_is_traced_once(graph):
    stages = [trace.stage for trace in graph.invoke({"question": TWO_HOP})["stages"]]
    assert stages[:3] == ["receive_question", "resolve_references", "route_query"]
    assert set(stages[3:6]) == {"retrieve_sparse", "retrieve_dense", "retrieve_graph"}
    after = [stage for stage in stages if not stage.startswith("second_hop")]
    assert after[6:8] == ["fuse_candidates", "rerank_candidates"]
    assert stages.index("fuse_candidates") < stages.index("second_hop_1") < stages.index("rerank_candidates")
    assert stages[-1] == "finish_answer"
    assert len(stages) == len(set(stages))


def test_the_caller_chooses_channels_and_reranking(graph):
    output = graph.invoke({"question": TWO_HOP}, context=Context(channels=["sparse"], rerank=False, top_k=3))
    assert len(output["candidates"]) == 3
    assert all(set(c.channels) == {"sparse"} and c.rerank_rank is None for c in output["candidates"])
    assert not {"retrieve_dense", "rerank_candidates"} & {trace.stage for trace in output["stages"]}


def test_nothing_in_the_corpus_is_an_honest_none(graph):
    output = graph.invoke({"question": "What is the capital gains tax rate in Portugal?"})
    assert output["result"].sureness in {"none", "unsure"}
    assert output["answer"].startswith(("There is not enough evidence", "Unsure: this may not answer"))


def test_another_tenant_sees_nothing(graph):
    output = graph.invoke({"question": TWO_HOP}, context=Context(tenant="other"))
    assert (output["kind"], output["candidates"]) == ("none", [])


@pytest.mark.parametrize(
    "question",
    [
        "Should I tell my boss what the weather will be like tomorrow?",
        "Hi, can I find a director near me?",
        "帮我找一下附近的导演",
        "我未来可以做什么",
    ],
)
def test_no_wording_keeps_a_question_from_the_documents(graph, question):
    output = graph.invoke({"question": question})
    assert {"retrieve_sparse", "retrieve_dense", "retrieve_graph"} <= {trace.stage for trace in output["stages"]}
    assert output["candidates"]


def test_small_talk_searches_nothing(graph):
    output = graph.invoke({"question": "你好"})
    assert "retrieve_sparse" not in {trace.stage for trace in output["stages"]}
    assert output["kind"] == "none"


@pytest.mark.parametrize("question", ["", "   \n", "\x00\x01", "???", "x" * 20_001])
def test_questions_that_cannot_be_answered_are_refused(graph, question):
    with pytest.raises(InvalidQuestionError, match="question: it"):
        graph.invoke({"question": question})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("hello", 'input: it is the text \'hello\'. Ask with {"question": "..."}'),
        ({"qestion": TWO_HOP}, "input: it has 'qestion' and no question. Did you mean question?"),
        ({"question": 5}, "QueryInput: question is 5. It should be a valid string."),
    ],
)
def test_what_holds_no_question_is_refused_in_plain_words(graph, asked, said):
    for ask in (graph.invoke, lambda asked: asyncio.run(graph.ainvoke(asked))):
        with pytest.raises(InvalidQuestionError) as told:
            ask(asked)
        assert str(told.value).startswith(said)


def test_what_is_no_resources_or_settings_is_refused(resources):
    with pytest.raises(SettingsError, match=r"resources of build_graph: it is None. Give what `with open_resources"):
        build_graph(None)
    with pytest.raises(
        SettingsError, match=r"models.chat: object is no theworld.ChatModel. Wrap it as docs/integrations.md"
    ):
        build_graph(dataclasses.replace(resources, models=dataclasses.replace(resources.models, chat=object())))
    with pytest.raises(SettingsError, match=r"settings of open_resources: it is 'my.store'. Give Settings.load"):
        open_resources("my.store").__enter__()


def test_control_characters_and_emoji_are_taken(graph):
    assert graph.invoke({"question": f"\x07{TWO_HOP}\x00 🎬"})["candidates"]


def test_chat_messages_are_a_way_in_and_out(graph):
    output = graph.invoke({"messages": [HumanMessage("Who was the commander of Apollo 11?")]})
    assert "Armstrong" in output["answer"]
    assert [m.type for m in output["messages"]] == ["human", "ai"]
    assert output["messages"][-1].text == output["answer"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_thread_remembers_and_nothing_leaks_from_turn_to_turn(resources, tmp_path, kind, caplog):
    config = {"configurable": {"thread_id": "t"}}
    if kind == "memory":
        _converse(build_graph(resources, InMemorySaver()), config)
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            _converse(build_graph(resources, saver), config)
    assert "unregistered type" not in caplog.text
    assert "Blocked" not in caplog.text


def _converse(graph, config):
    first = graph.invoke({"question": "Who was Ada Lovelace?"}, config, durability="exit")
    second = graph.invoke({"question": "Where was she buried?"}, config, durability="exit")
    assert any(place in second["answer"] for place in ("Hucknall", "Nottinghamshire"))
    assert second["query"] != second["question"]
    assert len([t for t in second["stages"] if t.stage == "fuse_candidates"]) == 1
    assert [m.type for m in second["messages"]] == ["human", "ai", "human", "ai"]
    assert [m.role for m in graph.get_state(config).values["history"]] == ["user", "assistant"] * 2
    third = graph.invoke({"question": "你好"}, config, durability="exit")
    assert (third["candidates"], third["degradations"], third["paths"]) == ([], [], [])
    assert len(first["stages"]) > len(third["stages"])


@pytest.mark.parametrize(
    ("question", "name"), [("Which painter came from Holland?", "netherlands"), ("谁出生在维也纳？", "vienna")]
)
def test_a_name_of_the_linkers_snapshot_seeds_the_graph_under_the_stores_name(graph, resources, question, name):
    alone = build_graph(dataclasses.replace(resources, knowledge=NoNames()))
    assert name in seeds_of(graph, question)
    assert name not in seeds_of(alone, question)


def seeds_of(graph, question):
    for update in graph.stream({"question": question}, stream_mode="updates"):
        if found := update.get("retrieve_graph"):
            return found["channel_results"]["graph"].note
    return ""


class NoNames:
    """A linker that knows nothing, and no other names."""

    def search(self, label, language, limit):
        return []
