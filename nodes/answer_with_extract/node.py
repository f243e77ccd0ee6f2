"""The node: the best sentences of the evidence, quoted, or none."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import Runtime

from theworld.nodes.answer_with_entity.stated.chain import answer_chain, follow_links
from theworld.nodes.answer_with_entity.stated.comparison import answer_comparison
from theworld.nodes.answer_with_extract.question_tokens import question_weights, said_tokens
from theworld.nodes.answer_with_extract.sentences import Extract, choose_sentences
from theworld.nodes.answer_with_extract.unstated import leaves_unstated
from theworld.settings import AnswerSettings
from theworld.state import Answer, Candidate, Citation, Context, QueryState, Update
from theworld.text.folding import simplified

MAX_SENTENCES = 3
"""Sentences shown; the third only where the two leave the chain open that the question describes."""

UNLIKELY = 0.5
"""Below this probability the reason says that the sentences may hold no answer."""


def answer_with_extract(state: QueryState, runtime: Runtime[Context], *, settings: AnswerSettings) -> Update:
    """Set `result` to an answer of kind `extractive`, or to None when the sentences are unlikely to hold one."""
    return {"result": extractive_result(state, settings)}


def extractive_result(state: QueryState, settings: AnswerSettings) -> Answer | None:
    """Return the sentences that answer a state's question, None when they are unlikely to."""
    evidence = state.evidence[: settings.evidence_notes]
    extract = extract_answer(state.understood, state.language, evidence, state.candidates)
    least = settings.min_extract_confidence_zh if state.language == "zh" else settings.min_extract_confidence_en
    unlikely = extract.coverage < settings.min_extractive or extract.confidence < least
    if not extract.sentences or unlikely or not _says_more(extract, state):
        return None
    if state.language == "zh" and leaves_unstated(simplified(state.understood), evidence):
        return None
    citations = tuple(
        Citation.of(number, evidence[piece.note], piece.start, piece.end)
        for number, piece in enumerate(extract.sentences, start=1)
    )
    return Answer(
        text="\n".join([*_meant(state), _text(citations, state.language)]),
        kind="extractive",
        confidence=extract.confidence,
        citations=citations,
        reason=f"the sentences cover {extract.coverage:.0%} of the question"
        + ("; it is unlikely that they hold the answer" if extract.confidence < UNLIKELY else ""),
    )


def _says_more(extract: Extract, state: QueryState) -> bool:
    """Return whether the sentences share a word with the question beside the names that it only described."""
    described = state.ontology.described if state.ontology else ()
    if not described:
        return True
    names = {token for one in described for alias in one.aliases for token in said_tokens(alias)}
    asked = set(question_weights(state.understood, state.candidates)) - names
    return not asked or bool(asked & {token for piece in extract.sentences for token in said_tokens(piece.text)})


def _meant(state: QueryState) -> list[str]:
    """Return a line for each description whose meaning the ontology's facts tell: what it is, and by which fact."""
    pattern = "{text}：{names}（{facts}）" if state.language == "zh" else "{text}: {names} ({facts})"
    joined = "、" if state.language == "zh" else ", "
    return [
        pattern.format(
            text=one.text,
            names=joined.join(one.names),
            facts="; ".join(f"{fact.source} —{fact.relation}→ {fact.target}" for fact in one.facts),
        )
        for one in (state.ontology.described if state.ontology else ())
        if len(one.names) == 1
    ]


def extract_answer(
    question: str, language: str, evidence: Sequence[Candidate], background: Sequence[Candidate] = ()
) -> Extract:
    """Return the sentences that answer a question, those that state its relations or comparison first."""
    plain = simplified(question)
    stated = answer_comparison(question, language, evidence) or answer_chain(plain, language, evidence)
    followed = None if stated else follow_links(plain, language, evidence)
    support = stated.support if stated else followed.support if followed else ()
    return choose_sentences(
        plain,
        evidence,
        MAX_SENTENCES,
        language=language,
        background=background,
        given=[(place.note, place.start) for place in support],
        followed=followed,
    )


def _text(citations: tuple[Citation, ...], language: str) -> str:
    """Return one line per sentence: its title, the sentence as written, the citation's number."""
    pattern = "《{title}》：{quote} [{number}]" if language == "zh" else "{title}: {quote} [{number}]"
    bare = "{quote} [{number}]"
    return "\n".join(
        (pattern if item.title else bare).format(title=item.title, quote=item.quote, number=item.number)
        for item in citations
    )
