"""Whether the sentence of a span says what the question asks: enough of its words, and the event of a date."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.nodes.answer_with_entity.amounts import asked_amount
from theworld.nodes.answer_with_entity.attribute import names_of
from theworld.nodes.answer_with_entity.offices import asked_office
from theworld.nodes.answer_with_entity.one_entity import names_in, without_names
from theworld.nodes.answer_with_entity.read_question import QUESTION_WORD, ReadQuestion
from theworld.nodes.answer_with_entity.spans import CLAUSE_END, ScoredSpan
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import split_sentences, tokens
from theworld.text.folding import simplified

MIN_GROUNDED = {"en": 0.6, "zh": 0.25}
"""Share of the question's content tokens, known to the notes or not, that the answering sentence or title must have.

With the evidence of other questions, 146 of 147 spans of DRCD's questions stay below; with their own, 6 of 278.
Chinese tokens are overlapping bigrams, of which a paraphrase keeps few."""
_DATED = "年月日世代"
EVENT_TOKENS = 4
"""Tokens after the question word that name the event."""
EVENT_REACH = 40
"""Characters after a Chinese date in which its event is told; before it, twice as many."""
_APART_ZH = re.compile(
    r"[^\u4e00-\u9fff]|[的了着过在是有个些和与及或把被对从由为这那其之吗呢吧最都也里到于以上下中内位名座种条家所部本等将向给任叫做请问]|"
    r"什么|怎么|怎样|如何|为何|多少|多[大高长远深宽久重快]|哪[里些个儿]?|谁|几个?|何[人时处地]|时候|现在|目前|当时|可以|应该|能够|一共|总共|大约"
)
"""What stands between the words of a Chinese question that say what is asked."""


def grounding(question: str, language: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> float:
    """Return the share of the question's content tokens in the best span's sentence or title."""
    note = evidence[best.note]
    asked = ReadQuestion.of(question, language, evidence)
    amount = asked_amount(question, language)
    for sentence in split_sentences(note.text):
        if sentence.start <= best.start < sentence.end:
            said = amount.tokens if amount and amount.spans(sentence.text) else frozenset[str]()
            return asked.grounded(said.union(tokens(sentence.text), tokens(note.title)))
    return 0.0


def says_event(question: str, language: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> bool:
    """Tell whether a Chinese date stands with what the question asks the date of.

    In a biography every clause has its year: the words beside "which year" must stand in the clauses around the
    date, within its sentence. True for other languages and types.
    """
    if language != "zh" or not any(mark in best.text for mark in _DATED):
        return True
    match = QUESTION_WORD["zh"].search(question)
    end = match.start("unit") if match else 0
    asked = tokens(question[end:].lstrip("年月日個个世紀纪"))[:EVENT_TOKENS]
    event = [token for token in asked if token not in word_set("function")]
    if not event:
        return True
    text = evidence[best.note].text
    before = "".join(CLAUSE_END.split(text[max(0, best.start - 2 * EVENT_REACH) : best.start])[-2:])
    after = "".join(CLAUSE_END.split(text[best.end : best.end + EVENT_REACH])[:4])
    near = set(tokens(re.split(r"[。！？；]", before)[-1])) | set(tokens(re.split(r"[。！？；]", after)[0]))
    return not near.isdisjoint(event)


def is_about_asked(question: str, language: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> bool:
    """Tell whether the note of a Chinese span has any name of the question, where the evidence knows one.

    The husband of somebody else is no answer. True for other languages.
    """
    if language != "zh":
        return True
    has, note = names_in(question), evidence[best.note]
    asked = {key for key in names_of(evidence) if len(key) > 1 and has(key)}
    asked = {key for key in asked if not any(key != other and key in other for other in asked)}
    named = names_in(f"{note.title}\n{note.text}")
    return not asked or any(named(key) for key in asked)


def says_what_is_asked(question: str, language: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> bool:
    """Tell whether the sentence of a Chinese span says any word of what is asked beside the names.

    "谁为大桥剪彩" is answered by no sentence without 剪彩. True for other languages.
    """
    amount = asked_amount(question, language)
    dated = amount is None and any(mark in best.text for mark in _DATED)
    if language != "zh" or asked_office(question) or dated:
        return True
    left = without_names(question, (key for key in names_of(evidence) if len(key) > 1))
    words = [word for word in _APART_ZH.split(left) if word and len(word) > 1]
    pairs = {word[place : place + 2] for word in words for place in range(len(word) - 1)}
    note = evidence[best.note]
    sentence = next((one for one in split_sentences(note.text) if one.start <= best.start < one.end), None)
    if not pairs or sentence is None:
        return True
    if amount and amount.spans(sentence.text):
        pairs -= amount.tokens
        if not pairs:
            return True
    said = simplified(f"{note.title} {sentence.text}")
    return any(pair in said for pair in pairs)
