"""Who did what to whom in English sentences: the parts of a sentence that do, and that have it done to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from theworld.nodes.answer_with_entity.clauses.verbs import deed_of, is_past

Span = tuple[int, int]

LONGEST_SENTENCE = 700
"""Characters; longer pieces are lists, in which every word may begin a name."""
NAME = (
    r"[A-ZÀ-ÖØ-Þ][\w'’\-]*(?:\.(?=\s[A-Z]))?"
    r"(?:(?:\s(?:de|da|di|del|della|van|von|der|den|of|the|bin|al|el|la|le|y)){0,2}[ \-]"
    r"(?:[A-ZÀ-ÖØ-Þ][\w'’\-]*|\d{1,3}\b)(?:\.(?=\s[A-Z]))?)*"
)
NAMES = rf"{NAME}(?:(?:,\s|,?\s(?:and|&)\s)(?:the\s)?{NAME})*"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ADVERBS = r"(?:(?:not|later|then|also|first|soon|finally|again|once|now|jointly|co|[a-z]+ly)\s+){0,2}"
_BE = re.compile(rf"\b(?:was|were|is|are|been|being|be|got)\s+{_ADVERBS}$", re.IGNORECASE)
_AUXILIARY = re.compile(rf"\b(?:(?:has|had|have|having|who|which|that)\s+)*{_ADVERBS}$", re.IGNORECASE)
_BY = re.compile(r"(?P<between>[^.;:()]{0,60}?)\bby\s")
_OBJECT = re.compile(r"\s+(?:the|an?|his|her|its|their|him|them|it|[A-ZÀ-ÖØ-Þ])")
_WHOM = re.compile(r"^(?P<patient>.*?),?\s(?:whom|which|that)\s(?P<agent>[^,]{1,60})$", re.DOTALL)
_WHO = re.compile(
    r",?\s(?:who|which|that)(?:\s+(?:was|were|is|are|has been|had been|had|has|have))?\s*$", re.IGNORECASE
)
_GOES_ON = re.compile(r"(?:\b(?:and|but|then|or)|,)\s*$", re.IGNORECASE)
_LAST_NAME = re.compile(rf"{NAME}$")
_FIRST_VERB = re.compile(r"[(;]|,?\s(?:was|were|is|are|had|has|who|which|[a-z]+ed)\s")
_CLAUSE = re.compile(
    r"[;:—]\s|,\s(?:and|but|while|whereas|so)\s|\b(?:while|when|where|after|before|because|although|since|until|if|that)\s",
    re.IGNORECASE,
)
_OBJECT_END = re.compile(
    r"[;:.(),—]|\s(?:in|at|on|by|for|from|with|to|into|during|after|before|while|when|where|who|whom|which|that|as|because|but|"
    r"and(?=\s+(?!the\b)[a-z]))\s",
)


@dataclass(frozen=True, slots=True)
class Deed:
    """A verb of a sentence and the parts around it, as offsets in the sentence."""

    start: int
    end: int
    agent: Span | None
    """What does it; None where the sentence does not say."""
    patient: Span | None
    """What it is done to."""


def deeds_in(sentence: str, wanted: str) -> Iterator[Deed]:
    """Yield where a sentence tells a deed (`verbs.deed_of`) with a finite or passive form."""
    for match in _WORD.finditer(sentence if len(sentence) <= LONGEST_SENTENCE else ""):
        word = match.group()
        if not word.islower() or word.endswith("ing") or deed_of(word) != wanted:
            continue
        found = _read(sentence, match.start(), match.end(), past=is_past(word))
        if found is not None:
            yield found


def tells(sentence: str, wanted: str) -> bool:
    """Tell whether a sentence has a deed in any form, -ing and nouns of the same stem too."""
    return any(deed_of(match.group()) == wanted for match in _WORD.finditer(sentence))


def _read(sentence: str, start: int, end: int, *, past: bool) -> Deed | None:
    before, after = sentence[:start], sentence[end:]
    be, by = _BE.search(before), _BY.match(after)
    if past and (be or (by and not _OBJECT.match(after))):
        agent = (end + by.end(), end + by.end() + _stop(after[by.end() :], names=True)) if by else None
        return Deed(start, end, agent, _subject(sentence, be.start() if be else start, reduced=be is None))
    if be or (not past and not sentence[start:end].endswith("s") and not _plural(before)):
        return None
    bare = _AUXILIARY.sub("", before) if not _WHO.search(before) else before
    whom = _WHOM.match(bare.rstrip())
    if whom:
        return Deed(start, end, whom.span("agent"), _subject(sentence, whom.end("patient"), reduced=True))
    return Deed(start, end, _subject(sentence, len(bare), reduced=False), (end, end + _stop(after)))


def _plural(before: str) -> bool:
    """Tell whether a verb without an ending may be the one of a plural subject or of "did"."""
    return bool(re.search(r"\b(?:they|we|who|[a-z]+s|did|do|does|to|will|would)\s+$", before))


def _stop(after: str, *, names: bool = False) -> int:
    """Return how far an object or agent goes; a list of names goes on over its commas."""
    begin = 0
    if names:
        lead = re.match(rf"(?:[a-z][\w’'\-]*,?\s){{0,5}}{NAMES}", after)
        begin = lead.end() if lead else 0
    end = _OBJECT_END.search(after, begin or 1)
    return end.start() if end else len(after.rstrip(" ."))


def _subject(sentence: str, end: int, *, reduced: bool) -> Span | None:
    """Return the subject that ends before an offset; `reduced`: what stands right before, as in "X, founded by Y"."""
    before = sentence[:end].rstrip()
    relative = _WHO.search(f"{before} ")
    if relative or reduced:
        stop = relative.start() if relative else len(before.rstrip(" ,("))
        name = _LAST_NAME.search(before[:stop])
        return name.span() if name else (_clause_start(before[:stop]), stop)
    if _GOES_ON.search(before):
        opening = _opening(sentence)
        first = _FIRST_VERB.search(sentence, opening, end)
        return opening, first.start() if first else end
    return _clause_start(before), len(before)


def _clause_start(before: str) -> int:
    last = 0
    for match in _CLAUSE.finditer(before):
        last = match.end()
    comma = before.rfind(", ")
    tail = before[comma + 2 :] if comma >= 0 else ""
    # "In 2011, Acme bought": the subject follows the comma; "A, B and C bought": the list goes over it.
    if comma >= last and not re.search(rf"{NAME}$", before[:comma]):
        last = comma + 2
    elif comma >= last and not re.search(r"\b(?:and|&)\b", tail):
        last = comma + 2 if tail else last
    return last


def _opening(sentence: str) -> int:
    """Return where a sentence's subject begins: behind "In 2011," or "On 9 May 1413 "."""
    match = re.match(r"(?:In|On|At|By|From|During|After|Since|Until|Before)\s[^,]{1,40},\s", sentence)
    return match.end() if match else 0
