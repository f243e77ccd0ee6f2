"""The nodes: look mentions up, judge those that have candidates, accept that others have none."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.entities.candidates import format_candidates, read_sitelinks
from theworld.entities.identity import mentions_to_look_up
from theworld.entities.judging import (
    DEFAULT_LIMITS,
    EntityJudge,
    context_text,
    judge_mention,
    judge_of_request,
    look_up_noting,
    mention_types,
    no_candidates,
    plain_candidates,
)
from theworld.entities.knowledge import TIMEOUT_S, EntityKnowledge
from theworld.entities.schema import (
    CandidateLimits,
    JudgedEntity,
)
from theworld.models.protocols import less_usage
from theworld.questions import read_question
from theworld.retrieval.channel import request_deadline
from theworld.state import (
    Context,
    Degradation,
    EntityCandidate,
    QueryState,
    Update,
    context_of,
)


def find_entity_candidates(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    knowledge: EntityKnowledge,
    limits: CandidateLimits = DEFAULT_LIMITS,
    timeout_s: float = TIMEOUT_S,
) -> Update:
    """Set `entity_candidates` for the question's entities and the top titles; failures are a Degradation."""
    noted: list[Degradation] = []
    looked_up = look_up_noting(
        "find_entity_candidates",
        mentions_to_look_up(read_question(state.query, state.language), state.evidence or state.candidates),
        knowledge=knowledge,
        state=state,
        context=context_of(runtime),
        limits=limits,
        timeout_s=timeout_s,
        noted=noted,
    )
    return {
        "entity_candidates": {
            name: [EntityCandidate.model_validate(item) for item in format_candidates(raw, limits, label=name)]
            for name, raw in looked_up.items.items()
        },
        "entity_sitelinks": {qid: n for raw in looked_up.items.values() for qid, n in read_sitelinks(raw).items()},
        "degradations": noted,
    }


def judge_entities(state: QueryState, runtime: Runtime[Context], *, judge: EntityJudge) -> Update:
    """Set `judgements`, one per mention looked up; mentions without candidates never reach the judge."""
    types = mention_types(state.evidence or state.candidates)
    judge = judge_of_request(judge, state, runtime)
    before, within = judge.usage, request_deadline(state, context_of(runtime))
    judgements = [
        judge_mention(
            judge,
            JudgedEntity(label=mention, type_hint=types.get(mention)),
            context_text(state, mention),
            plain_candidates(found, state),
            within,
        )
        for mention, found in state.entity_candidates.items()
    ]
    return {"judgements": judgements, "usage": less_usage(judge.usage, before)}


def accept_no_candidates(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `judgements` to NIL for every mention looked up; no judge is asked."""
    return {"judgements": [no_candidates(JudgedEntity(label=mention)) for mention in state.entity_candidates]}
