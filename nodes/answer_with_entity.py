"""The node: an entity, a date, a number or yes/no read off the evidence, or none when the evidence is not clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langgraph.runtime import Runtime

from theworld.answers.chains import answer_chain, answer_from_facts
from theworld.answers.comparisons import answer_comparison
from theworld.answers.confidence import FoundAnswer, Support, probability_of, span_signs
from theworld.answers.efsa import EfsaTrace, trace_efsa
from theworld.answers.efsa_input import EvidenceNote
from theworld.answers.one_entity import OneEntity
from theworld.answers.scores import answer_scores
from theworld.answers.spans import grounding, rank_spans, share_and_margin, span_words
from theworld.answers.topics import named_topics
from theworld.degrading import degrading
from theworld.entities.identity import Identities, entry_of, identities
from theworld.errors import StoreError
from theworld.questions import Question, read_question
from theworld.settings import AnswerSettings
from theworld.state import (
    EVIDENCE_NOTES,
    Answer,
    Candidate,
    Citation,
    Context,
    Degradation,
    QueryState,
    Update,
    context_of,
)
from theworld.text import entity_key
from theworld.wikidata import EntriesByName

LONGEST_QUESTION = 1_000
"""Characters; longer ones are no questions that rules read, and many of their patterns look on from every word."""


def answer_with_entity(
    state: QueryState, runtime: Runtime[Context], *, settings: AnswerSettings, entries: EntriesByName | None = None
) -> Update:
    """Set `result` to an answer of kind `entity`, or to None when the evidence is not clear enough.

    Tried in this order: facts of the ontology, a comparison of stated facts, a chain of stated relations, a span of the
    expected type with EFSA's ranking on record. Names of one entry count as one entity: of an entry that was linked, or
    the only one that `entries` has under the name. A longer question is left to the answers after this one.
    """
    noted = list[Degradation]()

    def known() -> Identities:
        reason = "other names of what the notes mention are left out"
        with degrading("answer_with_entity", context_of(runtime), noted, reason, catching=StoreError):
            return identities(state.judgements, state.evidence, read_question(state.query, state.language), entries)
        return identities(state.judgements)

    found = read_answer(state, settings, known)
    clear = found is not None and found.confidence >= settings.min_confidence
    update: Update = {"result": _answer(found, state) if found and clear else None}
    if noted:
        update["degradations"] = noted
    return update


def read_answer(
    state: QueryState, settings: AnswerSettings, known: Callable[[], Identities] = lambda: identities([])
) -> FoundAnswer | None:
    """Return the best answer that the evidence gives, whatever its confidence; `known` tells names of one entity."""
    if len(state.query) > LONGEST_QUESTION:
        return None
    question, evidence = read_question(state.query, state.language), state.evidence
    found = answer_from_facts(state.ontology, question.language, evidence)
    topics = named_topics(question, evidence) if found is None else []
    return (
        found
        or answer_comparison(question, topics, evidence)
        or answer_chain(question, topics, evidence)
        or answer_span(question, evidence[:EVIDENCE_NOTES], known)
    )


def answer_span(
    question: Question, evidence: Sequence[Candidate], known: Callable[[], Identities]
) -> FoundAnswer | None:
    """Return the best span of the type that a question expects, None without one; `known` tells names of one entity."""
    expected = question.answer_type
    if not expected.types or question.compares:
        return None
    aliases = known().aliases
    one = OneEntity.of_names(aliases)
    words = span_words(question, evidence)
    ranking = rank_spans(question, words, evidence, one)
    if not ranking:
        return None
    best, (share, margin) = ranking[0], share_and_margin(ranking)
    types = {mention.key: mention.type for note in reversed(evidence) for mention in note.mentions if mention.key}
    trace = trace_efsa(
        [_as_evidence(note, index) for index, note in enumerate(evidence)],
        question.text,
        [note.bridge for note in evidence if note.bridge],
        aliases=aliases,
        allowed=lambda key, _name: expected.admits(types.get(key, "other")),
    )
    key = one.key(entity_key(best.text))
    signs = span_signs(share, grounding(words, best, evidence), question.language)
    return FoundAnswer(
        best.text,
        probability_of(signs),
        (Support(best.note, best.start, best.end),),
        f"{expected.name}: share {share:.2f}, margin {margin:.2f}, {_place_in(trace, key)}",
        signs,
        answer_scores(ranking, key, signs, trace, evidence),
    )


def _place_in(trace: EfsaTrace, key: str) -> str:
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


def _answer(found: FoundAnswer, state: QueryState) -> Answer:
    entry = entry_of(found.text, state.judgements)
    return Answer(
        text=found.text,
        kind="entity",
        confidence=found.confidence,
        citations=tuple(
            Citation.of(number, state.evidence[support.note], support.start, support.end)
            for number, support in enumerate(found.support, start=1)
        ),
        reason=found.reason,
        entity=entity_key(found.text),
        qid=entry.id if entry else None,
        url=entry.url if entry else None,
        scores=found.scores,
    )
