"""The node: an entity, a date, a number or yes/no read off the evidence, or none when the evidence is not clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from langgraph.runtime import Runtime

from theworld.answers import efsa
from theworld.answers.comparisons import answer_comparison
from theworld.answers.efsa import EfsaTrace, trace_efsa
from theworld.answers.efsa_input import EvidenceNote
from theworld.answers.facts import FoundAnswer, Support, answer_from_facts
from theworld.degrading import degrading
from theworld.entities import entry_of, same_names
from theworld.errors import StoreError
from theworld.questions import Question, read_question
from theworld.settings import AnswerSettings
from theworld.state import (
    EVIDENCE_NOTES,
    Answer,
    AnswerScores,
    Candidate,
    Citation,
    Context,
    Degradation,
    EntityEvidence,
    EvidencePart,
    QueryState,
    Update,
    context_of,
)
from theworld.text import entity_key
from theworld.wikidata import EntriesByName

EFSA_RIGHT = 0.45
"""How often EFSA's answer is right by its share of the evidence: over three data sets 45 of 579, their shares about 100
together (benchmarks/README.md, Short answers)."""
ENTITIES_KEPT = 5
PART = ("score", "decay", "coverage", "consistency", "weight")
LONGEST_QUESTION = 1_000
"""Characters; longer ones are no questions that rules read, and many of their patterns look on from every word."""


def answer_with_entity(
    state: QueryState, runtime: Runtime[Context], *, settings: AnswerSettings, entries: EntriesByName | None = None
) -> Update:
    """Set `result` to an answer of kind `entity`, or to None when the evidence is not clear enough.

    Tried in this order: facts of the ontology, a comparison of stated facts, EFSA with the expected type of answer as
    its gate. Names of one entry count as one entity: of an entry that was linked, or the only one that `entries` has
    under the name. A longer question is left to the answers after this one.
    """
    noted = list[Degradation]()

    def known() -> Mapping[str, str]:
        reason = "other names of what the notes mention are left out"
        with degrading("answer_with_entity", context_of(runtime), noted, reason, catching=StoreError):
            return same_names(state.judgements, state.evidence, read_question(state.query, state.language), entries)
        return same_names(state.judgements)

    found = read_answer(state, known)
    update: Update = {"result": None}
    if found is not None and found.confidence >= settings.min_confidence:
        entry = entry_of(found.text, state.judgements)
        update["result"] = Answer(
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
    if noted:
        update["degradations"] = noted
    return update


def read_answer(state: QueryState, known: Callable[[], Mapping[str, str]] = dict) -> FoundAnswer | None:
    """Return the best answer that the evidence gives, whatever its confidence; `known` tells names of one entity."""
    if len(state.query) > LONGEST_QUESTION:
        return None
    question, evidence = read_question(state.query, state.language), state.evidence
    return (
        answer_from_facts(state.ontology, question.language, evidence)
        or answer_comparison(question, evidence)
        or answer_by_efsa(question, evidence[:EVIDENCE_NOTES], known)
    )


def answer_by_efsa(
    question: Question, evidence: Sequence[Candidate], known: Callable[[], Mapping[str, str]]
) -> FoundAnswer | None:
    """Return the entity of the expected type with the most evidence, None where there is none.

    `known` tells names of one entity. Its support is where notes name it, the one that gave it most evidence first.
    """
    expected = question.answer_type
    if not expected.types:
        return None
    aliases = known()
    types = {mention.key: mention.type for note in reversed(evidence) for mention in note.mentions if mention.key}
    notes: list[EvidenceNote] = []
    for note in evidence:
        entities: dict[str, str] = {}
        for mention in note.mentions:
            if mention.key:
                entities.setdefault(mention.key, mention.surface)
        score, text = min(max(note.final_score, 0.0), 1.0), f"{note.title}\n{note.text}"
        notes.append(EvidenceNote(entities, score, note.hop, note.document_id, (note.note_id,), text))
    trace = trace_efsa(
        notes,
        question.text,
        [note.bridge for note in evidence if note.bridge],
        aliases=aliases,
        allowed=lambda key, _name: expected.admits(types.get(key, "other")),
    )
    if not trace.answered:
        return None
    best, support = trace.ranking[0], list[Support]()
    for part in sorted(best.contributions, key=lambda part: (-part.weight, part.note)):
        mentions = evidence[part.note].mentions
        named = next((m for m in mentions if m.key == best.key), None) or next(
            (m for m in mentions if m.surface == best.name), None
        )
        if named is not None:
            support.append(Support(part.note, named.start, named.end))
    return FoundAnswer(
        best.name,
        EFSA_RIGHT * trace.share,
        tuple(support),
        f"{expected.name}: {trace.reason}, EFSA rank 1 of {len(trace.ranking)}",
        _scores(trace, evidence),
    )


def _scores(trace: EfsaTrace, evidence: Sequence[Candidate]) -> AnswerScores:
    """Return what goes on record of a ranking, so that every number can be computed again."""
    return AnswerScores(
        share=trace.share,
        margin=trace.margin,
        efsa={
            "hop_decay": efsa.HOP_DECAY,
            "beta": efsa.COV_WEIGHT,
            "gamma": efsa.CONS_WEIGHT,
            "epsilon": efsa.DIVERSITY_REWARD,
            "most": efsa.MAX_FURTHER_DOCUMENTS,
        },
        entities=tuple(
            EntityEvidence(
                rank=rank,
                parts=tuple(
                    EvidencePart(note_id=evidence[part.note].note_id, **{n: getattr(part, n) for n in PART})
                    for part in entity.contributions
                ),
                **{name: getattr(entity, name) for name in ("key", "name", "score", "diversity", "documents")},
            )
            for rank, entity in enumerate(trace.ranking[:ENTITIES_KEPT], start=1)
        ),
        ranked=len(trace.ranking),
    )
