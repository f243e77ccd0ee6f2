"""What nodes judge with: the judges' protocols, looking names up, and a mention's context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from langgraph.runtime import Runtime

from theworld.deadline import Deadline, run_within
from theworld.degrading import degrading
from theworld.entities.knowledge import EntityKnowledge, LookedUp, look_up
from theworld.entities.schema import (
    REASON_NO_CANDIDATES,
    CandidateLimits,
    JudgedEntity,
    JudgeOutput,
)
from theworld.retrieval.channel import request_deadline, within_request
from theworld.state import (
    Candidate,
    Context,
    Degradation,
    EntityCandidate,
    EntityJudgement,
    Mention,
    ModelUsage,
    QueryState,
    context_of,
)
from theworld.text import entity_key, without_qualifier

DEFAULT_LIMITS = CandidateLimits(max_candidates=8)
"""The deterministic judge costs nothing per candidate, so it sees more than a model would."""

CONTEXT_NOTES = 5
"""Best notes in which a name is looked for."""

Plain = Sequence[Mapping[str, Any]]


class EntityJudge(Protocol):
    """Decides which candidate a mention refers to."""

    @property
    def usage(self) -> ModelUsage:
        """Model calls so far; none for a deterministic judge."""

    def judge(self, entity: JudgedEntity, context: str, candidates: Plain) -> JudgeOutput:
        """Return the judgement for a mention in its context; candidates are never empty."""


@runtime_checkable
class TimedJudge(Protocol):
    """A judge that can be held to a request's time, or forbidden its model."""

    def within(self, timeout_s: float | None) -> EntityJudge:
        """Return this judge for one request that has so many seconds left; its `usage` begins at nothing."""

    def without_model(self) -> EntityJudge:
        """Return the judge that stands where no model may be asked."""


def judge_mention(
    judge: EntityJudge, entity: JudgedEntity, text: str, candidates: Plain, within: Deadline | None = None
) -> EntityJudgement:
    """Return the judgement for a mention; without candidates it is NIL and no judge is asked.

    A judge of one's own may hang: DeadlineExceededError when it takes longer than `within`.
    """
    if not candidates:
        return no_candidates(entity)
    if within is None:
        return judge.judge(entity, text, candidates).as_judgement()
    return run_within(within, lambda: judge.judge(entity, text, candidates), name="judge_entities").as_judgement()


def plain_candidates(candidates: Iterable[EntityCandidate], state: QueryState) -> list[dict[str, Any]]:
    """Return candidates as judges take them: plain dicts, with the number of sitelinks where it is known."""
    known = state.entity_sitelinks
    return [
        candidate.model_dump(mode="json", exclude_none=True)
        | ({"sitelinks": known[candidate.id]} if candidate.id in known else {})
        for candidate in candidates
    ]


def judge_of_request(judge: EntityJudge, state: QueryState, runtime: Runtime[Context]) -> EntityJudge:
    """Return the judge, held to what is left of the request and to what the caller allows, where it can be."""
    if not isinstance(judge, TimedJudge):
        return judge
    context = context_of(runtime)
    if not (context.use_model and state.route.model):
        return judge.without_model()
    deadline = request_deadline(state, context)
    return judge.within(None if deadline is None else deadline.remaining_ms() / 1000)


def context_text(state: QueryState, name: str) -> str:
    """Return the question and what the evidence says of a name: the best note about it, else all that mention it.

    Notes about namesakes would speak for the wrong entry.
    """
    evidence, key = state.evidence[:CONTEXT_NOTES], entity_key(name)
    about = [note for note in evidence if entity_key(without_qualifier(note.title)) == key]
    notes = about[:1] or [note for note in evidence if name in note.text] or evidence
    return "\n".join([state.query, *(f"{note.title}. {note.text}" for note in notes)])


def mention_types(notes: Iterable[Candidate]) -> dict[str, str]:
    """Return surface -> type of the notes' mentions that have one."""
    return types_of(mention for note in notes for mention in note.mentions)


def types_of(mentions: Iterable[Mention]) -> dict[str, str]:
    """Return surface -> the first type that says something."""
    found: dict[str, str] = {}
    for mention in mentions:
        if mention.type not in {"other", "concept"}:
            found.setdefault(mention.surface, mention.type)
    return found


def no_candidates(entity: JudgedEntity) -> EntityJudgement:
    """Return the judgement that no entry fits, since none was found."""
    return JudgeOutput(entity=entity, reason=REASON_NO_CANDIDATES).as_judgement()


def look_up_noting(
    stage: str,
    names: Sequence[str],
    *,
    knowledge: EntityKnowledge,
    state: QueryState,
    context: Context,
    limits: CandidateLimits,
    timeout_s: float,
    noted: list[Degradation],
) -> LookedUp:
    """Look names up within the request's time; those that cannot be are one Degradation in `noted`."""
    seconds = within_request(timeout_s, state, context)
    looked_up = look_up(knowledge, names, state.language, limits.max_candidates, seconds)
    with degrading(stage, context, noted, lambda error: _not_looked_up(looked_up, error)):
        for error in looked_up.failures.values():
            raise error
    return looked_up


def _not_looked_up(looked_up: LookedUp, error: Exception) -> str:
    name, *others = looked_up.failures
    more = f" and {len(others)} more" if others else ""
    why = str(error) or type(error).__name__
    return f"{name!r}{more} could not be looked up ({why}); the answer goes without these Wikidata links"
