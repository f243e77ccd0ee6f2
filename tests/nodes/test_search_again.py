"""Questions that go on from the one before without saying so, or are misspelt: searched again, kept where surer."""

from __future__ import annotations

import time
from typing import Any

import pytest
from langgraph.runtime import Runtime
from tests.reranker_suite import candidate

from theworld import Context, Message, ReferenceResolver
from theworld.graph import Resources, build_graph
from theworld.graph.build import _searcher
from theworld.nodes.search_again import search_again
from theworld.state import ChannelResult, QueryInput, QueryState, ResolvedReference

STAGE = "search_again"
GOES_ON = [
    ("What happened at Apollo 11?", "Who stayed behind?", "Who stayed behind (Apollo 11)?", "en/apollo-11.md"),
    ("大运河有多长？", "起点在哪座城市？", "起点在哪座城市（大运河）？", "zh/grand-canal.md"),
]


def history(question: str) -> list[Message]:
    return [Message("user", question), Message("assistant", "...")]


def ask(resources: Resources, question: str, before: str) -> dict[str, Any]:
    given = {"question": question, "history": history(before)}
    output: dict[str, Any] = build_graph(resources).invoke(given, context=Context(use_model=False))
    assert output["degradations"] == []
    return output


@pytest.mark.parametrize(("before", "question", "query", "document"), GOES_ON)
def test_what_goes_on_is_found_by_the_question_before(
    resources: Resources, before: str, question: str, query: str, document: str
) -> None:
    output = ask(resources, question, before)
    assert STAGE in {stage.stage for stage in output["stages"]}
    assert (output["query"], output["candidates"][0].document_id) == (query, document)
    assert output["reference"].standalone_query == query
    assert document in {citation.document_id for citation in output["citations"]}
    alone = build_graph(resources).invoke({"question": question}, context=Context(use_model=False))
    assert output["confidence"] > alone["confidence"]


@pytest.mark.parametrize(
    ("before", "question"),
    [
        ("What happened at Apollo 11?", "What is Mercury used for?"),
        ("大运河有多长？", "沈括写了什么书？"),
        ("Who built the Tianyi Pavilion?", "Where do visitors park?"),
    ],
)
def test_a_question_of_its_own_stays_as_it_is(resources: Resources, before: str, question: str) -> None:
    assert ask(resources, question, before)["query"] == question


@pytest.mark.parametrize(
    ("question", "before", "in_context"),
    [
        ("Who do I email?", "How long is parental leave?", "Who do I email (long parental leave)?"),
        ("怎么改成每天？", "交大邮箱的垃圾邮件汇总多久发一次？", "怎么改成每天（交大邮箱的垃圾邮件汇总）？"),
        ("Who do I email?", "Thanks!", None),  # about nothing
        ("Thanks!", "How long is parental leave?", None),
        ("在哪个文件里换", "重试几次？", "在哪个文件里换（重试）"),
        (
            "Which password manager do engineers of the platform team use for old servers?",
            "How long is parental leave?",
            None,
        ),
        ("New topic: passwords?", "How long is parental leave?", None),
        ("How long is it?", "How long is parental leave?", None),  # points back, so that it is rewritten anyway
    ],
)
def test_only_few_words_that_point_at_nothing_may_go_on(question: str, before: str, in_context: str | None) -> None:
    assert ReferenceResolver().resolve(question, history(before)).in_context == in_context


@pytest.mark.parametrize(
    ("questions", "in_context"),
    [
        (
            ["How long is parental leave for fathers?", "Who do I email?", "Which form is needed?"],
            "Which form is needed (email; long parental leave fathers)?",
        ),
        (["图书馆的自习室怎么预约？", "几点关门？", "周末呢开吗？"], "周末呢开吗（几点关门；图书馆的自习室）？"),
        (
            ["How long is parental leave?", "New topic: who cleans?", "Which form is needed?"],
            "Which form is needed (cleans)?",
        ),
    ],
)
def test_what_goes_on_twice_goes_back_to_what_names_its_topic(questions: list[str], in_context: str) -> None:
    before = [message for question in questions[:-1] for message in history(question)]
    assert ReferenceResolver().resolve(questions[-1], before).in_context == in_context


@pytest.mark.parametrize(
    ("question", "query", "document"),
    [
        (
            "how is mercurry used in thermometers?",
            "how is mercury used in thermometers?",
            "en/mercury-element.md",
        ),
        (
            "who wrote about the analyticl engine?",
            "who wrote about the analytical engine?",
            "en/charles-babbage.md",
        ),
    ],
)
def test_misspelt_words_are_searched_as_the_notes_spell_them(
    resources: Resources, question: str, query: str, document: str
) -> None:
    output = build_graph(resources).invoke({"question": question}, context=Context(use_model=False))
    assert (output["query"], output["candidates"][0].document_id) == (query, document)
    assert output["reference"].standalone_query == query
    right = build_graph(resources).invoke({"question": query}, context=Context(use_model=False))
    assert right["query"] == query
    assert output["confidence"] == right["confidence"]


def test_a_search_in_context_that_is_late_leaves_the_first_also_where_strict(resources: Resources) -> None:
    """The time left is enough for one search: the node is given a request that began long ago."""
    before, question, query, _ = GOES_ON[0]
    given = {"question": question, "history": history(before)}
    context = Context(use_model=False, strict=True)
    graph = build_graph(resources)
    assert graph.invoke(given, context=context)["query"] == query
    state = QueryState.model_validate(graph.invoke({"question": question}, context=context))
    late = state.model_copy(
        update={
            "reference": ReferenceResolver().resolve(question, history(before)),
            "retrieval_started": time.perf_counter() - 3600,
        }
    )
    update = search_again(late, Runtime(context=context), search=_searcher(resources))
    assert update == {}


@pytest.mark.parametrize(
    ("alone", "times", "kept"),
    [(0.2, 1.3, True), (0.2, 1.2, False), (0.39, 4.0, True), (0.41, 4.0, False)],
)
def test_the_odds_in_context_must_be_better_and_the_first_search_unsure(
    alone: float, times: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, in_context = "Who stayed behind?", "Who stayed behind (Apollo 11)?"
    found = {"dense": ChannelResult(channel="dense", searched=1_000)}
    reference = ResolvedReference(in_context=in_context)
    state = QueryState(question=question, query=question, reference=reference, channel_results=found)

    def probability(searched: QueryState, _: Context) -> float:
        odds = alone / (1 - alone) * (1 if searched.query == question else times)
        return odds / (1 + odds)

    monkeypatch.setattr("theworld.nodes.search_again.probability_in", probability)
    update = search_again(
        state, Runtime(context=Context()), search=lambda again, _: {**dict(again), "rerank_outcome": "complete"}
    )
    assert (update.get("query") == in_context) is kept


@pytest.mark.parametrize(("best", "kept"), [("Collins stayed behind.", True), ("Apollo 11 landed.", False)])
def test_what_loses_the_words_of_the_question_must_be_much_surer(
    best: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, in_context = "Who stayed behind?", "Who stayed behind (Apollo 11)?"
    notes = [candidate("a", text="The cook stayed behind."), candidate("b", text="The boat left.")]
    state = QueryState(
        question=question,
        query=question,
        reference=ResolvedReference(in_context=in_context),
        channel_results={"dense": ChannelResult(channel="dense", searched=1_000)},
        candidates=notes,
    )
    found = {"candidates": [candidate("c", text=best)], "rerank_outcome": "complete"}
    monkeypatch.setattr(
        "theworld.nodes.search_again.probability_in", lambda one, _: 0.3 if one.query == question else 0.6
    )
    update = search_again(state, Runtime(context=Context()), search=lambda again, _: {**dict(again), **found})
    assert (update.get("query") == in_context) is kept


def test_evidence_alone_is_of_the_second_search_too(resources: Resources) -> None:
    from theworld.service.requests.running import run_graph

    before, question, query, document = GOES_ON[0]
    given = QueryInput(question=question, history=history(before))
    run = run_graph(build_graph(resources), given, Context(use_model=False), until="evidence")
    assert (run.state["query"], run.state["candidates"][0].document_id) == (query, document)
    assert run.steps[-1].trace.stage in {STAGE, "find_entity_candidates"}
