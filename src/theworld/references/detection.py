"""Find the referring expressions of a query: keywords, time words, corrections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import cache
from itertools import islice
from typing import get_args

from theworld.references.config import ReferenceResolverConfig
from theworld.references.history import CLEAR_OVERLAP, overlap, text_of, topic_tokens
from theworld.references.phrases import (
    LANGUAGES,
    MOST_OCCURRENCES,
    Detected,
    Kind,
    PhraseTable,
    Span,
    added_mappings,
    keep_genuine,
    load_table,
    longest_apart,
)
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text.calendar_units import Interval, midnight
from theworld.text.quantities import either
from theworld.text.time_ranges import find_time_ranges


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment in a zone; a naive one is taken to be in it already."""
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)


def said_within(history: Sequence[Message], interval: Interval, zone: tzinfo) -> list[int]:
    """Return the indexes of the messages said within an interval, ascending; those without a time never are."""
    start, end = interval
    return [i for i, m in enumerate(history) if m.timestamp is not None and start <= in_zone(m.timestamp, zone) < end]


def find_time_words(folded: str, now: datetime) -> list[Detected]:
    """Return the time words of a folded text, left to right, none overlapping.

    `now` must have a time zone; calendar words are taken in it. Impossible dates and open periods are passed over.
    """
    found = []
    for period in find_time_ranges(folded, now):
        if period.start is not None and period.end is not None:
            lately, today = period.start >= now - timedelta(hours=1), period.end > midnight(now)
            earlier = ReferenceScope.CURRENT_SESSION if today else ReferenceScope.LAST_5_10_TURNS
            scope = ReferenceScope.LAST_1_3_TURNS if lately else earlier
            span = Span(*period.place, folded[slice(*period.place)])
            found.append(Detected(span, "time", ReferenceType.TEMPORAL, scope, (period.start, period.end)))
    return found


_SPOKEN_OF = re.compile(
    "说|聊|谈|讨论|提|问|讲|建议|推荐|决定|定的|商量|告诉|答|发|记得|那个|那次"
    r"|\b(?:said|say|talk|talked|talking|discuss|discussed|mention|mentioned|ask|asked|suggest|suggested|recommended"
    r"|decide|decided|tell|told|chat|chatted|agree|agreed|answer|answered|spoke|went over|covered|conversation"
    r"|you gave)\b"
)


class KeywordTables:
    """The keywords of both languages, compiled once."""

    def __init__(self, config: ReferenceResolverConfig) -> None:
        self._mappings = {**config.reference_mappings_en, **config.reference_mappings_cn}
        self._table = PhraseTable(self._mappings)
        added = [item for code in LANGUAGES for item in added_mappings(code).items()]
        self._added = {keyword for keyword, mapping in added if self._mappings.get(keyword) == mapping}

    def find(self, folded: str) -> list[Detected]:
        """Return the keywords of a folded text: the specification's before others, the longest first."""
        spans, found = keep_genuine(self._table.find(folded), folded), []
        stated = longest_apart(span for span in spans if span.phrase not in self._added)
        for span in [*stated, *longest_apart(spans, beside=stated)]:
            mapping = self._mappings[span.phrase]
            kind, scope = ReferenceType(mapping["type"]), ReferenceScope(mapping["scope"])
            found.append(Detected(span, "keyword", kind, scope, added=span.phrase in self._added))
        return found


@cache
def _corrections() -> tuple[PhraseTable, re.Pattern[str]]:
    """Return the phrases that reject an answer, and the pattern of a clause that holds nothing but a weaker one."""
    table = load_table("language")
    strong = PhraseTable(phrase for code in LANGUAGES for phrase in table["corrections"][code])
    english, chinese = (either(table["weak_corrections"][code]) for code in ("en", "cn"))
    around = either(load_table("chinese")["around_corrections"])
    clause = rf"(?:{around})*?(?P<cn>{chinese})(?:{around}|{chinese})*|(?P<en>{english})"
    return strong, re.compile(rf"(?:^|[，。,.!！；;])\s*(?:{clause})\s*(?=[，。,.!！？?；;]|$)")


def find_corrections(folded: str) -> list[Detected]:
    """Return the expressions that reject the last answer; a weak one only where its clause holds nothing else."""
    strong, clause = _corrections()
    matches = islice(clause.finditer(folded), MOST_OCCURRENCES)
    weak = [Span(*match.span(name), match[name]) for match in matches if (name := match.lastgroup)]
    spans = longest_apart(keep_genuine([*strong.find(folded), *weak], folded))
    return [Detected(s, "correction", ReferenceType.CORRECTION, ReferenceScope.LAST_1_3_TURNS) for s in spans]


def find_times(folded: str, now: datetime, history: Sequence[Message], zone: tzinfo) -> list[Detected]:
    """Return the time words of a query that mean the conversation: one that speaks of it, or of what was said then.

    Without a verb of speaking ("the plan from last Tuesday") something must have been said at that time which shares
    the query's topic, or the query has none.
    """
    found, spoken = [], _SPOKEN_OF.search(folded) is not None
    for word in find_time_words(folded, now):
        topic = topic_tokens(folded[: word.span.start] + " " + folded[word.span.end :])
        said = [] if spoken or word.interval is None else said_within(history, word.interval, zone)
        if spoken or (said and (not topic or max(overlap(topic, text_of(history[i])) for i in said) >= CLEAR_OVERLAP)):
            found.append(word)
    return found


def order_references(found: Iterable[Detected]) -> list[Detected]:
    """Return non-overlapping references, the primary one first: by kind, then the longest, then the leftmost.

    Keywords and time words count alike, but a keyword of the specification goes before one that it does not have.
    """

    def rank(item: Detected) -> tuple[int, int, int]:
        return get_args(Kind).index("keyword" if item.kind == "time" else item.kind), -item.span.length, item.span.start

    kept: list[Detected] = []
    for item in sorted(found, key=rank):
        if all(item.span.end <= k.span.start or k.span.end <= item.span.start for k in kept):
            kept.append(item)
    known = next((item for item in kept if item.kind == "keyword" and not item.added), None)
    return [known, *(item for item in kept if item is not known)] if known and kept[0].added else kept


def named_topic(query: str, item: Detected, others: Iterable[Detected]) -> str:
    """Return the words that go with a reference: those up to the next one, else those since the one before."""
    edges = sorted((o.span.start, o.span.end) for o in others if o.span != item.span)
    after = min((start for start, _ in edges if start >= item.span.end), default=len(query))
    before = max((end for _, end in edges if end <= item.span.start), default=0)
    following = query[item.span.end : after].strip()
    return following if topic_tokens(following) else query[before : item.span.start].strip()
