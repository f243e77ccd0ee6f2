"""The nodes: look mentions up, judge those that have candidates, accept that others have none."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.entities.identity import mentions_to_look_up, types_of
from theworld.entities.judging import EntityJudge, find_candidates, judge_mentions
from theworld.entities.knowledge import TIMEOUT_S, EntityKnowledge
from theworld.entities.schema import REASON_NO_CANDIDATES
from theworld.questions import read_question
from theworld.state import Context, EntityJudgement, QueryState, Update


def find_entity_candidates(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    knowledge: EntityKnowledge,
    timeout_s: float = TIMEOUT_S,
) -> Update:
    """Set `entity_candidates` for the question's entities and the top titles; failures are a Degradation."""
    names = mentions_to_look_up(read_question(state.query, state.language), state.evidence or state.candidates)
    return find_candidates("find_entity_candidates", names, state, runtime, knowledge=knowledge, timeout_s=timeout_s)


def judge_entities(state: QueryState, runtime: Runtime[Context], *, judge: EntityJudge) -> Update:
    """Set `judgements`, one per mention looked up; mentions without candidates never reach the judge."""
    types = types_of(mention for note in state.evidence or state.candidates for mention in note.mentions)
    found: Update = {"entity_candidates": state.entity_candidates, "entity_sitelinks": state.entity_sitelinks}
    return judge_mentions(judge, types, found, state, runtime)


def accept_no_candidates(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `judgements` to NIL for every mention looked up; no judge is asked."""
    none = (EntityJudgement(label=name, reason=REASON_NO_CANDIDATES) for name in state.entity_candidates)
    return {"judgements": list(none)}
