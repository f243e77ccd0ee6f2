"""Text fields cleaned and cut to byte limits."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from typing import Any

from theworld.nodes.disambiguate_entities.schema import CandidateLimits

MAX_ALIASES = 5
"""Aliases kept per candidate."""
MAX_SCANNED_CHARACTERS = 20_000
"""Of a longer field only this much is looked at."""
ELLIPSIS = "…"

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_SPACES = re.compile(r"\s+")


def clean_text(value: Any) -> str | None:
    """Return text without control characters, bidirectional marks and lone surrogates; None for anything but text."""
    if not isinstance(value, str):
        return None
    text = _SPACES.sub(" ", _CONTROL.sub(" ", str.__str__(value)[:MAX_SCANNED_CHARACTERS])).strip()
    return text or None


def shorten(text: str, max_bytes: int) -> str:
    """Return the text within `max_bytes` UTF-8 bytes, the ellipsis of a cut included; never half a character."""
    data = text.encode("utf-8")
    if len(data) <= max_bytes:
        return text
    room = max_bytes - len(ELLIPSIS.encode("utf-8"))
    return data[:room].decode("utf-8", "ignore").rstrip() + ELLIPSIS if room > 0 else ""


def json_bytes(value: Any) -> int:
    """Return the UTF-8 bytes of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8"))


def within_limits(candidate: dict[str, Any], limits: CandidateLimits) -> dict[str, Any]:
    """Return the candidate within its limits.

    A description or label that takes more than a quarter makes room first. Then what matters least is cut first:
    aliases, facts, description, label.
    """
    kept = dict(candidate)
    if not limits.include_aliases:
        kept.pop("aliases", None)
    if kept.get("aliases"):
        kept["aliases"] = list(kept["aliases"][:MAX_ALIASES])
    if kept.get("key_props_excerpt"):
        kept["key_props_excerpt"] = shorten(kept["key_props_excerpt"], limits.key_props_max_bytes)
    for name in ("description", "label"):
        _cut_field(kept, name, limits.per_candidate_max_bytes, limits.per_candidate_max_bytes // 4)
    while kept.get("aliases") and json_bytes(kept) > limits.per_candidate_max_bytes:
        kept["aliases"] = kept["aliases"][:-1]
    for name in ("key_props_excerpt", "description", "label"):
        _cut_field(kept, name, limits.per_candidate_max_bytes)
    return {name: value for name, value in kept.items() if value or name in {"label", "description"}}


def _cut_field(candidate: dict[str, Any], name: str, max_bytes: int, least: int = 0) -> None:
    """Shorten a text field until the whole candidate fits, to no fewer than `least` bytes; to none leaves it out.

    Escapes make JSON longer than its text.
    """
    text = candidate.get(name)
    if not text or json_bytes(candidate) <= max_bytes:
        return
    most = bisect_left(
        range(len(text.encode("utf-8")) + 1),
        x=True,
        key=lambda size: json_bytes(candidate | {name: shorten(text, size) or None}) > max_bytes,
    )
    candidate[name] = shorten(text, max(most - 1, least)) or None
