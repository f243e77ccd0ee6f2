"""What nodes judge with: the judges' protocols, names looked up within the request, and mentions judged in context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

from langgraph.runtime import Runtime

from theworld.deadline import run_within
from theworld.degrading import degrading
from theworld.entities.candidates import format_candidates, read_sitelinks
from theworld.entities.knowledge import EntityKnowledge, look_up
from theworld.entities.schema import REASON_NO_CANDIDATES, CandidateLimits, JudgedEntity, JudgeOutput
from theworld.models.protocols import less_usage
from theworld.retrieval.channel import request_deadline, within_request
from theworld.state import (
    Context,
    Degradation,
    EntityCandidate,
    EntityJudgement,
    ModelUsage,
    QueryState,
    Update,
    context_of,
)
from theworld.text import entity_key, without_qualifier

LIMITS = CandidateLimits(max_candidates=8)
"""The deterministic judge costs nothing per candidate, so it sees more than a model would."""
CONTEXT_NOTES = 5
"""Best notes in which a name is looked for."""


class EntityJudge(Protocol):
    """Decides which candidate a mention refers to."""

    @property
    def usage(self) -> ModelUsage:
        """Model calls so far; none for a deterministic judge."""

    def judge(self, entity: JudgedEntity, context: str, candidates: Sequence[Mapping[str, Any]]) -> JudgeOutput:
        """Return the judgement for a mention in its context; candidates are never empty."""


@runtime_checkable
class TimedJudge(Protocol):
    """A judge that can be held to a request's time, or forbidden its model."""

    def within(self, timeout_s: float | None) -> EntityJudge:
        """Return this judge for one request that has so many seconds left; its `usage` begins at nothing."""

    def without_model(self) -> EntityJudge:
        """Return the judge that stands where no model may be asked."""


def find_candidates(
    stage: str,
    names: Sequence[str],
    state: QueryState,
    runtime: Runtime[Context],
    *,
    knowledge: EntityKnowledge,
    timeout_s: float,
) -> Update:
    """Return candidates and sitelinks of names, looked up within the request's time.

    Names that cannot be looked up have no entry in `entity_candidates`; together they are one Degradation of the stage.
    """
    context, noted = context_of(runtime), list[Degradation]()
    seconds = within_request(timeout_s, state, context)
    found, failures = look_up(knowledge, names, state.language, LIMITS.max_candidates, seconds)
    for name, error in list(failures.items())[:1]:
        more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
        lost = f"{name!r}{more} could not be looked up ({str(error) or type(error).__name__})"
        with degrading(stage, context, noted, f"{lost}; the answer goes without these Wikidata links"):
            raise error
    return {
        "entity_candidates": {
            name: [EntityCandidate.model_validate(item) for item in format_candidates(raw, LIMITS, label=name)]
            for name, raw in found.items()
        },
        "entity_sitelinks": {qid: n for raw in found.values() for qid, n in read_sitelinks(raw).items()},
        "degradations": noted,
    }


def judge_mentions(
    judge: EntityJudge, types: Mapping[str, str], found: Update, state: QueryState, runtime: Runtime[Context]
) -> Update:
    """Return `judgements` of the names of `entity_candidates`, and the usage of their judge.

    `types` are the types of mentions by name. Without candidates a name is NIL and no judge is asked. The judge is held
    to what is left of the request and to what the caller allows; one of the caller's own may hang:
    DeadlineExceededError when it takes longer.
    """
    context, sitelinks = context_of(runtime), found["entity_sitelinks"]
    within = request_deadline(state, context)
    if isinstance(judge, TimedJudge):
        asks = context.use_model and state.route.model
        left = None if within is None else within.remaining_ms() / 1000
        judge = judge.within(left) if asks else judge.without_model()
    before, judgements = judge.usage, list[EntityJudgement]()
    for name, candidates in found["entity_candidates"].items():
        entity = JudgedEntity(label=name, type_hint=types.get(name))
        output = JudgeOutput(entity=entity, reason=REASON_NO_CANDIDATES)
        if candidates:
            plain = [
                candidate.model_dump(mode="json", exclude_none=True)
                | ({"sitelinks": sitelinks[candidate.id]} if candidate.id in sitelinks else {})
                for candidate in candidates
            ]
            # The best note about it, else all that mention it: notes about namesakes would speak for the wrong entry.
            evidence, key = state.evidence[:CONTEXT_NOTES], entity_key(name)
            about = [note for note in evidence if entity_key(without_qualifier(note.title)) == key]
            notes = about[:1] or [note for note in evidence if name in note.text] or evidence
            text = "\n".join([state.query, *(f"{note.title}. {note.text}" for note in notes)])
            judging = partial(judge.judge, entity, text, plain)
            output = run_within(within, judging, name="judge_entities")
        judgements.append(EntityJudgement(**output.entity.model_dump(), **output.model_dump(exclude={"entity"})))
    return {"judgements": judgements, "usage": less_usage(judge.usage, before)}
