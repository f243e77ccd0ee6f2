"""Where a question goes next, by the state alone."""

import pytest

from theworld.graph import edges
from theworld.settings import AnswerSettings
from theworld.state import (
    Answer,
    Candidate,
    ChannelPlan,
    Context,
    DescribedSample,
    EntityCandidate,
    OntologyEvidence,
    QueryState,
    RouteDecision,
)

SOME = [Candidate(note_id="d#0", document_id="d")]
ANSWER = Answer(text="yes", kind="entity")


class Runtime:
    def __init__(self, context=None):
        self.context = context


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
    assert edges.after_reranking(AnswerSettings())(QueryState(rerank_outcome=outcome, candidates=SOME)) == node


@pytest.mark.parametrize(
    ("language", "relevance", "covered", "node"),
    [
        ("en", 0.25, 0.2, "report_no_evidence"),
        ("en", 0.35, 0.2, "find_entity_candidates"),
        ("zh", 0.25, 0.2, "find_entity_candidates"),
        ("zh", 0.15, 0.1, "report_no_evidence"),
        ("en", 0.01, None, "find_entity_candidates"),
    ],
)
def test_notes_too_far_from_the_question_give_no_answer(language, relevance, covered, node):
    best = SOME[0].model_copy(update={"final_score": relevance, "covered": covered})
    state = QueryState(rerank_outcome="complete", candidates=[best], language=language)
    assert edges.after_reranking(AnswerSettings())(state) == node


@pytest.mark.parametrize(
    ("title", "question", "node"),
    [
        ("林文昭", "林文昭哪一年去世？", "find_entity_candidates"),
        ("Edgar Holm (bookbinder)", "When did Edgar Holm die?", "find_entity_candidates"),
        ("Edgar Holm", "When did Edgar Holmes die?", "report_no_evidence"),
        ("", "When did Edgar Holm die?", "report_no_evidence"),
    ],
)
def test_a_note_whose_title_is_asked_about_is_not_too_far(title, question, node):
    best = SOME[0].model_copy(update={"final_score": 0.1, "covered": 0.1, "title": title})
    state = QueryState(question=question, rerank_outcome="complete", candidates=[best], language="en")
    assert edges.after_reranking(AnswerSettings())(state) == node


def test_less_is_asked_of_notes_where_the_ontology_knows_what_is_described():
    best = SOME[0].model_copy(update={"final_score": 0.2, "covered": 0.2})
    described = DescribedSample(text="the guarantor of Alder", names=("Birch",))
    for ontology, node in [
        (OntologyEvidence(), "report_no_evidence"),
        (OntologyEvidence(described=(described,)), "find_entity_candidates"),
    ]:
        state = QueryState(rerank_outcome="complete", candidates=[best], language="en", ontology=ontology)
        assert edges.after_reranking(AnswerSettings())(state) == node


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
        (None, True, False, "answer_with_extract"),
        (None, False, True, "answer_with_extract"),
    ],
)
def test_a_model_only_where_configured_and_allowed(result, has_model, allowed, node):
    choose = edges.after_entity_answer(has_model=has_model)
    assert choose(QueryState(result=result), Runtime(Context(use_model=allowed))) == node


def test_answers_that_fail_fall_through():
    assert edges.after_generation(QueryState()) == "answer_with_extract"
    assert edges.after_generation(QueryState(result=ANSWER)) == "finish_answer"
    assert edges.after_extract(QueryState()) == "report_no_evidence"
    assert edges.after_extract(QueryState(result=ANSWER)) == "finish_answer"
