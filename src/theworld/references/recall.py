"""Which messages a reference points at, scope by scope (specification 3.3), narrowed by the topic named with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import accumulate
from typing import Any, NamedTuple

from theworld.references.config import LanguageCode, ReferenceResolverConfig
from theworld.references.detection import said_within
from theworld.references.history import (
    CLEAR_OVERLAP,
    last_answer,
    last_turns,
    overlap,
    text_of,
    topic_tokens,
    transcript,
)
from theworld.references.stances import cached_stance, last_stance
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text.calendar_units import Interval

TOPIC_NEIGHBOURS = 2
"""Messages taken before and after a labelled one."""


class Found(NamedTuple):
    """The messages a reference points at, their text, and how they were chosen."""

    turns: list[int]
    content: str | None
    reason: str


def recall_turns(scope: ReferenceScope, config: ReferenceResolverConfig) -> int | None:
    """Return the number of turns a scope recalls, None for `custom`."""
    return {
        ReferenceScope.LAST_1_3_TURNS: config.last_few_turns,
        ReferenceScope.LAST_5_10_TURNS: config.recent_turns,
        ReferenceScope.CURRENT_SESSION: config.session_max_turns,
        ReferenceScope.LAST_SHARED_TOPIC: config.last_few_turns * 2,
        ReferenceScope.ASSISTANT_LAST_STANCE: config.recent_turns,
    }.get(scope)


@dataclass(frozen=True)
class Conversation:
    """What references are resolved against."""

    history: Sequence[Message]
    language: LanguageCode
    config: ReferenceResolverConfig
    zone: tzinfo
    stance_cache: Mapping[str, Any] | None = None

    def find(self, kind: ReferenceType, scope: ReferenceScope, topic: str, interval: Interval | None) -> Found:
        """Return what a reference of this type and scope points at; nothing where the history is empty."""
        if kind is ReferenceType.CORRECTION:
            return self._last_answer()
        if scope is ReferenceScope.ASSISTANT_LAST_STANCE:
            return self._stance(topic)
        if not self.history or scope is ReferenceScope.CUSTOM:
            return Found([], None, "custom scope recalls nothing by itself" if self.history else "no history")
        if interval and (said := said_within(self.history, interval, self.zone)):
            named = self._about(topic, said)
            reason = f"said from {interval[0]:%Y-%m-%d %H:%M} to {interval[1]:%Y-%m-%d %H:%M}"
            return self.show(named or said, reason + f", about {topic!r}" * bool(named))
        if scope is ReferenceScope.LAST_SHARED_TOPIC:
            return self._shared_topic(topic)
        return self._window(scope, topic, "no message carries that time; " if interval else "")

    def show(self, indexes: Sequence[int], reason: str) -> Found:
        """Return these messages as found."""
        kept = [index for index in sorted(set(indexes)) if text_of(self.history[index]).strip()]
        return Found(kept, transcript(self.history, kept, self.language), reason)

    def _about(self, topic: str, indexes: Sequence[int]) -> list[int]:
        """Return those of the messages whose turn is clearly about the topic; empty where it does not decide."""
        wanted, history = topic_tokens(topic), self.history
        scores = {i: overlap(wanted, text_of(history[i])) + overlap(wanted, history[i].topic or "") for i in indexes}
        begins = (i if message.role == "user" else 0 for i, message in enumerate(history))
        starts = list(accumulate(begins, max))
        kept = {starts[i] for i, score in scores.items() if score >= CLEAR_OVERLAP}
        return [i for i in indexes if starts[i] in kept]

    def _window(self, scope: ReferenceScope, topic: str, prefix: str) -> Found:
        count = recall_turns(scope, self.config) or self.config.last_few_turns
        window = last_turns(self.history, count)
        if named := self._about(topic, window):
            return self.show(named, f"{prefix}turns within the last {count} about {topic!r}")
        session = last_turns(self.history, self.config.session_max_turns)
        if window.start and (named := self._about(topic, session)):
            return self.show(named, f"{prefix}turns about {topic!r}, earlier than the last {count}")
        return self.show(window, f"{prefix}the last {count} turns")

    def _shared_topic(self, topic: str) -> Found:
        history = self.history
        if labels := {i: history[i].topic or "" for i in range(len(history) - 1, -1, -1) if history[i].topic}:
            wanted = topic_tokens(topic)
            at = next((i for i, label in labels.items() if topic_tokens(label) & wanted), next(iter(labels)))
            around = range(max(0, at - TOPIC_NEIGHBOURS), min(len(history), at + TOPIC_NEIGHBOURS + 1))
            return self.show(around, f"around the message labelled {history[at].topic!r}")
        if named := self._about(topic, last_turns(history, self.config.session_max_turns)):
            return self.show(named, f"no topic label; turns about {topic!r}")
        return self.show(last_turns(history, self.config.last_few_turns), "no topic label; the last turns")

    def _stance(self, topic: str) -> Found:
        if cached := cached_stance(self.stance_cache, topic, self.language):
            text, stance = cached
            said = [i for i, m in enumerate(self.history) if m.role == "assistant" and stance in text_of(m)]
            return Found(said[-1:], text, "the stance cache")
        if (index := last_stance(self.history, topic)) is not None:
            content = text_of(self.history[index])
            return Found([index], content, "the last message of the assistant that states a stance")
        if named := self._about(topic, last_turns(self.history, self.config.recent_turns)):
            return self.show(named, f"no stance found; turns about {topic!r}")
        return self._last_answer("no stance found; ")

    def _last_answer(self, prefix: str = "") -> Found:
        text, index = last_answer(self.history)
        found = Found([index], text, "the last answer") if text else Found([], None, "no answer in the history")
        return found._replace(reason=prefix + found.reason)
