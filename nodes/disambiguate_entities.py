"""Wikidata entries: look mentions up, judge those with candidates, accept that others have none; link the answer."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.entities.identity import UNNAMED, UNTYPED, mentions_to_look_up
from theworld.entities.judging import EntityJudge, find_candidates, judge_mentions, types_of
from theworld.entities.knowledge import TIMEOUT_S, EntityKnowledge
from theworld.entities.schema import REASON_NO_CANDIDATES
from theworld.questions import read_question
from theworld.state import Answer, Context, EntityJudgement, QueryState, Update
from theworld.text import entity_key


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


def link_answer(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    knowledge: EntityKnowledge,
    judge: EntityJudge,
    timeout_s: float = TIMEOUT_S,
) -> Update:
    """Set the id and URL of an answering entity that the notes name; dates, numbers, yes and no have none."""
    answer = state.result
    type_hint = _named_as(answer, state) if answer is not None and answer.qid is None else None
    unreachable = any(item.stage == "find_entity_candidates" for item in state.degradations)
    if answer is None or type_hint is None or unreachable:
        return {}
    found = find_candidates("link_answer", [answer.text], state, runtime, knowledge=knowledge, timeout_s=timeout_s)
    if answer.text not in found["entity_candidates"]:
        return {"degradations": found["degradations"]}
    known: Update = found | {"entity_sitelinks": state.entity_sitelinks | found["entity_sitelinks"]}
    judged = judge_mentions(judge, {answer.text: type_hint} if type_hint else {}, known, state, runtime)
    (judgement,) = judged["judgements"]
    update: Update = {"judgements": [*state.judgements, judgement], "usage": judged["usage"]}
    if judgement.matched and judgement.selection is not None:
        entry = judgement.selection
        update["result"] = answer.model_copy(update={"qid": entry.id, "url": entry.url})
    return update


def _named_as(answer: Answer, state: QueryState) -> str | None:
    """Return the type under which the evidence names the answer ("" when it has none), None for what has no entry."""
    if answer.kind != "entity" or any(entity_key(item.label) == answer.entity for item in state.judgements):
        return None
    types = [m.type for note in state.evidence for m in note.mentions if m.key and m.key == answer.entity]
    if not types or types[0] in UNNAMED:
        return None
    return "" if types[0] in UNTYPED else types[0]
