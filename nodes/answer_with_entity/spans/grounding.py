"""Whether the sentence of a span says what the question asks: enough of its words, and the event of a date."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.nodes.answer_with_entity.clauses.relations import asked_relations, states_relation
from theworld.nodes.answer_with_entity.one_entity import names_in, without_names
from theworld.nodes.answer_with_entity.question.amounts import asked_amount
from theworld.nodes.answer_with_entity.question.attribute import names_of
from theworld.nodes.answer_with_entity.question.read_question import QUESTION_WORD, ReadQuestion
from theworld.nodes.answer_with_entity.spans.offices import asked_office
from theworld.nodes.answer_with_entity.spans.ranking import CLAUSE_END, ScoredSpan
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import entity_key, split_sentences, tokens, without_qualifier
from theworld.text.folding import simplified

MIN_GROUNDED = {"en": 0.6, "zh": 0.25}
"""Share of the question's content tokens, known to the notes or not, that the answering sentence or title must have.

With the evidence of other questions, 146 of 147 spans of DRCD's questions stay below; with their own, 6 of 278.
Chinese tokens are overlapping bigrams, of which a paraphrase keeps few."""
_DATED = "年月日世代"
_COUNTED = frozenset({"date", "number", "quantity"})
EVENT_TOKENS = 4
"""Tokens after the question word that name the event."""
EVENT_REACH = 40
"""Characters after a Chinese date in which its event is told; before it, twice as many."""
_APART_ZH = re.compile(
    r"[^\u4e00-\u9fff]|[的了着过在是有个些和与及或把被对从由为这那其之吗呢吧最都也里到于以上下中内位名座种条家所部本等将向给任叫做请问]|"
    r"什么|怎么|怎样|如何|为何|多少|多[大高长远深宽久重快]|哪[里些个儿]?|谁|几个?|何[人时处地]|时候|现在|目前|当时|可以|应该|能够|一共|总共|大约"
)
"""What stands between the words of a Chinese question that say what is asked."""


_OF_THING = re.compile(
    r"(?:what(?:['’]s|\s(?:is|was|are|were))\sthe\s[^?]{1,60}?\sof\s|how\s\w+\s(?:is|was|are|were)\s)(?P<thing>[^?]+?)\W*$",
    re.IGNORECASE,
)
"""Questions for a property of a thing, which the notes may not know: "what is the boiling point of mercury?"."""

_ROLE = re.compile(r"who\s(?:is|was|are|were)\s(?:the|an?)\s(?P<role>[^?]{1,40}?)\s(?:of|at|in|for)\s", re.IGNORECASE)


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


def says_names(question: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> bool:
    """Tell whether an English span's sentence or title has every name of the question that the evidence knows.

    A part of a name will do where the note has it in full: "Marsh" of "Elena Marsh".
    """
    note = evidence[best.note]
    if note.language == "zh":
        return True
    sentence = next((one.text for one in split_sentences(note.text) if one.start <= best.start < one.end), "")
    of = _OF_THING.match(question.strip())
    thing = (
        frozenset(token for token in tokens(of["thing"]) if token not in word_set("function")) if of else frozenset()
    )
    return has_names([*named_tokens(question, evidence), thing], sentence, note)


def says_role(question: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> bool:
    """Tell whether an English span's sentence has the whole role that "who is the chief executive of X?" asks for."""
    role, note = _ROLE.match(question.strip()), evidence[best.note]
    if role is None or note.language == "zh":
        return True
    sentence = next((one.text for one in split_sentences(note.text) if one.start <= best.start < one.end), "")
    stated = any(states_relation(one.relation, sentence, "en") for one in asked_relations(question, "en"))
    wanted = set(tokens(role["role"])) - word_set("function")
    return stated or wanted <= set(tokens(f"{sentence} {note.title}"))


def has_names(names: Sequence[frozenset[str]], sentence: str, note: Candidate) -> bool:
    """Tell whether an English sentence or its note's title has every name, or a part of one that the note has whole."""
    own, said = set(tokens(sentence)), set(tokens(f"{sentence} {note.title}"))
    whole = set(tokens(f"{note.title} {note.text}"))
    return all(name <= said or (name & own and name <= whole) for name in names)


def named_tokens(question: str, evidence: Sequence[Candidate]) -> list[frozenset[str]]:
    """Return the content tokens of every known name in a question, of names within names only the longest."""
    asked = names_in(question)
    known = {m.key for note in evidence for m in note.mentions if m.key and m.type not in _COUNTED}
    known |= {entity_key(without_qualifier(note.title)) for note in evidence}
    found = {key for key in known if len(key) > 1 and asked(key)}
    longest = [key for key in found if not any(key != other and key in other for other in found)]
    return [frozenset(token for token in tokens(key) if token not in word_set("function")) for key in longest]
