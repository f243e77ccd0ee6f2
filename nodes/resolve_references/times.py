"""Time words ("前天", "last Tuesday") of a query that speaks of the conversation, and the messages said in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from theworld.nodes.resolve_references.matching import Span
from theworld.state import Message, ReferenceScope
from theworld.text.calendar_units import Interval, midnight
from theworld.text.time_ranges import find_time_ranges


class TimeWord(NamedTuple):
    """A time expression in a query and the interval it names."""

    span: Span
    interval: Interval
    scope: ReferenceScope


def find_time_words(folded: str, now: datetime) -> list[TimeWord]:
    """Return the time words of a folded text, left to right, none overlapping.

    `now` must have a time zone; calendar words are taken in it. Impossible dates and open periods are passed over.
    """
    found = []
    for period in find_time_ranges(folded, now):
        if period.start is not None and period.end is not None:
            interval, place = (period.start, period.end), period.place
            found.append(TimeWord(Span(*place, folded[slice(*place)]), interval, _scope_of(interval, now)))
    return found


def _scope_of(interval: Interval, now: datetime) -> ReferenceScope:
    if interval[0] >= now - timedelta(hours=1):
        return ReferenceScope.LAST_1_3_TURNS
    return ReferenceScope.CURRENT_SESSION if interval[1] > midnight(now) else ReferenceScope.LAST_5_10_TURNS


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment in a zone; a naive one is taken to be in it already."""
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)


def said_within(history: Sequence[Message], interval: Interval, zone: tzinfo) -> list[int]:
    """Return the indexes of the messages said within an interval, ascending; those without a time never are."""
    start, end = interval
    return [i for i, m in enumerate(history) if m.timestamp is not None and start <= in_zone(m.timestamp, zone) < end]
