"""Which messages a reference points at, scope by scope (specification 3.3), narrowed by the topic named with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, NamedTuple

from theworld.references.config import ReferenceResolverConfig
from theworld.references.detection import said_within
from theworld.references.history import about, last_turns, spoken, text_of, topic_tokens, transcript, turn_starts
from theworld.references.phrases import LanguageCode
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


@dataclass(frozen=True)
class Conversation:
    """What references are resolved against."""

    history: Sequence[Message]
    language: LanguageCode
    config: ReferenceResolverConfig
    zone: tzinfo
    stance_cache: Mapping[str, Any] | None = None

    def show(self, indexes: Sequence[int] | range, reason: str) -> Found:
        """Return these messages as found."""
        kept = spoken(self.history, indexes)
        return Found(kept, transcript(self.history, kept, self.language), reason)

    def about(self, topic: str, indexes: Sequence[int]) -> list[int]:
        """Return those of the messages whose turn is about the topic; empty where it does not decide."""
        starts = turn_starts(self.history)
        kept = {starts[i] for i in about(topic, self.history, indexes)}
        return [i for i in indexes if starts[i] in kept]


def recall_turns(scope: ReferenceScope, config: ReferenceResolverConfig) -> int | None:
    """Return the number of turns a scope recalls, None for `custom`."""
    return {
        ReferenceScope.LAST_1_3_TURNS: config.last_few_turns,
        ReferenceScope.LAST_5_10_TURNS: config.recent_turns,
        ReferenceScope.CURRENT_SESSION: config.session_max_turns,
        ReferenceScope.LAST_SHARED_TOPIC: config.last_few_turns * 2,
        ReferenceScope.ASSISTANT_LAST_STANCE: config.recent_turns,
    }.get(scope)


def find_turns(
    conversation: Conversation,
    kind: ReferenceType,
    scope: ReferenceScope,
    topic: str = "",
    interval: Interval | None = None,
) -> Found:
    """Return what a reference of this type and scope points at; nothing where the history is empty."""
    if kind is ReferenceType.CORRECTION:
        return _last_answer(conversation)
    if scope is ReferenceScope.ASSISTANT_LAST_STANCE:
        return _stance(conversation, topic)
    if not conversation.history or scope is ReferenceScope.CUSTOM:
        return Found([], None, "no history" if not conversation.history else "custom scope recalls nothing by itself")
    if interval is not None and (timed := _in_interval(conversation, interval, topic)):
        return timed
    if scope is ReferenceScope.LAST_SHARED_TOPIC:
        return _shared_topic(conversation, topic)
    return _window(conversation, scope, topic, "no message carries that time; " if interval else "")


def _window(conversation: Conversation, scope: ReferenceScope, topic: str, prefix: str = "") -> Found:
    count = recall_turns(scope, conversation.config) or conversation.config.last_few_turns
    window = last_turns(conversation.history, count)
    if named := conversation.about(topic, window):
        return conversation.show(named, f"{prefix}turns within the last {count} about {topic!r}")
    session = last_turns(conversation.history, conversation.config.session_max_turns)
    if window.start and (named := conversation.about(topic, session)):
        return conversation.show(named, f"{prefix}turns about {topic!r}, earlier than the last {count}")
    return conversation.show(window, f"{prefix}the last {count} turns")


def _shared_topic(conversation: Conversation, topic: str) -> Found:
    history, config = conversation.history, conversation.config
    labelled = [i for i in range(len(history) - 1, -1, -1) if history[i].topic]
    if labelled:
        wanted = topic_tokens(topic)
        at = next((i for i in labelled if topic_tokens(history[i].topic or "") & wanted), labelled[0])
        around = range(max(0, at - TOPIC_NEIGHBOURS), min(len(history), at + TOPIC_NEIGHBOURS + 1))
        return conversation.show(around, f"around the message labelled {history[at].topic!r}")
    if named := conversation.about(topic, last_turns(history, config.session_max_turns)):
        return conversation.show(named, f"no topic label; turns about {topic!r}")
    return conversation.show(last_turns(history, config.last_few_turns), "no topic label; the last turns")


def _stance(conversation: Conversation, topic: str) -> Found:
    history = conversation.history
    if cached := cached_stance(conversation.stance_cache, topic, conversation.language):
        text, entry = cached
        said = [i for i, m in enumerate(history) if m.role == "assistant" and str(entry["stance"]) in text_of(m)]
        return Found(said[-1:], text, "the stance cache")
    index = last_stance(history, topic)
    if index is not None:
        return Found([index], text_of(history[index]), "the last message of the assistant that states a stance")
    if named := conversation.about(topic, last_turns(history, conversation.config.recent_turns)):
        return conversation.show(named, f"no stance found; turns about {topic!r}")
    answer = _last_answer(conversation)
    return answer._replace(reason=f"no stance found; {answer.reason}")


def _last_answer(conversation: Conversation) -> Found:
    history = conversation.history
    said = [i for i, m in enumerate(history) if m.role == "assistant" and text_of(m).strip()]
    if not said:
        return Found([], None, "no answer in the history")
    return Found(said[-1:], text_of(history[said[-1]]), "the last answer")


def _in_interval(conversation: Conversation, interval: Interval, topic: str) -> Found | None:
    said = said_within(conversation.history, interval, conversation.zone)
    narrowed = conversation.about(topic, said)
    reason = f"said from {interval[0]:%Y-%m-%d %H:%M} to {interval[1]:%Y-%m-%d %H:%M}"
    return conversation.show(narrowed or said, reason + f", about {topic!r}" * bool(narrowed)) if said else None
