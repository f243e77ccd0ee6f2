"""The node that looks the answer itself up: it is often none of the names the question and the titles have."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.entities.identity import UNNAMED, UNTYPED
from theworld.entities.judging import EntityJudge, find_candidates, judge_mentions
from theworld.entities.knowledge import TIMEOUT_S, EntityKnowledge
from theworld.state import Context, QueryState, Update
from theworld.text import entity_key


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
    unreachable = any(item.stage == "find_entity_candidates" for item in state.degradations)
    if answer is None or answer.kind != "entity" or answer.qid is not None or unreachable:
        return {}
    types = [m.type for note in state.evidence for m in note.mentions if m.key and m.key == answer.entity]
    judged_before = any(entity_key(item.label) == answer.entity for item in state.judgements)
    if judged_before or not types or types[0] in UNNAMED:
        return {}
    found = find_candidates("link_answer", [answer.text], state, runtime, knowledge=knowledge, timeout_s=timeout_s)
    if answer.text not in found["entity_candidates"]:
        return {"degradations": found["degradations"]}
    known: Update = found | {"entity_sitelinks": state.entity_sitelinks | found["entity_sitelinks"]}
    type_hints = {} if types[0] in UNTYPED else {answer.text: str(types[0])}
    judged = judge_mentions(judge, type_hints, known, state, runtime)
    (judgement,) = judged["judgements"]
    update: Update = {"judgements": [*state.judgements, judgement], "usage": judged["usage"]}
    if judgement.matched and judgement.selection is not None:
        entry = judgement.selection
        update["result"] = answer.model_copy(update={"qid": entry.id, "url": entry.url})
    return update
