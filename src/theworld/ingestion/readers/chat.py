"""Chats that a program exported as JSON, read as lines: "2025-10-21 09:20 Marta Vos: text", in the order of the file.

A chat is a list of objects, at the top or under a key, most of which have a text, an author and a time of day under the
names in data/chats.yaml. Times that are numbers are read as UTC. Offsets refer to the lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from theworld.ingestion.notes import Block
from theworld.ingestion.readers.document import SourceDocument, require_text, title_from_name
from theworld.ingestion.readers.folder import nearest
from theworld.packages import load_table

PEOPLE = "users.json"
"""Beside the messages or above: whom the ids in them mean."""
EARLIEST, LATEST = 100_000_000, 100_000_000_000
"""Seconds since 1970 of a moment, 1973 to 5138: fewer are no time, more are milliseconds."""

_APART = re.compile(r"[-_\s]")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)")
_CLOCK = re.compile(r"\d[:：]\d\d")
_MARKUP = re.compile(r"<(?P<sign>[@#!]|(?=https?:|mailto:))(?P<name>[^<>|\n]+)(?:\|(?P<label>[^<>\n]*))?>")
"""A person, channel, group or link in Slack."""


def chat_of(data: object, path: Path, root: Path) -> SourceDocument | None:
    """Return the document of a chat, None of other JSON; names of people are looked for in the folder `root`."""
    around = data if isinstance(data, dict) else {}
    messages = next(filter(_is_chat, map(_objects, [data, *around.values()])), None)
    if messages is None:
        return None
    people: object = None
    with suppress(ValueError, RecursionError):
        people = json.loads(nearest(path.parent, root, PEOPLE) or "[]")
    names = _named(_objects(people), "person", "name") | _named(messages, "id", "author")

    def shown(mark: re.Match[str]) -> str:
        said = names.get(mark["name"]) or mark["label"] or mark["name"]
        return said if not mark["sign"] else f"{'#' if mark['sign'] == '#' else '@'}{said.lstrip('@#')}"

    text = "".join(f"{key}: {value}\n" for key, value in around.items() if isinstance(value, str) and value.strip())
    blocks = [Block("paragraph", 0, len(text) - 1)] if text else []
    text += "\n" * bool(text)
    first, parts = len(text), list[tuple[int, int]]()
    for message in messages:
        said = _MARKUP.sub(shown, _words(_first(message, "text")))
        for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
            said = said.replace(entity, sign)
        author = str(_first(message, "author") or "")
        head = f"{_moment(_first(message, 'time'))} {names.get(author, author)}".strip()
        if said.strip():
            text += f"{head}: {said.strip()}\n"
            parts.append((parts[-1][1] if parts else first, len(text)))
    if not parts:
        return None
    blocks.append(Block("paragraph", first, len(text), parts=tuple(parts)))
    return SourceDocument(title_from_name(path), require_text(text, path), blocks=tuple(blocks))


def _objects(data: object) -> list[dict[str, Any]]:
    """Return the objects of a list, each with its keys in one form, those of objects within as `outer.inner`."""
    return [_flat(one) for one in data if isinstance(one, dict)] if isinstance(data, list) else []


def _flat(one: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat = {above + _APART.sub("", key.lower()): value for key, value in one.items()}
    if not above:
        for key, value in [pair for pair in flat.items() if isinstance(pair[1], dict)]:
            flat |= _flat(value, f"{key}.")
    return flat


def _is_chat(objects: list[dict[str, Any]]) -> bool:
    """Return whether most of some objects are messages, which may have no words."""
    whole = 0
    for one in objects:
        has_text = any(isinstance(one.get(key), str | list) for key in _keys("text"))
        whole += bool(has_text and _first(one, "author") and _moment(_first(one, "time")))
    return 2 * whole > len(objects)


def _keys(kind: str) -> list[str]:
    keys: str = load_table("theworld.ingestion", "data/chats.yaml")[kind]
    return keys.split()


def _first(message: Mapping[str, Any], kind: str) -> Any:
    """Return the first value that is given of what is meant by a kind, None without any."""
    values = (message.get(key) for key in _keys(kind))
    return next((value for value in values if value and not isinstance(value, dict | bool)), None)


def _named(objects: Iterable[Mapping[str, Any]], identity: str, name: str) -> dict[str, str]:
    pairs = ((_first(one, identity), _first(one, name)) for one in objects)
    return {str(known): str(called) for known, called in pairs if known and called and str(known) != str(called)}


def _words(text: object) -> str:
    """Return a message's text; Telegram divides it into pieces."""
    if isinstance(text, list):
        return "".join(_words(piece.get("text") if isinstance(piece, dict) else piece) for piece in text)
    return text if isinstance(text, str) else ""


def _moment(given: object) -> str:
    """Return a date and time as it is shown, "" where it tells no time of day."""
    with suppress(ValueError, OverflowError, OSError):
        seconds = float(str(given))
        seconds /= 1000 if seconds > LATEST else 1
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}" if seconds > EARLIEST else ""
    iso = _ISO.match(str(given))
    return f"{iso[1]} {iso[2]}" if iso else str(given) * bool(_CLOCK.search(str(given)))
