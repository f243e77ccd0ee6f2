"""Which messages a reference points at, scope by scope (specification 3.3), narrowed by the topic named with it.

Stances of the assistant are found in its messages, kept as a cache, and looked up. A question about the conversation is
answered by the words of the turn that shares most with it, of several the last one; of the user's own questions by the
one that an ordinal counts ("my first question"), of all that was talked about by the user's questions one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import accumulate, islice
from math import inf
from typing import Any, NamedTuple

from theworld.references.config import RANKS, LanguageCode, ReferenceResolverConfig, any_of, load_table, pattern_of
from theworld.references.context import depends_on_nothing
from theworld.references.frames import RETURN
from theworld.references.history import as_messages, in_zone, last_answer, last_turns, said_within, text_of, transcript
from theworld.references.topics import CLEAR_OVERLAP, asks, chat_question, overlap, topic_in, topic_tokens
from theworld.state import Message, ReferenceScope, ReferenceType, ResolvedReference
from theworld.text import entity_key, fold, split_sentences
from theworld.text.calendar import Interval
from theworld.text.tokens import fold_in_place

MOST_STANCES = 100  # stances kept per thread; the oldest make room
MOST_RANKED = 20  # stances of a history that are compared with the topic named, the latest
TOPIC_NEIGHBOURS = 2  # messages taken before and after a labelled one
_POINTING = frozenset({ReferenceType.STANCE, ReferenceType.TEMPORAL, ReferenceType.REFERENTIAL})
_ORDINAL = re.compile(
    r"\b(?:first|second|third|fourth|fifth)\b|(?<=第)[一二三四五]"
    r"|\bat the (?:very )?(?:beginning|start)\b|\b(?:originally|initially|start(?:ed)? with)\b"
    r"|最初|最早|[一最刚]开始|起初"
)  # Which message: by number, or by words for the first
MOST_SENTENCES = 3
LONGEST_LIST = 600  # characters of a list that are quoted


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
            reason = f"said from {interval[0]:%Y-%m-%d %H:%M} to {interval[1]:%Y-%m-%d %H:%M}"
            return self._about(topic, said, f"{reason}, about {topic!r}") or self.show(said, reason)
        if scope is ReferenceScope.LAST_SHARED_TOPIC:
            return self._shared_topic(topic)
        return self._window(scope, topic, "no message carries that time; " if interval else "")

    def show(self, indexes: Sequence[int], reason: str) -> Found:
        """Return these messages as found."""
        kept = [index for index in sorted(set(indexes)) if text_of(self.history[index]).strip()]
        return Found(kept, transcript(self.history, kept, self.language), reason)

    def _about(self, topic: str, indexes: Sequence[int], reason: str) -> Found | None:
        """Return those of the messages whose turn is clearly about the topic; None where it does not decide."""
        wanted, history = topic_tokens(topic), self.history
        scores = {i: overlap(wanted, text_of(history[i])) + overlap(wanted, history[i].topic or "") for i in indexes}
        begins = (i if message.role == "user" else 0 for i, message in enumerate(history))
        starts = list(accumulate(begins, max))
        kept = {starts[i] for i, score in scores.items() if score >= CLEAR_OVERLAP}
        return self.show([i for i in indexes if starts[i] in kept], reason) if kept else None

    def _window(self, scope: ReferenceScope, topic: str, prefix: str) -> Found:
        count = recall_turns(scope, self.config) or self.config.last_few_turns
        window, session = last_turns(self.history, count), last_turns(self.history, self.config.session_max_turns)
        return (
            self._about(topic, window, f"{prefix}turns within the last {count} about {topic!r}")
            or self._about(topic, session, f"{prefix}turns about {topic!r}, earlier than the last {count}")
            or self.show(window, f"{prefix}the last {count} turns")
        )

    def _shared_topic(self, topic: str) -> Found:
        history = self.history
        if labels := {i: history[i].topic or "" for i in range(len(history) - 1, -1, -1) if history[i].topic}:
            wanted = topic_tokens(topic)
            at = next((i for i, label in labels.items() if topic_tokens(label) & wanted), next(iter(labels)))
            around = range(max(0, at - TOPIC_NEIGHBOURS), min(len(history), at + TOPIC_NEIGHBOURS + 1))
            return self.show(around, f"around the message labelled {history[at].topic!r}")
        session, last = (last_turns(history, n) for n in (self.config.session_max_turns, self.config.last_few_turns))
        named = self._about(topic, session, f"no topic label; turns about {topic!r}")
        return named or self.show(last, "no topic label; the last turns")

    def _stance(self, topic: str) -> Found:
        """Return the cache's best stance, one on the topic before the latest; without any the history's."""
        wanted, kept = topic_tokens(topic), (self.stance_cache or {}).values()
        if entries := [entry for entry in kept if isinstance(entry, Mapping) and entry.get("stance")]:
            best = max(entries, key=lambda e: (overlap(wanted, f"{e.get('topic') or ''} {e['stance']}"), _moment(e)))
            subject, stance = str(best.get("topic") or "").strip(), str(best["stance"])
            template: str = load_table("language")["labels"][self.language]["stance"] if subject else "{stance}"
            text = template.replace("{topic}", subject).replace("{stance}", stance)
            said = [i for i, m in enumerate(self.history) if m.role == "assistant" and stance in text_of(m)]
            return Found(said[-1:], text, "the stance cache")
        places = (i for i in range(len(self.history) - 1, -1, -1) if self.history[i].role == "assistant")
        stated = (i for i in places if is_stance(text_of(self.history[i])))
        ranked = islice(stated, MOST_RANKED if wanted else 1)
        index = max(ranked, key=lambda i: overlap(wanted, text_of(self.history[i])), default=None)
        if index is not None:
            content = text_of(self.history[index])
            return Found([index], content, "the last message of the assistant that states a stance")
        recent = last_turns(self.history, self.config.recent_turns)
        named = self._about(topic, recent, f"no stance found; turns about {topic!r}")
        return named or self._last_answer("no stance found; ")

    def _last_answer(self, prefix: str = "") -> Found:
        text, index = last_answer(self.history)
        found = Found([index], text, "the last answer") if text else Found([], None, "no answer in the history")
        return found._replace(reason=prefix + found.reason)


@lru_cache(maxsize=4096)
def is_stance(text: str) -> bool:
    """Return whether a text states an opinion or advice ("我建议", "I think")."""
    return any_of("language", "stances").search(fold_in_place(text)) is not None


def extract_stances(
    history: Iterable[Any], known: Mapping[str, Mapping[str, str]] | None = None, *, now: datetime | None = None
) -> dict[str, dict[str, str]]:
    """Return `known` plus the stances in the assistant's messages: key -> {topic, stance, updated_at}.

    The key is the identity of the topic: a newer stance replaces the older one. `updated_at` is ISO 8601 in UTC: the
    message's timestamp, else `now` for one not known before (later ones are later), else empty.
    """
    stances = {key: dict(value) for key, value in (known or {}).items()}
    messages = as_messages(history)
    for index, message in enumerate(messages):
        stated = split_sentences(text_of(message)) if message.role == "assistant" else []
        for sentence in (sentence.text for sentence in stated if is_stance(sentence.text)):
            before = (m for m in messages[max(0, index - 3) : index][::-1] if m.role == "user")
            asked = next(before, Message("user", ""))
            topic = message.topic or asked.topic or topic_in(text_of(asked)) or topic_in(sentence)
            key = entity_key(topic) or f"stance-{index}"
            kept = stances.pop(key, {})
            said = message.timestamp or (now and now + timedelta(microseconds=index))
            at = "" if said is None else in_zone(said, UTC).isoformat()
            if message.timestamp is None and kept.get("stance") == sentence:
                at = kept.get("updated_at", "")
            stances[key] = {"topic": topic, "stance": sentence, "updated_at": at}
    return dict(list(stances.items())[-MOST_STANCES:])


def _moment(entry: Mapping[str, Any]) -> float:
    """Return a number that sorts moments and numbers by time, and what is neither before them."""
    value = entry.get("updated_at")
    if type(value) in {int, float}:
        return float(value or 0)
    with suppress(ValueError):
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return in_zone(moment, UTC).timestamp()
    return -inf


class Quote(NamedTuple):
    """A piece of the conversation: text == history[turn].content[start:end]; turn -1 is a kept stance."""

    text: str
    turn: int
    start: int
    end: int
    clear: bool = True  # whether it holds what the question names, or this names nothing


def asks_what_was_said(question: str, reference: ResolvedReference) -> bool:
    """Return True for a question that refers to the conversation and asks for words of it."""
    if reference.reference_type not in _POINTING or reference.metadata.get("kind") in {"pronoun", "continuation"}:
        return False
    return chat_question(fold_in_place(question)) is not None or asks("pointing").search(fold(question)) is not None


def quote_for(question: str, reference: ResolvedReference, history: Sequence[Message]) -> Quote | None:
    """Return the sentences of the conversation that answer a question about it, None where none does.

    Where the reference came from a kept stance alone, that stance is the quote.
    """
    folded, wanted = fold_in_place(question), topic_tokens(question)
    asked, answers = _messages_of("user", history), _messages_of("assistant", history)
    word, counted = _counted(folded, asked)
    if asks("asked").search(folded) and not asks("said").search(folded):
        turn = counted if word else _asked_last(topic_tokens(asks("asked").sub(" ", folded)), history, asked)
        return None if turn is None else _quoted(history, turn)
    shared = [overlap(wanted, text_of(message)) for message in history]
    # The question before an answer counts half.
    said = {i: shared[i] + (shared[i - 1] / 2 if i - 1 in asked else 0) for i in answers}
    stance = reference.reference_type is ReferenceType.STANCE
    recalled = said.keys() & set(reference.source_turns)
    if not recalled:
        kept = reference.resolved_content if stance else None
        return Quote(kept, -1, 0, len(kept)) if kept else None
    # "Just now" may be longer ago than what it recalls where only that has the words.
    turn = max(said, key=lambda i: (said[i], i in recalled, i))
    own = f"my {word} question" in folded or f"第{word}个问题" in folded
    if counted is not None and counted + 1 in said and (own or not said[turn]):
        return _quoted(history, counted + 1)
    if wanted and not said[turn] and not stance:
        return None
    return _quoted(history, turn, wanted)._replace(clear=not wanted or said[turn] >= CLEAR_OVERLAP)


def asked_in_all(question: str, history: Sequence[Message]) -> list[Quote]:
    """Return the user's questions one by one, for a question that asks for nothing but all that was talked about."""
    match = chat_question(fold_in_place(question))
    if match is None or not asks("all").fullmatch(match[0]):
        return []
    asked = ((turn, text_of(history[turn])) for turn in _messages_of("user", history))
    return [_quoted(history, turn) for turn, text in asked if not chat_question(fold_in_place(text))]


def returned_to(query: str, history: Sequence[Message]) -> tuple[str, int] | None:
    """Return what a query that goes back to a topic asks, and where the turn about that ends; None for other queries.

    That is the turn whose number it names ("my first question"), else the last of those that share most with the topic.
    """
    if (match := pattern_of(RETURN).match(fold_in_place(query[:200]))) is None:
        return None
    asked, wanted = _messages_of("user", history), topic_tokens(match["topic"])
    turn, ends = _counted(match["topic"], asked)[1], dict(zip(asked, [*asked[1:], len(history)], strict=True))
    if turn is None:
        said = {i: sum(overlap(wanted, text_of(message)) for message in history[i:end]) for i, end in ends.items()}
        turn = max(said, key=lambda i: (said[i], i), default=None)
        if turn is None or said[turn] < CLEAR_OVERLAP:
            return None
    return query[match.end() :].strip(), ends[turn]


def _counted(folded: str, asked: Sequence[int]) -> tuple[str, int | None]:
    """Return the ordinal of a text, and the user's message that it counts."""
    ordinal = _ORDINAL.search(folded)
    word = ordinal[0] if ordinal else ""
    return word, next(iter(asked[RANKS.get(word, 0) :]), None) if word else None


def _messages_of(role: str, history: Sequence[Message]) -> list[int]:
    """Return the messages that say something; of the user's those that are no small talk."""
    said = ((i, text_of(message)) for i, message in enumerate(history) if message.role == role)
    return [i for i, text in said if text.strip() and not (role == "user" and depends_on_nothing(text))]


def _asked_last(wanted: frozenset[str], history: Sequence[Message], asked: Sequence[int]) -> int | None:
    """Return the user's message that shares most with what is wanted, of several the last one; None without any."""
    share, turn = max(((overlap(wanted, text_of(history[i])), i) for i in asked), default=(0.0, None))
    return turn if share or not wanted else None


def _quoted(history: Sequence[Message], turn: int, wanted: frozenset[str] = frozenset()) -> Quote:
    """Quote a message's first sentences, a list as far as LONGEST_LIST; across no line that text_of leaves out.

    Of a longer one, and of several passages, those from the paragraph on that holds most of what is wanted.
    """
    content, said = history[turn].content or "", text_of(history[turn])
    begins = 0
    if len(said) > LONGEST_LIST or said.strip() not in content:
        places = [0, *(gap.end() for gap in re.finditer(r"\n(?:[ \t]*…?[ \t]*\n)+", said))]
        parts = {start: said[start:end] for start, end in zip(places, [*places[1:], len(said)], strict=True)}
        begins = max(parts, key=lambda start: overlap(wanted, parts[start]))
    sentences = [sentence for sentence in split_sentences(said) if sentence.start >= begins]
    in_lines = "\n" in said.strip()
    quoted = [s for s in sentences if in_lines and s.end <= begins + LONGEST_LIST] or sentences[:MOST_SENTENCES]
    pieces = (said[quoted[0].start : last.end] for last in reversed(quoted))
    piece = next((piece for piece in pieces if piece in content), content[:LONGEST_LIST])
    start = content.find(piece)
    return Quote(piece, turn, start, start + len(piece))
