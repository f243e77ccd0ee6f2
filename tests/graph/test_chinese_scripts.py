"""The demo's Chinese questions in one script over its documents in the other, through the whole graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from chinese_writing import in_traditional
from theworld.cli.ask import run_question
from theworld.cli.demo import Turn
from theworld.demo import DemoQuestion, corpus_dir, load_questions
from theworld.graph import Resources, build_graph, open_resources
from theworld.graph.build import CompiledGraph
from theworld.ingestion import ingest
from theworld.models.registry import load_models
from theworld.settings import Settings
from theworld.state import Context
from theworld.stores.knowledge_store import KnowledgeStore

pytestmark = pytest.mark.slow

QUESTIONS = [question for question in load_questions() if question.language == "zh"]
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=[question.id for question in QUESTIONS])


@pytest.fixture(scope="module")
def traditional_resources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resources]:
    """The Chinese documents of the demo in traditional characters, names of files and keys of metadata as they are."""
    corpus = tmp_path_factory.mktemp("corpus")
    for file in corpus_dir().rglob("*.md"):
        copy = corpus / file.relative_to(corpus_dir())
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(in_traditional(file.read_text("utf-8")), "utf-8")
    settings = Settings(store=tmp_path_factory.mktemp("traditional") / "store", retrieval={"deadline_ms": 60_000})
    with KnowledgeStore.open(settings.store, create=True, read_only=False) as store:
        assert not ingest([corpus], store, load_models(settings), settings).failed
    with open_resources(settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph(resources: Resources) -> CompiledGraph:
    return build_graph(resources, checkpointer=InMemorySaver())


@pytest.fixture(scope="module")
def traditional_graph(traditional_resources: Resources) -> CompiledGraph:
    return build_graph(traditional_resources, checkpointer=InMemorySaver())


def answered(graph: CompiledGraph, question: DemoQuestion) -> Turn:
    """The question asked in a conversation of its own; which entry a name means is looked at apart."""
    thread = f"{question.id}-{question.question}"
    if question.stances:
        graph.update_state({"configurable": {"thread_id": thread}}, {"stances": question.stances}, "receive_question")
    context = Context(tenant=question.tenant, filters=question.filters, use_model=False)
    output = run_question(graph, question.question, question.history, context, thread=thread)
    return Turn(question.model_copy(update={"entities": {}}), output, 0.0)


def linked(turn: Turn) -> set[str | None]:
    return {item.selection.id if item.selection else None for item in turn.output.judgements}


@each_question
def test_a_traditional_question_is_answered_in_the_words_of_simplified_documents(
    graph: CompiledGraph, question: DemoQuestion
) -> None:
    history = [replace(one, content=in_traditional(one.content or "")) for one in question.history]
    asked = question.model_copy(update={"question": in_traditional(question.question), "history": history})
    turn = answered(graph, asked)
    assert not turn.missing, turn.output.answer
    assert set(question.entities.values()) <= linked(turn)


@pytest.mark.slow
@each_question
def test_a_simplified_question_is_answered_in_the_words_of_traditional_documents(
    traditional_graph: CompiledGraph, question: DemoQuestion
) -> None:
    said = question.answers if question.stances else [in_traditional(answer) for answer in question.answers]
    whole = [in_traditional(part) for part in question.whole]
    turn = answered(traditional_graph, question.model_copy(update={"answers": said, "whole": whole}))
    assert not turn.missing, turn.output.answer
    assert set(question.entities.values()) <= linked(turn)


def test_most_questions_differ_by_script() -> None:
    assert sum(in_traditional(question.question) != question.question for question in QUESTIONS) >= len(QUESTIONS) - 2
