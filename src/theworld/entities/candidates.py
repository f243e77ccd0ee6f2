"""Candidates from a knowledge base as judges see them: Wikidata's replies read, within limits of size."""

from __future__ import annotations

import json
import logging
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from theworld.entities.schema import CandidateLimits, read_limits
from theworld.state import EntityCandidate

MAX_FIELD = 2_000
"""Characters of a candidate's field that a judge reads."""
_QID = re.compile(r"Q[1-9][0-9]{0,18}")
_MENTIONED = re.compile(r"(?<![A-Za-z0-9_])[Qq]([1-9][0-9]{0,18})(?![A-Za-z0-9_])")
_FRAGMENT = re.compile(r"[?#].*", re.DOTALL)
_MAX_CHARACTERS = 300
_PAGES = "https://www.wikidata.org/wiki/"


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


MAX_ALIASES = 5
"""Aliases kept per candidate."""
MAX_SCANNED_CHARACTERS = 20_000
"""Of a longer field only this much is looked at."""
ELLIPSIS = "…"

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_SPACES = re.compile(r"\s+")


def stated_text(value: Any) -> str | None:
    """Return a label or description as text: an object's `str()`, the `value` of a mapping; None for lists and flags.

    Raises whatever `str()` raises: the field cannot be read.
    """
    if isinstance(value, Mapping):
        value = value.get("value")
    if value is None or isinstance(value, (str, bool, bytes, Sequence, Set)):
        return value if isinstance(value, str) else None
    return None if isinstance(value, Mapping) else str(value)


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


MAX_SCANNED_ALIASES = 50
"""Of more aliases only these are looked at."""
_LOG = logging.getLogger(__name__)
_RESULT = re.compile(r"^[ \t]*Result[ \t]+(Q[0-9]+)[ \t]*:", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*([^:\n：]{1,80})[:：][ \t]*(\S.*)$", re.MULTILINE)
_COMMA = re.compile(r"[,，、]\s*")
_TEXT_FIELDS = ("page_content", "text", "content")
_NOTHING_FOUND = "no good wikidata search result was found"
_KEY_PROPERTIES = frozenset(
    "instance of|country|country of citizenship|occupation|date of birth|date of death|"
    "p31|p17|p27|p106|p569|p570|性质|隸屬於|隶属于|国家|國家|国籍|國籍|职业|職業|出生日期|逝世日期|死亡日期".split("|")
)


def format_candidates(
    raw: Sequence[Any] | str | None, cfg: Mapping[str, Any] | CandidateLimits | None = None, *, label: str = ""
) -> list[dict[str, Any]]:
    """Return the candidates in `raw` as plain dicts within the limits of `cfg`, in order, each QID once.

    Unusable items are left out and logged under the `label` searched; the sentence that nothing was found is no
    candidate.
    Raises SettingsError only for limits that are wrong themselves.
    """
    limits = read_limits(cfg)
    found: dict[str, dict[str, Any]] = {}
    for item in items_of(raw):
        if len(found) >= limits.max_candidates:
            break
        try:
            candidates = list(_read_item(item))
        except Exception as error:
            _LOG.warning(
                "source=wikidata label=%s: an item of type %s is unusable: %s",
                shorten(clean_text(label) or "-", 200),
                type(item).__name__,
                type(error).__name__,
            )
            continue
        for candidate in candidates:
            found.setdefault(candidate["id"], candidate)
    return [within_limits(candidate, limits) for candidate in list(found.values())[: limits.max_candidates]]


def read_sitelinks(raw: Any) -> dict[str, int]:
    """Return QID -> number of sitelinks of the raw items that state it.

    It is no field of a candidate, which is what a model sees; the deterministic judge takes it as popularity.
    """
    stated = [one for one in map(readable, items_of(raw)) if "sitelinks" in one]
    return {one["id"]: one["sitelinks"] for one in reversed(stated)}


def items_of(raw: Any) -> list[Any]:
    """Return the raw items of a list, of one text or item, or of a whole reply of `wbsearchentities`."""
    if raw is None:
        return []
    try:
        if isinstance(raw, Mapping) and isinstance(raw.get("search"), list):
            raw = raw["search"]
        if isinstance(raw, (str, Mapping)) or hasattr(raw, "page_content"):
            return [raw]
        return list(raw)
    except Exception as error:
        _LOG.warning("source=wikidata: a %s cannot be read: %s", type(raw).__name__, type(error).__name__)
        return []


def _read_item(item: Any) -> Iterator[dict[str, Any]]:
    """Yield the candidates of one raw item: none, one, or several for a text with several results."""
    named = _read_fields(item) if isinstance(item, Mapping) else None
    text = _item_text(item)
    if text is None or (named and named["label"] and not _RESULT.search(text)):
        yield from [named] if named else []
        return
    for candidate in _read_text(text, _metadata_qid(item)):
        stated = named if named and named["id"] == candidate["id"] else {}
        yield candidate | {name: value for name, value in stated.items() if value}


def _read_fields(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the candidate that an item's own fields describe, None without an id."""
    named = (item.get("id"), item.get("qid"), item.get("title"), item.get("concepturi") or item.get("url"))
    qid = next((qid for value in named if (qid := qid_in(value))), None)
    if qid is None:
        return None
    shown = item.get("display")
    display = shown if isinstance(shown, Mapping) else {}
    return _candidate(
        qid,
        label=item.get("label") or display.get("label"),
        description=item.get("description") or display.get("description"),
        aliases=item.get("aliases"),
        key_props=item.get("key_props_excerpt"),
    )


def _item_text(item: Any) -> str | None:
    """Return the text block of an item in LangChain's shape, None for the other shape."""
    if isinstance(item, str):
        return item
    if isinstance(item, Mapping):
        texts = [item[name] for name in _TEXT_FIELDS if isinstance(item.get(name), str)]
        if not texts:
            texts = [value for value in item.values() if isinstance(value, str) and _RESULT.search(value)]
        return str.__str__(texts[0]) if texts else None
    content = getattr(item, "page_content", None)
    return content if isinstance(content, str) else None


def _metadata_qid(item: Any) -> str | None:
    own = isinstance(item, Mapping)
    metas = (item.get(name) if own else getattr(item, name, None) for name in ("metadata", "meta"))
    named = (one.get(name) for one in metas if isinstance(one, Mapping) for name in ("id", "title", "source", "url"))
    return next(filter(None, map(qid_in, named)), None) or (qid_in(item.get("id")) if own else None)


def _read_text(text: str, outer_qid: str | None) -> Iterator[dict[str, Any]]:
    if _NOTHING_FOUND in text[:200].casefold():
        return
    # Split at heads: what stands before the first, then each QID and its block.
    before, *results = _RESULT.split(text)
    for qid, block in zip(map(qid_in, results[::2]), results[1::2], strict=True) if results else [(outer_qid, before)]:
        fields: dict[str, str] = {}
        properties: list[str] = []
        for match in _LINE.finditer(block):
            name, value = " ".join(match.group(1).split()), " ".join(match.group(2).split())
            if name.casefold() in _KEY_PROPERTIES:
                properties.append(f"{name}: {value}")
            fields.setdefault(name.casefold(), value)
        if qid is not None:
            label, description, aliases = map(fields.get, ("label", "description", "aliases"))
            yield _candidate(qid, label, description, aliases, "; ".join(properties))


def _candidate(qid: str, label: Any, description: Any, aliases: Any, key_props: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {
        "id": qid,
        "url": f"{_PAGES}{qid}",
        "label": clean_text(stated_text(label)),
        "description": clean_text(stated_text(description)),
    }
    if isinstance(aliases, str):  # given as one text with commas, or as a list of texts or of `{"value": text}`
        aliases = _COMMA.split(str.__str__(aliases)[:MAX_SCANNED_CHARACTERS])
    listed = aliases if isinstance(aliases, Sequence) and not isinstance(aliases, bytes) else ()
    texts = (one.get("value") if isinstance(one, Mapping) else one for one in listed[:MAX_SCANNED_ALIASES])
    if names := list(dict.fromkeys(filter(None, map(clean_text, texts)))):
        candidate["aliases"] = names
    if excerpt := clean_text(key_props):
        candidate["key_props_excerpt"] = excerpt
    return candidate


def readable(candidate: Any) -> dict[str, Any]:
    """Return what a judge reads of a candidate: its fields that are of their kind, cut; {} for what has no id."""
    if not isinstance(candidate, Mapping):
        return {}
    try:
        given = {name: candidate[name] for name in (*EntityCandidate.model_fields, "sitelinks") if name in candidate}
        names, count = given.pop("aliases", None), given.pop("sitelinks", None)
        found: dict[str, Any] = {name: _plain(value) for name, value in given.items() if isinstance(value, str)}
        if isinstance(names, (list, tuple)):
            found["aliases"] = [_plain(name) for name in names[:MAX_SCANNED_ALIASES] if name and isinstance(name, str)]
    except Exception as error:
        _LOG.warning("source=wikidata: a candidate cannot be read: %s", type(error).__name__)
        return {}
    count = len(count) if isinstance(count, Mapping) else count
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        found["sitelinks"] = count
    return found | {"id": qid_in(found["id"]) or found["id"]} if "id" in found else {}


def _plain(text: str) -> str:
    return str.encode(text[:MAX_FIELD], "utf-8", "replace").decode("utf-8")


def as_entry(candidate: Mapping[str, Any]) -> EntityCandidate:
    """Return a readable candidate as the entry that was chosen."""
    fields = {name: value for name, value in candidate.items() if name != "sitelinks"}
    return EntityCandidate(**fields | {"url": fields.get("url") or f"{_PAGES}{fields['id']}"})
