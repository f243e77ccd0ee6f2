"""The passages a person would be shown, under a short answer where there is one; or none, when too little was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from langgraph.runtime import Runtime

from theworld.answers import (
    QuestionCoverage,
    answer_text,
    compose_passages,
    probability_in,
    relevant,
    see_also,
    sureness_of,
)
from theworld.deadline import DeadlineExceededError, run_within
from theworld.degrading import degrading
from theworld.errors import ModelError, StoreError
from theworld.models.protocols import Embedder
from theworld.ontology.walking import word_steps
from theworld.questions import read_question
from theworld.ranking.greedy_cover import piece_scores
from theworld.retrieval.channel import request_deadline
from theworld.retrieval.notes import TextSource, read_notes, reading_deadline
from theworld.settings import AnswerSettings, Settings
from theworld.state import Answer, Candidate, Context, Degradation, QueryState, Update, context_of
from theworld.stores.protocols import DenseStore
from theworld.stores.records import Note, Span, StoredNote
from theworld.text.sentences import announces

_UNAVAILABLE = (StoreError, ModelError, DeadlineExceededError)
PLACES_SHARE = 0.05
"""Share of an answer's characters that the places of further notes, and how sure it is, may take."""


def answer_with_passages(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    notes: TextSource,
    dense: DenseStore,
    embedder_of: Callable[[str], Embedder | None],
    settings: Settings,
) -> Update:
    """Set `result` to the passages of the best notes, at most `answers.passage_characters_*` of them.

    A short answer that is there already stands above them, and its own notes come first. Without one, passages that
    are too unlikely to hold what is asked (`answers.min_evidence`) leave `result` None.
    """
    context, short = context_of(runtime), state.result
    language = context.language or state.language
    texts = [f"{note.title} {note.text}" for note in state.candidates]
    question = read_question(state.query, state.language)
    words = question.words_over(texts)
    confidence = probability_in(state, context)
    if short is None and confidence < settings.answers.min_evidence:
        return {"result": None}

    stage, noted, whole = "answer_with_passages", list[Degradation](), request_deadline(state, context)

    def read(ids: Sequence[str]) -> Sequence[StoredNote]:
        within = reading_deadline(state, context, settings, 0.5)
        return read_notes(
            ids, notes, stage=stage, context=context, noted=noted, within=within, whole=whole, mentions=False
        )

    def between(document_id: str, start: int, end: int) -> str:
        within = reading_deadline(state, context, settings, 0.5)
        with degrading(stage, context, noted, "notes are shown apart", catching=StoreError):
            return notes.text(document_id, start, end, tenant=context.tenant, within=within)
        return ""

    def meant(note: Note, pieces: Sequence[tuple[int, int]], shown: Sequence[Span]) -> list[float]:
        with degrading(stage, context, noted, "parts of notes are chosen by their words", catching=_UNAVAILABLE):
            score = partial(piece_scores, state.query, note, pieces, shown, dense=dense, embedder_of=embedder_of)
            return run_within(whole, partial(score, tenant=context.tenant), name="score pieces")
        return []

    coverage = QuestionCoverage(words, meant if "dense" in state.channel_results else None, len(question.parts) or 1)
    ranked = supports_first(state.candidates, short)
    limit = longest_answer(ranked[0], settings.answers) if ranked else 0
    places = int(limit * PLACES_SHARE)
    passages = compose_passages(ranked, coverage, limit - places - (len(short.text) if short else 0), read, between)
    if not passages:
        return {"result": short, "degradations": noted}
    answer = short or Answer(kind="extractive", confidence=confidence)
    answer = answer.model_copy(
        update={
            "short": answer.text,
            "passages": passages,
            "see_also": see_also(ranked, passages, places),
            "sureness": sureness_of(answer.confidence),
            "citations": tuple(passage.citation for passage in passages),
            "reason": answer.reason or f"the best notes hold what is asked with probability {confidence:.2f}",
        }
    )
    told = meanings(state, language) if short is None else []
    text = "\n\n".join([*told, answer_text(answer, language)])
    return {"result": answer.model_copy(update={"text": text}), "degradations": noted}


def longest_answer(best: Note, answers: AnswerSettings) -> int:
    """Return how many characters the passages may take: as `best`, the first of them, is English or Chinese.

    A Chinese one that stands whole in what both languages allow by its share of ASCII, which is half as wide (code),
    may take that, and a third of the limit for places and what follows it; one whose end announces more, all that is
    allowed.
    """
    if best.language != "zh":
        return answers.passage_characters_en
    usual, ascii_share = answers.passage_characters_zh, sum(map(str.isascii, best.text)) / max(1, len(best.text))
    most = int(1 / ((1 - ascii_share) / usual + ascii_share / max(usual, answers.passage_characters_en)))
    whole = len(best.lead) + len(best.text) + usual // 3
    if whole > most:
        return usual
    return max(usual, most if announces(best.text) else whole)


def meanings(state: QueryState, language: str) -> list[str]:
    """Return a line for each description whose meaning the ontology's facts tell: what it is, and by which fact."""
    pattern, joined = ("{}：{}（{}）", "、") if language == "zh" else ("{}: {} ({})", ", ")
    return [
        pattern.format(
            one.text,
            joined.join(one.names),
            "; ".join(word_steps([fact]) for fact in one.facts),
        )
        for one in (state.ontology.described if state.ontology else ())
        if len(one.names) == 1
    ]


def supports_first(candidates: Sequence[Candidate], short: Answer | None) -> list[Candidate]:
    """Return the relevant candidates, those first that a short answer was read off."""
    supports = list(dict.fromkeys(citation.note_id for citation in short.citations)) if short else []
    by_id = {candidate.note_id: candidate for candidate in candidates}
    first = [by_id[note_id] for note_id in supports if note_id in by_id]
    return [*first, *(candidate for candidate in relevant(candidates) if candidate not in first)]
