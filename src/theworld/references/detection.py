"""Find the referring expressions of a query: keywords, time words, corrections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import cache, lru_cache
from itertools import islice
from typing import get_args

from theworld.references.config import LANGUAGES, ReferenceResolverConfig, added_mappings, load_table, pattern_of
from theworld.references.context import Detected, Kind, Span
from theworld.references.history import in_zone, said_within, text_of
from theworld.references.topics import CLEAR_OVERLAP, chat_question, overlap, topic_tokens
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text.calendar import midnight
from theworld.text.sentences import apart
from theworld.text.time_ranges import find_time_ranges
from theworld.text.tokens import CJK_RANGES, fold_in_place, has_ideographs

MOST_OCCURRENCES = 32  # occurrences of one phrase that are looked at: what repeats it more often is no question
_WEAK_CORRECTION = (
    r"(?:^|[，。,.!！；;])\s*«chinese.around_corrections»*?(?P<weak>«language.weak_corrections»)"
    r"(?:«chinese.around_corrections»|«language.weak_corrections»)*\s*(?=[，。,.!！？?；;]|$)"
)  # A clause that rejects an answer and holds nothing else
_LETTER = rf"[^\W{CJK_RANGES}]"


def longest_first(span: Span) -> tuple[int, int, str]:
    """Return the key that sorts spans by length, then from left to right."""
    return span.start - span.end, span.start, span.phrase


@lru_cache(maxsize=4096)
def phrase_pattern(phrase: str) -> tuple[str, re.Pattern[str]]:
    """Return a folded phrase's first word, and its pattern: any space between words, no letter beside a Latin edge."""
    folded = fold_in_place(phrase).strip()
    words = folded.split()
    before, after = (edge.isalnum() and not has_ideographs(edge) for edge in (folded[0], folded[-1]))
    body = r"\s+".join(map(re.escape, words))
    return words[0], re.compile(f"(?<!{_LETTER})" * before + body + f"(?!{_LETTER})" * after)


def find_phrases(phrases: Iterable[str], folded: str) -> list[Span]:
    """Return the first MOST_OCCURRENCES of every phrase in a folded text; every character counts literally."""
    found: list[Span] = []
    for phrase in phrases:
        head, pattern = phrase_pattern(phrase)
        if head in folded:
            found += [Span(*match.span(), phrase) for match in islice(pattern.finditer(folded), MOST_OCCURRENCES)]
    return found


@cache
def false_friends() -> tuple[str, ...]:
    """Return all phrases in which a keyword does not refer, placeholders filled in."""
    table = load_table("false_friends")
    lines: list[str] = [line for code in LANGUAGES for line in table[code]]
    for name in table.keys() - set(LANGUAGES):
        place = f"{{{name}}}"
        lines = [line.replace(place, word) for line in lines for word in (table[name] if place in line else [""])]
    return tuple(lines)


def _genuine(spans: Sequence[Span], folded: str) -> list[Span]:
    """Drop the spans that lie within a longer false friend."""
    friends = [(friend.start, friend.end) for friend in find_phrases(false_friends(), folded)] if spans else []
    return [s for s in spans if not any(a <= s.start and s.end <= b and (a, b) != s[:2] for a, b in friends)]


def find_time_words(folded: str, now: datetime) -> list[Detected]:
    """Return the time words of a folded text, taken in the zone of `now`, but for impossible dates and open periods."""
    found = []
    for period in find_time_ranges(folded, now):
        if period.start is not None and period.end is not None:
            lately, today = period.start >= now - timedelta(hours=1), period.end > midnight(now)
            earlier = ReferenceScope.CURRENT_SESSION if today else ReferenceScope.LAST_5_10_TURNS
            scope = ReferenceScope.LAST_1_3_TURNS if lately else earlier
            span = Span(*period.place, folded[slice(*period.place)])
            found.append(Detected(span, "time", ReferenceType.TEMPORAL, scope, (period.start, period.end)))
    return found


def find_references(
    folded: str, config: ReferenceResolverConfig, now: datetime, history: Sequence[Message], zone: tzinfo
) -> list[Detected]:
    """Return the keywords and corrections of a folded query, its time words and questions that mean the conversation.

    Of the keywords of both tables the specification's come before others, then the longest. A weak correction counts
    only where its clause holds nothing else. Without a verb of speaking something must have been said at that time
    which shares the query's topic, if it has one.
    """
    mappings = config.reference_mappings_en | config.reference_mappings_cn
    more = added_mappings("en") | added_mappings("cn")
    keywords = []
    for span in _genuine(find_phrases(mappings, folded), folded):
        mapping = mappings[span.phrase]
        kind, scope = ReferenceType(mapping["type"]), ReferenceScope(mapping["scope"])
        keywords.append(Detected(span, "keyword", kind, scope, added=mapping == more.get(span.phrase)))
    keywords.sort(key=lambda item: (item.added, longest_first(item.span)))
    found = apart(keywords, lambda item: item.span[:2])
    strong = [phrase for code in LANGUAGES for phrase in load_table("language")["corrections"][code]]
    matches = islice(pattern_of(_WEAK_CORRECTION).finditer(folded), MOST_OCCURRENCES)
    weak = [Span(*match.span("weak"), match["weak"]) for match in matches]
    for span in _genuine([*find_phrases(strong, folded), *weak], folded):
        found.append(Detected(span, "correction", ReferenceType.CORRECTION, ReferenceScope.LAST_1_3_TURNS))
    spoken = pattern_of("«language.spoken_of»").search(folded) is not None
    for word in find_time_words(folded, in_zone(now, zone)):
        topic = topic_tokens(folded[: word.span.start] + " " + folded[word.span.end :])
        said = [] if spoken or word.interval is None else said_within(history, word.interval, zone)
        if spoken or (said and (not topic or max(overlap(topic, text_of(history[i])) for i in said) >= CLEAR_OVERLAP)):
            found.append(word)
    if history and (asked := chat_question(folded)):
        span = Span(*asked.span(), asked[0])
        found.append(Detected(span, "history", ReferenceType.REFERENTIAL, ReferenceScope.CURRENT_SESSION))
    return found


def order_references(found: Iterable[Detected]) -> list[Detected]:
    """Return non-overlapping references, the primary first: by kind (time words are keywords), table, length, place."""

    def rank(item: Detected) -> tuple[int, bool, int, int]:
        return get_args(Kind).index(item.kind.replace("time", "keyword")), item.added, *longest_first(item.span)[:2]

    return apart(sorted(found, key=rank), lambda item: item.span[:2])


def named_topic(query: str, item: Detected, others: Iterable[Detected]) -> str:
    """Return the words that go with a reference: those up to the next one, else those since the one before."""
    spans = [other.span for other in others]
    after = min((span.start for span in spans if span.start >= item.span.end), default=len(query))
    before = max((span.end for span in spans if span.end <= item.span.start), default=0)
    following = query[item.span.end : after].strip()
    return following if topic_tokens(following) else query[before : item.span.start].strip()
