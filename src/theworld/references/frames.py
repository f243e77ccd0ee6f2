"""The forms in which a turn takes up what was said before.

A change of topic ("换个话题，…") drops the frame of the question before; a return ("back to X, …") takes up that of X.
A correction ("I meant X, not Y", "不是Y，我问的是X") keeps it and puts X in the place of Y, or of its like: a year of a
year, a name of a name. Where nothing is alike the filler stands before its frame in brackets. An ordinal ("the second
one") chooses an item of a list.
"""

from __future__ import annotations

import re
from functools import lru_cache

from theworld.references.config import ASKING, pattern_of
from theworld.text.sentences import in_frame
from theworld.text.tokens import CJK_RANGES, fold_in_place, has_ideographs

LONGEST_FILLER = 60
LONGEST_CONTEXT = 200  # characters added at most
CLOSING = " \t\n?？!！.。"
_GAP = r"[\s,.!，。！、:：—-]*"
_ANNOUNCED = rf"\W*(?:«frames.before_changes»{_GAP})*«frames.topic_changes»"
_TOPIC_CHANGE = (  # in Chinese a blank does for a comma
    rf"{_ANNOUNCED}[吧啦呀了]?(?:\s*[:,，：.。;；!！—-]+\s*|(?<=[{CJK_RANGES}])\s+|$)(?:{_ANNOUNCED}|{_GAP})*"
)
RETURN = (
    rf"\W*(?:«frames.before_changes»{_GAP})*«frames.topic_returns»"
    rf"\s*(?P<topic>[^,，.。:：;；!！?？—]{{1,40}})(?:[,，.。:：;；!！?？—-]+\s*|$)"
)  # The head by which a text goes back to a topic: "back to the tags, can I…"
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
        rf"(?:«frames.instead»|(?:it|that|this|mine)(?:['’]s|\s+is|\s+was)\s)?\s*{_VALUE}[,，]\s*(?:{_HEAD}|{_REJECTED})",
    )
)  # The forms of a correction: `value` is given, `rejected` not meant, `head` says so

MEASURE = "(?:个|家|本|部|位|种|座|款|条|首|篇|所|只|台|类|项|场|次|件|门|片|间|张|层)"
FINITE = "is|are|was|were|has|have|had|does|do|did|can|could|will|would|should|must|may|might"
_COUNTED_BY = rf"(?:(?!次|场){MEASURE}|[步点])"
ORDINAL = re.compile(
    r"\b(?:the|that)\s+(?P<en>first|second|third|fourth|fifth|last|latter|former|[1-9](?=st|nd|rd|th))(?:st|nd|rd|th)?\b"
    r"(?:\s+(?P<many>two|three|four|five|[2-5])\b)?"
    rf"(?:(?=\s+(?:{FINITE}|means?|still|also|really)\b)|\s+of\s+(?:those|these|them)\b"
    r"|\s+(?:one|item|option|step|point|number|phase|way|kind|case|(?P<noun>[a-z][\w-]*))\b"
    r"(?! of\b)|(?=\W*$|,))"
    r"|\b(?:step|option|item|point)\s+(?P<number>[1-9])(?![\w.]|\s+of\b)"
    rf"|第(?P<cn>[一二三四五1-9]){_COUNTED_BY}(?!月|年|人|问题[:：,，])|(?P<end>最后|[前后])"
    rf"(?:(?:一|那|(?P<more>[两二三四五2-5])){_COUNTED_BY}(?!月|星期|小时|问题)|(?<=[前后])者)"
)  # An item by its place, or several


@lru_cache(maxsize=4096)
def topic_change(text: str) -> int | None:
    """Return where the words after an announced change of topic begin; None where a text announces none."""
    match = pattern_of(_TOPIC_CHANGE).match(fold_in_place(text[:200]))
    return match.end() if match else None


def with_context(query: str, *added: str) -> str | None:
    """Return the query with texts in brackets before its closing mark; None where there is nothing to add.

    Of a question in its context that and what it goes back to are kept: what lies between would outweigh what is asked.
    """
    chinese, parts = has_ideographs(query), list[str]()
    for text in filter(None, added):
        own, context = in_frame(" ".join(text.split()))
        for part in (own.rstrip(CLOSING), root_of(context)):
            plain = " ".join(part.translate(dict.fromkeys(map(ord, "()（）"), " ")).split())
            if plain and not any(plain in other for other in parts):
                parts.append(plain)
    flat = ("；" if chinese else "; ").join(parts)[:LONGEST_CONTEXT].strip(CLOSING)
    end = len(query.rstrip(CLOSING))
    return query[:end] + (f"（{flat}）" if chinese else f" ({flat})") + query[end:] if flat else None


def root_of(context: str) -> str:
    """Return the question that a context goes back to, its last: "A; Q2; Q1" -> "Q1"."""
    return context.replace("；", "; ").split("; ")[-1]
