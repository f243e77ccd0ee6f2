"""What the ontology leads to stays in the list: what a question describes comes first, the fused order last.

The reranker compares words. It is right about which few notes answer together, but knows nothing of what hangs together
without sharing a word: a guarantor's rating, a note in the other language. Those it puts last, behind every note that
repeats the question. Where an ontology has spoken, only the first notes are the reranker's; and where it knows what a
description stands for ("the guarantor of X"), the notes that name that and say most of the rest come before them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from theworld.state import Candidate, OntologyEvidence
from theworld.text import entity_key, fold, tokens
from theworld.text.folding import simplified
from theworld.text.function_words import function_words
from theworld.text.language import CJK_RANGES

MOST_ABOUT = 3
"""Notes about what a question describes that are put first."""


def about_described_first(
    reranked: Sequence[Candidate], question: str, ontology: OntologyEvidence, language: str
) -> list[Candidate]:
    """Return the candidates with the notes first that name what the question describes and share most of its words.

    Only notes in the question's language, since words decide. They take the relevance of the best.
    """
    names = [fold(alias) for one in ontology.described for alias in one.aliases]
    asked = [fold(alias) for one in ontology.described[-1:] for alias in one.aliases]
    own = [c for c in reranked if c.language == language]
    # What is known by the facts need not be said by the notes.
    wanted = question_weights(simplified(question).replace(ontology.described[-1].text, " "), own)
    known = {token for name in names for token in said_tokens(name)}

    def worth(candidate: Candidate) -> tuple[float, float]:
        said = set(said_tokens(f"{candidate.title} {candidate.text}"))
        return (
            sum(weight for token, weight in wanted.items() if token in said and token not in known),
            sum(weight for token, weight in wanted.items() if token in said),
        )

    about = [c for c in own if any(name in fold(f"{c.title} {c.text}") for name in asked)]
    about = sorted((c for c in about if worth(c)[0] > 0), key=worth, reverse=True)[:MOST_ABOUT]
    best = max((c.final_score for c in reranked), default=0.0)
    first = [candidate.model_copy(update={"final_score": best}) for candidate in about]
    taken = {candidate.note_id for candidate in about}
    return [*first, *(c for c in reranked if c.note_id not in taken)]


def keep_fused_tail(reranked: Sequence[Candidate], head: int) -> list[Candidate]:
    """Return the first `head` candidates as they are and the others by fused rank; relevance never increases."""
    last = len(reranked) + 1
    tail = sorted(reranked[head:], key=lambda c: (c.fused_rank or last, c.note_id))
    ordered = list(reranked[:head])
    floor = ordered[-1].final_score if ordered else 1.0
    for candidate in tail:
        floor = min(floor, candidate.final_score)
        ordered.append(candidate.model_copy(update={"final_score": floor}))
    return ordered


_CJK_RUN = re.compile(f"[{CJK_RANGES}]+")
_ASKS_ZH = re.compile("什么|怎么|怎样|如何|为何|为什么|多少|哪[里些个儿]?|谁|几个?")
_FUNCTION_ZH = re.compile("[的了着过在是有个些和与及或把被对从由为这那其之吗呢吧最都也里]")
SHORTEST_NAME = 2
"""Characters of a name at whose ends a Chinese question is cut."""


def said_tokens(text: str) -> list[str]:
    """Return the index tokens of a text in order, in Chinese its single characters too."""
    found = []
    for token in tokens(text):
        found.append(token)
        if _CJK_RUN.match(token) and len(token) > 1:
            found.extend(token)
    return found


def question_weights(question: str, notes: Sequence[Candidate]) -> dict[str, float]:
    """Return idf weights of the question's content tokens over the notes; they sum to 1."""
    texts = [fold(f"{note.title} {note.text}") for note in notes]
    names = {entity_key(name) for note in notes for name in (note.title, *(m.surface for m in note.mentions))}
    wanted = content_tokens(question, texts, names)
    count = len(texts)
    # A Chinese token stands where its characters do; others are stems, for which the notes' tokens are needed.
    stems = [] if all(map(_CJK_RUN.match, wanted)) else [set(tokens(text)) for text in texts]
    weights = {}
    for token in wanted:
        found = sum(token in text for text in (texts if _CJK_RUN.match(token) else stems))
        weights[token] = math.log(1 + (count - found + 0.5) / (found + 0.5)) + 0.1
    total = math.fsum(weights.values())
    return {token: weight / total for token, weight in weights.items()} if total else {}


def content_tokens(question: str, texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the distinct tokens of a question that are no function words.

    Chinese has no spaces, so that most pairs of characters in a question lie across two words: 了什 and 么书 of
    "写了什么书". A pair that no note knows counts only within a word, as far as names and function words tell where one
    ends; characters that are then in no pair count by themselves: 写 and 书. `texts` are those of the notes, `names`
    those of the notes and of what they mention, all folded.
    """
    folded = fold(question)
    ends = {place for name in names for place in _ends(name, folded)}
    asks = {place for match in _ASKS_ZH.finditer(folded) for place in range(*match.span())}
    function = {match.start() for match in _FUNCTION_ZH.finditer(folded)}
    left_out = function_words()
    chinese: list[str] = []
    for run in _CJK_RUN.finditer(folded):
        pairs = {place: folded[place : place + 2] for place in range(run.start(), run.end() - 1)}
        kept = {
            place: pair
            for place, pair in pairs.items()
            if pair not in left_out
            and not {place, place + 1} & asks
            and (any(pair in text for text in texts) or not (place + 1 in ends or {place, place + 1} & function))
        }
        alone = set(range(*run.span())) - {each for place in kept for each in (place, place + 1)} - asks - function
        kept |= {place: folded[place] for place in alone if folded[place] not in left_out}
        chinese += [kept[place] for place in sorted(kept)]
    others = [token for token in tokens(question) if not _CJK_RUN.match(token) and token not in left_out]
    return list(dict.fromkeys([*others, *chinese]))


def _ends(name: str, text: str) -> set[int]:
    """Return where a name begins or ends in a text."""
    ends: set[int] = set()
    at = text.find(name) if len(name) >= SHORTEST_NAME and _CJK_RUN.search(name) else -1
    while at >= 0:
        ends |= {at, at + len(name)}
        at = text.find(name, at + 1)
    return ends
