"""What a turn does with the frame of the question before: a change of topic ("换个话题，…") drops it.

A correction ("I meant X, not Y", "不是Y，我问的是X") keeps it and puts X in the place of Y, or of its like: a year of a
year, a name of a name. Where nothing is alike the filler stands before its frame in brackets.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, lru_cache

from theworld.references.chinese_topics import ASKING, TIME, topic_of
from theworld.references.config import any_of
from theworld.references.context import FINITE, ORDINAL, FollowUp, Standalone, in_frame, with_context
from theworld.references.history import names_in, sure_names
from theworld.state import ReferenceType
from theworld.text.dates import MONTH
from theworld.text.folding import fold_in_place
from theworld.text.language import has_ideographs
from theworld.text.tokens import token_set, tokens

CORRECTED = "the question before, with what was meant"
LONGEST_FILLER = 60
PREPOSITION = "(?:in|on|for|at|of|with|to|from|by|over|under|without)"
_BEFORE_NOUN = rf"\b(?:{FINITE}|{PREPOSITION}|the|an?|my|your|our)\s+"
_GAP = r"[\s,.!，。！、:：—-]*"
_OPENING = r"(?:[\w'’]{1,10}\s+){0,3}[\w'’]{1,10}\s*[,，.。!！:：…—-]+\s*"
"""The few words that may open a correction, whatever they are: "Hang on, I meant Lisbon.", "哎呀，我是说年假"."""
_NUMBER = r"(?<!\d)\d+(?:[.,]\d+)*(?![A-Za-z\d]|[.,]\d)"
_LEADING = re.compile(rf"(?i)^(?:({PREPOSITION})\s+)?((?:the|an?)\s+)?(.*)")  # preposition, article, filler
NOUN = r"(?:(?:the|an?)\s+(?:[\w.&'’-]+\s+)?)?[\w.&'’-]+"
"""One noun, with an article also one that has a word before it."""
_PHRASE = re.compile(rf"\b({PREPOSITION})\s+({NOUN})(?=\s+{PREPOSITION}\b|\W*$)", re.IGNORECASE)
REFILLED = "the question before, with one thing changed"
_LIKES = (
    re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})(?:s\b)?"),
    re.compile(
        rf"(?i)\b(?:(?:this|next|last)\s+)?(?:{MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|yesterday|week|month|year"
        r"|spring|summer|autumn|fall|winter)\b"
    ),
    TIME,
    re.compile(_NUMBER),
    re.compile(r"(?<![\w./-])[A-Za-z\d./-]*[-_./](?:[\w./-]*[A-Za-z\d])"),
)  # Years, days and seasons, numbers, terms that are written like code: a value takes the place of its like
_LATIN_WORD = re.compile(r"[a-z0-9]+(?:[.+#'’_-]+[a-z0-9]+)*[+#]*")
_NEW = re.compile(rf"(?i)\b(?!{FINITE})\w+\s+(an?\s+(?:[\w.&'’-]+\s+)?[\w.&'’-]+)(?=\s+{PREPOSITION}\b|\W*$)")
"""A thing of some kind as an object, to the end of its phrase: "renew a passport", "rent a flat for two"."""
_NUMBERED = re.compile(rf"(?P<what>.*?[^\W\d])[ \t]*{_NUMBER}")
"""A number with what it counts or names: "exit code 143", "E501"."""


@lru_cache(maxsize=4096)
def topic_change(text: str) -> int | None:
    """Return where the words after an announced change of topic begin; None where a text announces none."""
    before, change = (any_of("frames", row).pattern for row in ("before_changes", "topic_changes"))
    head = rf"\W*(?:{before}{_GAP})*{change}"
    match = re.match(rf"{head}[吧啦呀了]?(?:\s*[:,，：.。;；!！—-]+\s*|$)(?:{head}|{_GAP})*", fold_in_place(text[:200]))
    return match.end() if match else None


@cache
def _corrections() -> tuple[re.Pattern[str], ...]:
    """Return the forms of a correction: `value` is given, `rejected` not meant, `head` says so."""
    rows = ("before_corrected", "corrected", "rejecting", "instead")
    first, said, reject, instead = (any_of("frames", row).pattern for row in rows)
    before = rf"\W*(?:{first}{_GAP})*"
    opening = rf"(?!.*(?:{ASKING.pattern})){_OPENING}(?=[^,，]*(?:[,，]\s*{reject}[^,，]*)?$)"
    head = rf"(?P<head>{said})(?:\s+to\s+{any_of('language', 'spoken_of').pattern}(?:\s+about)?)?"
    value = rf"(?P<value>(?:[^.?!。？！]|\.(?=\w)){{1,{LONGEST_FILLER}}}?)"
    rejected = rf"{reject}\s*(?P<rejected>(?:[^,，.?!。？！]|\.(?=\w)){{1,{LONGEST_FILLER}}}?)"
    forms = (
        rf"{rejected}(?:[,，;；.。—-]+\s*|\s+(?=but\b)|(?=而是))(?:{head}|{instead})?[\s:：]*{value}",
        rf"(?:{opening})?{head}[\s:：]*{value}(?:(?:[,，]\s*|\s+){rejected})?",
        rf"{instead}?\s*{value}[,，]\s*(?:{head}|{rejected})",
    )
    return tuple(re.compile(rf"{before}{form}[.?!。？！\s]*") for form in forms)


def corrected(follow_up: FollowUp) -> Standalone | None:
    """ "No, I meant X, not Y": the question before with X in the place of Y, or of its like; None for others."""
    if (before := follow_up.before) is None:
        return None
    folded = fold_in_place(follow_up.query)
    forms = _corrections() if len(folded) < LONGEST_FILLER * 3 else ()
    for match in filter(None, (form.fullmatch(folded) for form in forms)):
        value, rejected = (follow_up.query[slice(*match.span(name))].strip() for name in ("value", "rejected"))
        query = before.text
        if ORDINAL.fullmatch(fold_in_place(value)):
            query = follow_up.alone(value, follow_up.history)
        elif ASKING.search(value):  # a question of its own
            topic = topic_of(in_frame(query)[0]) if rejected else ""
            query = f"{topic}{value}" if topic and rejected not in topic else follow_up.alone(value, follow_up.history)
        [(*_, old)], [(*_, new)] = _LEADING.findall(rejected), _LEADING.findall(value)
        for start, end in _places(old, query)[::-1]:
            query = query[:start] + new + query[end:]
        alone = follow_up.changed(query, follow_up.whole, "continuation", CORRECTED, before)
        if query == before.text:
            if not match["head"]:  # nothing says that something was meant
                continue
            framed = with_context(value, follow_up.filled)
            unsure = replace(follow_up.changed(framed, follow_up.whole, "continuation", CORRECTED, before), sure=False)
            alone = follow_up.refilled(value) or unsure
        kind = ReferenceType.CORRECTION
        references = (found._replace(kind="correction", reference_type=kind) for found in alone.references)
        return replace(alone, references=tuple(references), reason=CORRECTED)
    return None


def _places(phrase: str, text: str) -> list[tuple[int, int]]:
    """Return where a text holds a phrase, left to right; Latin words in any of their forms."""
    folded = fold_in_place(text)
    if has_ideographs(phrase) or not phrase:
        return [match.span() for match in re.finditer(re.escape(fold_in_place(phrase)), folded) if phrase]
    words = [match.span() for match in _LATIN_WORD.finditer(folded)]
    pairs = zip(words, words[len(phrase.split()) - 1 :], strict=False)
    return [(start, end) for (start, _), (_, end) in pairs if tokens(folded[start:end]) == tokens(phrase)]


def refill(follow_up: FollowUp, value: str, *, named: bool = True) -> Standalone | None:
    """Return the last question, or one it goes back to, with a value in the place of its like; None without one."""
    if follow_up.before is None:
        return None
    own, root = follow_up.frame
    text = follow_up.with_listed(value, own) or refilled(value, own, named=named)
    query = ((root and with_context(text, root)) or text) if text else refilled(value, root, named=False)
    return follow_up.changed(query, follow_up.whole, "continuation", REFILLED, follow_up.before) if query else None


def refilled(value: str, frame: str, *, named: bool) -> str | None:
    """Return a question with a value in the place of its like, or where that may be `named`, of the last name."""
    [(preposition, article, filler)] = _LEADING.findall(value)
    folded = fold_in_place(filler)
    kind = next((pattern for pattern in _LIKES if pattern.fullmatch(folded)), None)
    if kind is None and (numbered := _NUMBERED.fullmatch(folded)):
        kind = re.compile(rf"(?<![A-Za-z\d]){re.escape(numbered['what'])}\s*{_NUMBER}", re.IGNORECASE)
    places = [match.span() for match in kind.finditer(fold_in_place(frame))] if kind else []
    if named and not places and names_in(filler):
        places = [(name.start, name.start + len(name.text)) for name in sure_names(frame)]
    if not (places or kind or preposition):
        places = _of_a_kind(filler, frame)
        if not places and article[:1] in {"a", "A"}:
            places, filler = [match.span(1) for match in _NEW.finditer(frame)], article.lower() + filler
            places *= len(places) == 1
    if preposition and kind is None and not token_set(filler) & token_set(frame):  # for one with its preposition
        phrases = {match.span(2): match[1].lower() for match in _PHRASE.finditer(frame)}
        same = [place for place in phrases if phrases[place] == preposition.lower()]
        filler = article * bool(same) + filler
        places = same
    return frame[: places[-1][0]] + filler + frame[places[-1][1] :] if places else None


def _of_a_kind(filler: str, frame: str) -> list[tuple[int, int]]:
    """Return where a question has another thing of the same last word: "sick leave" for "parental leave"."""
    if " " not in filler:
        return []
    last = re.escape(filler.rsplit(maxsplit=1)[-1])
    alike = rf"(?i){_BEFORE_NOUN}(?P<noun>(?:(?!{_BEFORE_NOUN}|(?:I|you|we|they|he|she|it)\b)[\w'’-]+\s+)?{last})\b"
    return [match.span("noun") for match in re.finditer(alike, frame)]
