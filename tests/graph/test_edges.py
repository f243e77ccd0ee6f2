"""Where a question goes next, by the state alone."""

import pytest
from langgraph.runtime import Runtime

from theworld.graph import edges
from theworld.settings import AnswerSettings
from theworld.state import (
    Answer,
    Candidate,
    ChannelHit,
    ChannelPlan,
    ChannelResult,
    Context,
    EntityCandidate,
    QueryState,
    ResolvedReference,
    RouteDecision,
)

SOME = [Candidate(note_id="d#0", document_id="d")]
ANSWER = Answer(text="yes", kind="entity")


def routed(*channels, rerank=True, intent="question"):
    plans = {channel: ChannelPlan() for channel in channels}
    return RouteDecision(channels=plans, rerank=rerank, intent=intent)


@pytest.mark.parametrize(
    ("route", "nodes"),
    [
        (routed("sparse", "dense", "graph"), ["retrieve_sparse", "retrieve_dense", "retrieve_graph"]),
        (routed("graph"), ["retrieve_graph"]),
        (routed(), ["report_no_evidence"]),
        (routed(intent="smalltalk"), ["reply_to_smalltalk"]),
    ],
)
def test_only_the_chosen_channels_run(route, nodes):
    assert edges.after_routing(QueryState(route=route)) == nodes


@pytest.mark.parametrize(
    ("candidates", "rerank", "node"),
    [
        ([], True, "report_no_evidence"),
        (SOME, True, "rerank_candidates"),
        (SOME, False, "restore_fused_order"),
    ],
)
def test_zero_candidates_skip_to_the_honest_end(candidates, rerank, node):
    assert edges.after_fusion(QueryState(candidates=candidates, route=routed("sparse", rerank=rerank))) == node


@pytest.mark.parametrize(
    ("outcome", "node"),
    [
        ("complete", "find_entity_candidates"),
        ("partial", "find_entity_candidates"),
        ("timeout", "restore_fused_order"),
        ("error", "restore_fused_order"),
        ("skipped", "restore_fused_order"),
    ],
)
def test_a_failed_reranker_leaves_the_fused_order(outcome, node):
    choose = edges.after_reranking(AnswerSettings())
    assert choose(QueryState(rerank_outcome=outcome, candidates=SOME), Runtime(context=Context())) == node


@pytest.mark.parametrize(
    ("covered", "least", "node"),
    [
        (0.0, 0.15, "report_no_evidence"),
        (0.0, 0.0, "find_entity_candidates"),
        (None, 0.15, "find_entity_candidates"),  # another reranker's scale says nothing of the evidence
    ],
)
def test_too_little_evidence_reaches_no_judge_or_model(covered, least, node):
    seldom = {"sparse": ChannelHit(rank=1, score=0.1)}
    best = SOME[0].model_copy(update={"final_score": 0.01, "covered": covered, "channels": seldom})
    state = QueryState(rerank_outcome="complete", candidates=[best])
    assert edges.after_reranking(AnswerSettings(min_evidence=least))(state, Runtime(context=Context())) == node


@pytest.mark.parametrize(
    ("in_context", "words", "notes", "node"),
    [
        ("Who do I email (parental leave)?", 0.1, 300, "search_again"),
        ("Who do I email (parental leave)?", 30.0, 300, "find_entity_candidates"),  # sure without it
        ("Who do I email (parental leave)?", 0.1, 10, "report_no_evidence"),  # of few notes none stands out
        (None, 0.1, 300, "report_no_evidence"),
    ],
)
def test_only_what_may_go_on_and_is_not_sure_is_searched_again(in_context, words, notes, node):
    best = SOME[0].model_copy(update={"covered": words / 30, "channels": {"sparse": ChannelHit(rank=1, score=words)}})
    dense = ChannelResult(channel="dense", hits=[("d#0", 0.9)], searched=notes, mean=0.1, deviation=0.2)
    state = QueryState(
        query="Who do I email?",
        rerank_outcome="complete",
        candidates=[best],
        channel_results={"dense": dense},
        reference=ResolvedReference(in_context=in_context),
    )
    choose = edges.after_reranking(AnswerSettings(min_evidence=0.5))
    assert choose(state, Runtime(context=Context())) == node


def test_zero_entity_candidates_never_reach_a_judge():
    entry = EntityCandidate(id="Q1", url="https://www.wikidata.org/wiki/Q1")
    assert edges.after_entity_search(QueryState()) == "accept_no_candidates"
    assert edges.after_entity_search(QueryState(entity_candidates={"x": []})) == "accept_no_candidates"
    assert edges.after_entity_search(QueryState(entity_candidates={"x": [entry]})) == "judge_entities"


@pytest.mark.parametrize(
    ("result", "has_model", "allowed", "node"),
    [
        (ANSWER, True, True, "link_answer"),
        (None, True, True, "generate_answer"),
        (None, True, False, "answer_with_passages"),
        (None, False, True, "answer_with_passages"),
    ],
)
def test_a_model_only_where_configured_and_allowed(result, has_model, allowed, node):
    choose = edges.after_entity_answer(has_model=has_model)
    assert choose(QueryState(result=result), Runtime(context=Context(use_model=allowed))) == node


def test_answers_that_fail_fall_through():
    assert edges.after_generation(QueryState()) == "answer_with_passages"
    assert edges.after_generation(QueryState(result=ANSWER)) == "finish_answer"
    assert edges.after_passages(QueryState()) == "report_no_evidence"
    assert edges.after_passages(QueryState(result=ANSWER)) == "finish_answer"
