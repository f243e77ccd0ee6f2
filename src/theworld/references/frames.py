"""What a turn does with the frame of the question before: a change of topic ("换个话题，…") drops it.

A correction ("I meant X, not Y", "不是Y，我问的是X") keeps it and puts X in the place of Y, or of its like: a year of a
year, a name of a name. Where nothing is alike the filler stands before its frame in brackets.
"""

from __future__ import annotations

import re
from functools import lru_cache

from theworld.references.chinese_topics import ASKING, TIME
from theworld.references.config import pattern_of
from theworld.references.history import names_in, sure_names
from theworld.text.dates import MONTH
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES, has_ideographs
from theworld.text.tokens import token_set

LONGEST_FILLER = 60
LONGEST_CONTEXT = 200  # characters added at most
CLOSING = " \t\n?？!！.。"
_OWN_CONTEXT = re.compile(r"\s*(?:\(([^()]*)\)|（([^（）]*)）)([\s?？!！.。]*)$")
FINITE = "is|are|was|were|has|have|had|does|do|did|can|could|will|would|should|must|may|might"
PREPOSITION = "(?:in|on|for|at|of|with|to|from|by|over|under|without)"
_GAP = r"[\s,.!，。！、:：—-]*"
_ANNOUNCED = rf"\W*(?:«frames.before_changes»{_GAP})*«frames.topic_changes»"
_TOPIC_CHANGE = (  # in Chinese a blank does for a comma
    rf"{_ANNOUNCED}[吧啦呀了]?(?:\s*[:,，：.。;；!！—-]+\s*|(?<=[{CJK_RANGES}])\s+|$)(?:{_ANNOUNCED}|{_GAP})*"
)
_OPENING = r"(?:[\w'’]{1,10}\s+){0,3}[\w'’]{1,10}\s*[,，.。!！:：…—-]+\s*"
"""The few words that may open a correction, whatever they are: "Hang on, I meant Lisbon.", "哎呀，我是说年假"."""
_REJECTED = rf"«frames.rejecting»\s*(?P<rejected>(?:[^,，.?!。？！]|\.(?=\w)){{1,{LONGEST_FILLER}}}?)"
_HEAD = r"(?P<head>«frames.corrected»)(?:\s+to\s+«language.spoken_of»(?:\s+about)?)?"
_VALUE = rf"(?P<value>(?=\S)(?:[^.?!。？！]|\.(?=\w)){{1,{LONGEST_FILLER}}}?)"
_OPENED = rf"(?!.*(?:{ASKING.pattern})){_OPENING}(?=[^,，]*(?:[,，]\s*«frames.rejecting»[^,，]*)?$)"
CORRECTIONS = tuple(
    rf"\W*(?:«frames.before_corrected»{_GAP})*{form}[.?!。？！\s]*"
    for form in (
        rf"{_REJECTED}(?:[,，;；.。—-]+\s*|\s+(?=but\b)|(?=而是))(?:{_HEAD}|«frames.instead»)?[\s:：]*{_VALUE}",
        rf"(?:{_OPENED})?{_HEAD}[\s:：]*{_VALUE}(?:(?:[,，]\s*|\s+){_REJECTED})?",
        rf"«frames.instead»?\s*{_VALUE}[,，]\s*(?:{_HEAD}|{_REJECTED})",
    )
)  # The forms of a correction: `value` is given, `rejected` not meant, `head` says so
_NUMBER = r"(?<!\d)\d+(?:[.,]\d+)*(?![A-Za-z\d]|[.,]\d)"
LEADING = re.compile(rf"(?i)^(?:({PREPOSITION})\s+)?((?:the|an?)\s+)?(.*)")  # preposition, article, filler
NOUN = r"(?:(?:the|an?)\s+(?:[\w.&'’-]+\s+)?)?[\w.&'’-]+"
"""One noun, with an article also one that has a word before it."""
_PHRASE = re.compile(rf"\b({PREPOSITION})\s+({NOUN})(?=\s+{PREPOSITION}\b|\W*$)", re.IGNORECASE)
_LIKES = (
    re.compile(r"(?<![A-Za-z\d])(?:1[0-9]{3}|20[0-9]{2})(?:s\b|(?!\d))"),
    re.compile(
        rf"(?i)\b(?:(?:this|next|last)\s+)?(?:{MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|yesterday|week|month|year"
        r"|spring|summer|autumn|fall|winter)\b"
    ),
    TIME,
    re.compile(_NUMBER),
    re.compile(r"(?<![\w./-])[A-Za-z\d./-]*[-_./](?:[\w./-]*[A-Za-z\d])"),
)  # Years, days and seasons, numbers, terms that are written like code: a value takes the place of its like


@lru_cache(maxsize=4096)
def topic_change(text: str) -> int | None:
    """Return where the words after an announced change of topic begin; None where a text announces none."""
    match = pattern_of(_TOPIC_CHANGE).match(fold_in_place(text[:200]))
    return match.end() if match else None


def refilled(value: str, frame: str, *, named: bool) -> str | None:
    """Return a question with a value in the place of its like, or where that may be `named`, of the last name."""
    [(preposition, article, filler)] = LEADING.findall(value)
    kind = _kind_of(fold_in_place(filler))
    places = [match.span() for match in kind.finditer(fold_in_place(frame))] if kind else []
    if named and not places and names_in(filler):
        places = [(name.start, name.start + len(name.text)) for name in sure_names(frame)]
    if preposition and kind is None and not token_set(filler) & token_set(frame):  # for one with its preposition
        phrases = {match.span(2): match[1].lower() for match in _PHRASE.finditer(frame)}
        same = [place for place in phrases if phrases[place] == preposition.lower()]
        filler = article * bool(same) + filler
        places = same
    if not places:
        return None
    start, end = places[-1]
    return f"{frame[:start]}{filler}{frame[end:]}"


def _kind_of(filler: str) -> re.Pattern[str] | None:
    """Return what finds the likes of a year, a month or a number; None for other fillers."""
    return next((pattern for pattern in _LIKES if pattern.fullmatch(filler)), None)


def with_context(query: str, *added: str) -> str | None:
    """Return the query with texts in brackets before its closing mark; None where there is nothing to add.

    Of a question in its context that and what it goes back to are kept: what lies between would outweigh what is asked.
    """
    chinese, parts = has_ideographs(query), []
    for text in filter(None, added):
        own, context = in_frame(" ".join(text.split()))
        root = root_of(context)
        part = own.rstrip(CLOSING) + (("；" if has_ideographs(own) else "; ") + root) * bool(root)
        parts.append(" ".join(part.translate(dict.fromkeys(map(ord, "()（）"), " ")).split()))
    flat = ("；" if chinese else "; ").join(parts)[:LONGEST_CONTEXT].strip(CLOSING)
    end = len(query.rstrip(CLOSING))
    return query[:end] + (f"（{flat}）" if chinese else f" ({flat})") + query[end:] if flat else None


def in_frame(text: str) -> tuple[str, str]:
    """Return "Q3?" and its own context "A; Q2; Q1" of "Q3 (A; Q2; Q1)?"."""
    match = _OWN_CONTEXT.search(text)
    return (text[: match.start()] + match[3], match[1] or match[2] or "") if match else (text, "")


def root_of(context: str) -> str:
    """Return the question that a context goes back to, its last: "A; Q2; Q1" -> "Q1"."""
    return context.replace("；", "; ").split("; ")[-1]
