"""The node that looks the answer itself up: it is often none of the names the question and the titles have."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.entities.candidates import format_candidates, read_sitelinks
from theworld.entities.judging import (
    DEFAULT_LIMITS,
    EntityJudge,
    context_text,
    judge_mention,
    judge_of_request,
    look_up_noting,
    plain_candidates,
)
from theworld.entities.knowledge import TIMEOUT_S, EntityKnowledge
from theworld.entities.schema import CandidateLimits, JudgedEntity
from theworld.models.protocols import less_usage
from theworld.retrieval.channel import request_deadline
from theworld.state import Answer, Context, Degradation, EntityCandidate, QueryState, Update, context_of
from theworld.text import entity_key

_UNNAMED = frozenset({"date", "number", "quantity"})


def link_answer(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    knowledge: EntityKnowledge,
    judge: EntityJudge,
    limits: CandidateLimits = DEFAULT_LIMITS,
    timeout_s: float = TIMEOUT_S,
) -> Update:
    """Set the id and URL of an answering entity that the notes name; dates, numbers, yes and no have none."""
    answer = state.result
    type_hint = _named_as(answer, state) if answer is not None and answer.qid is None else None
    unreachable = any(item.stage == "find_entity_candidates" for item in state.degradations)
    if answer is None or type_hint is None or unreachable:
        return {}
    noted: list[Degradation] = []
    looked_up = look_up_noting(
        "link_answer",
        [answer.text],
        knowledge=knowledge,
        state=state,
        context=context_of(runtime),
        limits=limits,
        timeout_s=timeout_s,
        noted=noted,
    )
    if looked_up.failures:
        return {"degradations": noted}
    raw = looked_up.items[answer.text]
    candidates = [EntityCandidate.model_validate(item) for item in format_candidates(raw, limits, label=answer.text)]
    known = state.model_copy(update={"entity_sitelinks": state.entity_sitelinks | read_sitelinks(raw)})
    judge = judge_of_request(judge, state, runtime)
    before = judge.usage
    entity = JudgedEntity(label=answer.text, type_hint=type_hint or None)
    within = request_deadline(state, context_of(runtime))
    plain = plain_candidates(candidates, known)
    judgement = judge_mention(judge, entity, context_text(state, answer.text), plain, within)
    update: Update = {"judgements": [*state.judgements, judgement], "usage": less_usage(judge.usage, before)}
    if judgement.matched and judgement.selection is not None:
        entry = judgement.selection
        update["result"] = answer.model_copy(update={"qid": entry.id, "url": entry.url})
    return update


def _named_as(answer: Answer, state: QueryState) -> str | None:
    """Return the type under which the evidence names the answer ("" when it has none), None for what has no entry."""
    if answer.kind != "entity" or any(entity_key(item.label) == answer.entity for item in state.judgements):
        return None
    types = [m.type for note in state.evidence for m in note.mentions if m.key and m.key == answer.entity]
    if not types or types[0] in _UNNAMED:
        return None
    return "" if types[0] in {"other", "concept"} else types[0]
