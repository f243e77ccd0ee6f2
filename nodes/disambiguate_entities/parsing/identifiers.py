"""Wikidata's ids in texts and addresses."""

from __future__ import annotations

import re
from typing import Any

_QID = re.compile(r"Q[1-9][0-9]{0,18}")
_MENTIONED = re.compile(r"(?<![A-Za-z0-9_])[Qq]([1-9][0-9]{0,18})(?![A-Za-z0-9_])")
_FRAGMENT = re.compile(r"[?#].*", re.DOTALL)
_MAX_CHARACTERS = 300


def entity_url(qid: str) -> str:
    """Return the page of an entity."""
    return f"https://www.wikidata.org/wiki/{qid}"


def qid_in(value: Any) -> str | None:
    """Return the QID that a string is or that ends its path, else None."""
    if not isinstance(value, str) or len(value) > _MAX_CHARACTERS:
        return None
    path = _FRAGMENT.sub("", str.strip(value))
    match = _QID.fullmatch(path.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1])
    return match.group() if match else None


def only_qid_in(value: Any) -> str | None:
    """Return the QID that a string is or ends in, else the only one it has: `q42`, `<.../Q42.json>`, `Q42 (writer)`."""
    if (found := qid_in(value)) or not isinstance(value, str) or len(value) > _MAX_CHARACTERS:
        return found
    mentioned = set(_MENTIONED.findall(str.__str__(value)))
    return f"Q{mentioned.pop()}" if len(mentioned) == 1 else None
