"""The node: an entity, a date, a number or yes/no read off the evidence, or none when the evidence is not clear."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from langgraph.runtime import Runtime

from theworld.errors import StoreError
from theworld.nodes.answer_with_entity.clauses.deed_answers import answer_deed
from theworld.nodes.answer_with_entity.clauses.relations import asked_relations
from theworld.nodes.answer_with_entity.confidence import span_confidence
from theworld.nodes.answer_with_entity.efsa import EfsaTrace, trace_efsa
from theworld.nodes.answer_with_entity.notes import EvidenceNote
from theworld.nodes.answer_with_entity.one_entity import OneEntity
from theworld.nodes.answer_with_entity.question.amounts import is_other_measure
from theworld.nodes.answer_with_entity.question.answer_type import AnswerType, expected_answer_type
from theworld.nodes.answer_with_entity.reasoned import ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.scores import answer_scores
from theworld.nodes.answer_with_entity.spans.agents import is_done_by_asked
from theworld.nodes.answer_with_entity.spans.grounding import (
    MIN_GROUNDED,
    grounding,
    is_about_asked,
    says_event,
    says_names,
    says_role,
    says_what_is_asked,
)
from theworld.nodes.answer_with_entity.spans.only_places import only_places
from theworld.nodes.answer_with_entity.spans.ranking import MIN_SENTENCE, ScoredSpan, rank_spans, share_and_margin
from theworld.nodes.answer_with_entity.stated.chain import COMPARES, answer_chain
from theworld.nodes.answer_with_entity.stated.comparison import answer_comparison
from theworld.nodes.answer_with_entity.stated.ontology_facts import answer_from_facts
from theworld.nodes.disambiguate_entities.identity import Identities, entry_of, identities
from theworld.settings import AnswerSettings
from theworld.state import Answer, Candidate, Citation, Context, Degradation, QueryState, Update, context_of
from theworld.text import Language, entity_key
from theworld.text.folding import simplified
from theworld.wikidata import EntriesByName

LONGEST_QUESTION = 1_000
"""Characters; longer ones are no questions that rules read, and many of their patterns look on from every word."""


def answer_with_entity(
    state: QueryState, runtime: Runtime[Context], *, settings: AnswerSettings, entries: EntriesByName | None = None
) -> Update:
    """Set `result` to an answer of kind `entity`, or to None when the evidence is not clear enough.

    Tried in this order: facts of the ontology, a comparison of stated attributes, who did what to whom, a chain of
    stated relations, a span of the expected type where the question's words stand, backed by EFSA. Names of one entry
    count as one entity:
    of an entry that was linked, or the only one that `entries` has under the name. A question beyond LONGEST_QUESTION
    is left to the answers after this one.
    """
    if len(state.understood) > LONGEST_QUESTION:
        return {"result": None}
    began, degradations = time.perf_counter(), list[Degradation]()

    def known() -> Identities:
        try:
            return identities(state.judgements, state.evidence, question, entries)
        except StoreError as error:
            if context_of(runtime).strict:
                raise
            elapsed = (time.perf_counter() - began) * 1000
            reason = f"other names of what the notes mention are left out: {error}"
            degradations.append(Degradation(stage="answer_with_entity", reason=reason, elapsed_ms=elapsed))
            return identities(state.judgements)

    question = state.understood
    plain = simplified(question)
    evidence = state.evidence
    language: Language = "zh" if state.language == "zh" else "en"
    found = (
        answer_from_facts(state.ontology, language, evidence)
        or answer_comparison(question, state.language, evidence)
        or answer_deed(plain, state.language, evidence[: settings.evidence_notes])
        or answer_chain(plain, state.language, evidence)
        or _answer_span(plain, state, settings, known)
    )
    clear = found is not None and found.confidence >= settings.min_confidence
    update: Update = {"result": _answer(found, evidence, state) if found and clear else None}
    return update | ({"degradations": degradations} if degradations else {})


def _answer_span(
    question: str, state: QueryState, settings: AnswerSettings, known: Callable[[], Identities]
) -> ReasonedAnswer | None:
    """Return the best typed span when it stands out, None otherwise."""
    language, evidence = state.language, state.evidence[: settings.evidence_notes]
    expected = expected_answer_type(question, language)
    if not expected.types or COMPARES.search(question) or len(asked_relations(question, language)) > 1:
        return None
    identity = known()
    one = OneEntity.of_names(identity.aliases)
    vetoed = only_places(evidence, identity.types) if expected.name == "person" else frozenset[str]()
    ranking = rank_spans(question, language, expected, evidence, one=one, vetoed=vetoed)
    if not ranking:
        return None
    share, margin = share_and_margin(ranking)
    if share < settings.min_share or margin < settings.min_margin:
        return None
    best = ranking[0]
    grounded = grounding(question, language, best, evidence)
    if _is_vetoed(question, language, expected, best, evidence, grounded):
        return None
    trace = _trace(question, expected, evidence, identity, vetoed)
    key = one.key(entity_key(best.text))
    place = _efsa_says(trace, key)
    reason = f"{expected.name}: share {share:.2f}, margin {margin:.2f}, {place}"
    return ReasonedAnswer(
        best.text,
        span_confidence(share, grounded),
        (Support(best.note, best.start, best.end),),
        reason,
        answer_scores(ranking, key, grounded, trace, evidence),
    )


def _is_vetoed(  # noqa: PLR0917
    question: str,
    language: str,
    expected: AnswerType,
    best: ScoredSpan,
    evidence: Sequence[Candidate],
    grounded: float,
) -> bool:
    """Tell whether the best span's sentence says too little of the question, or something else than it asks."""
    note = evidence[best.note]
    return (
        (language != "zh" and best.features.sentence < MIN_SENTENCE)
        or grounded < MIN_GROUNDED["zh" if language == "zh" else "en"]
        or not says_event(question, language, best, evidence)
        or not says_what_is_asked(question, language, best, evidence)
        or not is_about_asked(question, language, best, evidence)
        or not (says_names(question, best, evidence) and says_role(question, best, evidence))
        or (expected.name == "quantity" and is_other_measure(question, note.text, best.start, best.end))
        or is_done_by_asked(question, note, best.start)
    )


def _trace(
    question: str,
    expected: AnswerType,
    evidence: Sequence[Candidate],
    identity: Identities,
    vetoed: frozenset[str],
) -> EfsaTrace:
    """Return EFSA's ranking of the evidence's entities, the expected type as veto."""
    types = {mention.key: mention.type for note in reversed(evidence) for mention in note.mentions if mention.key}
    return trace_efsa(
        [_as_evidence(note, index) for index, note in enumerate(evidence)],
        question,
        [note.bridge for note in evidence if note.bridge],
        aliases=identity.aliases,
        allowed=lambda key, _name: key not in vetoed and expected.admits(types.get(key, "other")),
    )


def _efsa_says(trace: EfsaTrace, key: str) -> str:
    place = next((place for place, entity in enumerate(trace.ranking, start=1) if entity.key == key), None)
    return f"EFSA rank {place} of {len(trace.ranking)}" if place else "no entity of EFSA"


def _as_evidence(note: Candidate, index: int) -> EvidenceNote:
    entities: dict[str, str] = {}
    for mention in note.mentions:
        if mention.key:
            entities.setdefault(mention.key, mention.surface)
    return EvidenceNote(
        entities=entities,
        score=min(max(note.final_score, 0.0), 1.0),
        hop=note.hop,
        document=note.document_id,
        paragraphs=(note.note_id,),
        text=f"{note.title}\n{note.text}",
        position=index,
    )


def _answer(found: ReasonedAnswer, evidence: Sequence[Candidate], state: QueryState) -> Answer:
    key = entity_key(found.text)
    entry = entry_of(found.text, state.judgements)
    return Answer(
        text=found.text,
        kind="entity",
        confidence=found.confidence,
        citations=tuple(
            Citation.of(number, evidence[support.note], support.start, support.end)
            for number, support in enumerate(found.support, start=1)
        ),
        reason=found.reason,
        entity=key,
        qid=entry.id if entry else None,
        url=entry.url if entry else None,
        scores=found.scores,
    )
