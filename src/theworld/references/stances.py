"""Stances of the assistant: found in its messages, kept as a cache, and looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any

from theworld.references.chinese_topics import topic_in
from theworld.references.config import LanguageCode, load_table
from theworld.references.detection import any_phrase, in_zone
from theworld.references.history import as_messages, overlap, text_of, topic_tokens
from theworld.state import Message
from theworld.text import entity_key, split_sentences
from theworld.text.folding import fold_in_place

MOST_STANCES = 100
"""Stances kept per thread; the oldest make room."""
MOST_RANKED = 20
"""Stances of a history that are compared with the topic named, the latest."""


@lru_cache(maxsize=4096)
def is_stance(text: str) -> bool:
    """Return whether a text states an opinion or advice ("我建议", "I think")."""
    return any_phrase("stances").search(fold_in_place(text)) is not None


def extract_stances(
    history: Iterable[Any], known: Mapping[str, Mapping[str, str]] | None = None, *, now: datetime | None = None
) -> dict[str, dict[str, str]]:
    """Return `known` plus the stances in the assistant's messages: key -> {topic, stance, updated_at}.

    The key is the identity of the topic, so a newer stance on the same topic replaces the older one. `updated_at` is
    ISO 8601 in UTC: the message's timestamp, else `now` for a stance not known before (plus a microsecond per message,
    so that later ones are later), else empty. At most MOST_STANCES are kept.
    """
    stances = {key: dict(value) for key, value in (known or {}).items()}
    messages = as_messages(history)
    for index, message in enumerate(messages):
        stated = split_sentences(text_of(message)) if message.role == "assistant" else []
        for sentence in (sentence.text for sentence in stated if is_stance(sentence.text)):
            asked = next(
                (m for m in messages[max(0, index - 3) : index][::-1] if m.role == "user"), Message("user", "")
            )
            topic = message.topic or asked.topic or topic_in(text_of(asked)) or topic_in(sentence)
            key = entity_key(topic) or f"stance-{index}"
            before = stances.pop(key, {})
            said = message.timestamp or (now and now + timedelta(microseconds=index))
            at = "" if said is None else in_zone(said, UTC).isoformat()
            if message.timestamp is None and before.get("stance") == sentence:
                at = before.get("updated_at", "")
            stances[key] = {"topic": topic, "stance": sentence, "updated_at": at}
    return dict(list(stances.items())[-MOST_STANCES:])


def cached_stance(cache_: Mapping[str, Any] | None, topic: str, language: LanguageCode) -> tuple[str, str] | None:
    """Return the cache's best stance, with its topic as the language labels it and by itself; None where there is none.

    A stance on the topic named in the query comes first, then the latest; ties go to the first. Entries that are
    not mappings or hold no stance are passed over.
    """
    entries = [entry for entry in (cache_ or {}).values() if isinstance(entry, Mapping) and entry.get("stance")]
    if not entries:
        return None
    wanted = topic_tokens(topic)
    best = max(entries, key=lambda e: (overlap(wanted, f"{e.get('topic') or ''} {e['stance']}"), _moment(e)))
    subject, stance = str(best.get("topic") or "").strip(), str(best["stance"])
    template: str = load_table("language")["labels"][language]["stance"] if subject else "{stance}"
    return template.replace("{topic}", subject).replace("{stance}", stance), stance


def _moment(entry: Mapping[str, Any]) -> tuple[int, float, str]:
    """Return a key that sorts moments and numbers by time, and other texts before them."""
    value = entry.get("updated_at")
    if type(value) in {int, float}:
        return 1, float(value or 0), ""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        return 0, 0.0, value if isinstance(value, str) else ""
    return 1, in_zone(moment, UTC).timestamp(), ""


def last_stance(history: Sequence[Message], topic: str) -> int | None:
    """Return the index of the latest message of the assistant that states a stance, on the topic named where one does.

    The topic is looked for in the last MOST_RANKED of them.
    """
    places = range(len(history) - 1, -1, -1)
    stated = (i for i in places if history[i].role == "assistant" and is_stance(text_of(history[i])))
    wanted = topic_tokens(topic)
    ranked = islice(stated, MOST_RANKED if wanted else 1)
    return max(ranked, key=lambda index: overlap(wanted, text_of(history[index])), default=None)
