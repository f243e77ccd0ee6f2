"""Search results to candidates that are safe to serialise, and a judge's text to one judgement.

Reads both raw shapes: items of `wbsearchentities`, and the text blocks of LangChain's Wikidata wrapper.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from theworld.nodes.disambiguate_entities.limits import clean_text, shorten, within_limits
from theworld.nodes.disambiguate_entities.reply import read_reply
from theworld.nodes.disambiguate_entities.schema import (
    REASON_MATCHED,
    REASON_NO_CANDIDATES,
    REASON_NOT_MATCHED,
    REASON_UNREADABLE,
    CandidateLimits,
    JudgedEntity,
    JudgeOutput,
    read_entity,
    read_limits,
    read_model,
)
from theworld.state import EntityCandidate

__all__ = ["fallback_zero_candidates", "format_candidates", "judged", "parse_llm_output", "read_sitelinks", "unmatched"]

_LOG = logging.getLogger(__name__)
_QID = re.compile(r"Q[1-9][0-9]{0,18}")
_FRAGMENT = re.compile(r"[?#].*", re.DOTALL)
_RESULT = re.compile(r"^[ \t]*Result[ \t]+(Q[0-9]+)[ \t]*:", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*([^:\n：]{1,80})[:：][ \t]*(\S.*)$", re.MULTILINE)
_NOTHING_FOUND = "no good wikidata search result was found"
_TRUE = frozenset({"true", "yes", "1", "是", "匹配"})
_FALSE = frozenset({"false", "no", "0", "none", "nil", "否", "不是", "不匹配", "未匹配"})
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
    for item in _items(raw):
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
    found: dict[str, int] = {}
    for item in _items(raw):
        try:
            qid, stated = _qid_in(item.get("id")), item.get("sitelinks")
        except Exception as error:
            _LOG.debug("source=wikidata: no sitelinks of a %s: %s", type(item).__name__, type(error).__name__)
            continue
        count = len(stated) if isinstance(stated, Mapping) else stated
        if qid and isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            found.setdefault(qid, count)
    return found


def parse_llm_output(
    txt: str,
    candidates: Sequence[Mapping[str, Any]] | None,
    *,
    label: str = "",
    type_hint: str | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """Return the JudgeOutput dict a model's text means. Only a QID among `candidates` can be matched."""
    entity, model = read_entity(label, type_hint), read_model(model)
    reply = read_reply(txt)
    if reply is None:
        return unmatched(entity, REASON_UNREADABLE, model=model).as_dict()
    qid, stated = _selected(reply)
    inner = _inner(reply)
    confidence = _confidence(_first(inner, reply, "confidence"))
    reason = _text(_first(inner, reply, "reason"))
    if qid is None or stated is False:
        return unmatched(entity, reason or REASON_NOT_MATCHED, confidence, model).as_dict()
    chosen = next((item for item in _plain(candidates) if item["id"] == qid), None)
    if chosen is None:
        why = f"所选实体 {qid} 不在候选中" + (f"（{reason}）" if reason else "")
        return unmatched(entity, why, model=model).as_dict()
    return judged(entity, chosen, confidence, reason or REASON_MATCHED, model).as_dict()


def fallback_zero_candidates(label: str, type_hint: str | None = None) -> dict[str, Any]:
    """Return the judgement for a mention without candidates; no model is asked."""
    return unmatched(read_entity(label, type_hint), REASON_NO_CANDIDATES).as_dict()


def judged(
    entity: JudgedEntity, candidate: Mapping[str, Any], confidence: float, reason: str, model: str | None = None
) -> JudgeOutput:
    """Return the judgement that `entity` is `candidate`."""
    return JudgeOutput(
        entity=entity, matched=True, confidence=confidence, reason=reason, selection=_entry(candidate), model=model
    )


def _entry(candidate: Mapping[str, Any]) -> EntityCandidate:
    """Return a candidate as it was given, without fields that are no text."""
    texts = {name: _as_text(candidate.get(name)) for name in ("url", "label", "description", "key_props_excerpt")}
    given = candidate.get("aliases")
    listed = given if isinstance(given, (list, tuple)) else ()
    aliases = tuple(name for name in (_as_text(alias) for alias in listed) if name) or None
    qid = str(candidate["id"])
    return EntityCandidate.model_validate(
        texts | {"id": qid, "url": texts["url"] or entity_url(qid), "aliases": aliases}
    )


def _as_text(value: Any) -> str | None:
    return str.encode(value, "utf-8", "replace").decode("utf-8") if isinstance(value, str) else None


def unmatched(entity: JudgedEntity, reason: str, confidence: float = 0.0, model: str | None = None) -> JudgeOutput:
    """Return the judgement that no candidate is `entity`."""
    return JudgeOutput(entity=entity, matched=False, confidence=confidence, reason=reason, model=model)


def entity_url(qid: str) -> str:
    """Return the page of an entity."""
    return f"https://www.wikidata.org/wiki/{qid}"


def _items(raw: Any) -> list[Any]:
    if raw is None:
        return []
    if isinstance(raw, (str, Mapping)) or hasattr(raw, "page_content"):
        return [raw]
    try:
        return list(raw)
    except Exception as error:
        _LOG.warning("source=wikidata: a %s cannot be read: %s", type(raw).__name__, type(error).__name__)
        return []


def _read_item(item: Any) -> Iterator[dict[str, Any]]:
    """Yield the candidates of one raw item: none, one, or several for a text with several results."""
    text = _item_text(item)
    if text is not None:
        yield from _read_text(text, _metadata_qid(item))
        return
    if not isinstance(item, Mapping):
        return
    qid = _qid_in(item.get("id")) or _qid_in(item.get("title")) or _qid_in(item.get("concepturi") or item.get("url"))
    if qid is None:
        return
    display = item.get("display") if isinstance(item.get("display"), Mapping) else {}
    yield _candidate(
        qid,
        label=item.get("label") or _value(display, "label"),
        description=item.get("description") or _value(display, "description"),
        aliases=item.get("aliases"),
        key_props=item.get("key_props_excerpt"),
    )


def _item_text(item: Any) -> str | None:
    """Return the text block of an item in LangChain's shape, None for the other shape."""
    if isinstance(item, str):
        return item
    if isinstance(item, Mapping):
        for name in ("page_content", "text", "content"):
            if isinstance(item.get(name), str):
                return str(item[name])
        return None
    content = getattr(item, "page_content", None)
    return content if isinstance(content, str) else None


def _metadata_qid(item: Any) -> str | None:
    for name in ("metadata", "meta"):
        meta = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
        if isinstance(meta, Mapping):
            for field in ("id", "title", "source", "url"):
                if qid := _qid_in(meta.get(field)):
                    return qid
    return _qid_in(item.get("id")) if isinstance(item, Mapping) else None


def _read_text(text: str, outer_qid: str | None) -> Iterator[dict[str, Any]]:
    if _NOTHING_FOUND in text[:200].casefold():
        return
    heads = list(_RESULT.finditer(text))
    if not heads and outer_qid is not None:
        yield _read_block(outer_qid, text)
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        qid = _qid_in(head.group(1))
        if qid:
            yield _read_block(qid, text[head.end() : following.start() if following else len(text)])


def _read_block(qid: str, block: str) -> dict[str, Any]:
    fields: dict[str, str] = {}
    properties: list[str] = []
    for match in _LINE.finditer(block):
        name, value = " ".join(match.group(1).split()), " ".join(match.group(2).split())
        folded = name.casefold()
        if folded in _KEY_PROPERTIES:
            properties.append(f"{name}: {value}")
        fields.setdefault(folded, value)
    aliases = re.split(r"[,，、]\s*", fields["aliases"]) if fields.get("aliases") else None
    return _candidate(qid, fields.get("label"), fields.get("description"), aliases, "; ".join(properties))


def _candidate(qid: str, label: Any, description: Any, aliases: Any, key_props: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {
        "id": qid,
        "url": entity_url(qid),
        "label": clean_text(label),
        "description": clean_text(description),
    }
    if isinstance(aliases, Sequence) and not isinstance(aliases, (str, bytes)):
        names = [name for name in (clean_text(alias) for alias in aliases[:50]) if name]
        if names:
            candidate["aliases"] = list(dict.fromkeys(names))
    if excerpt := clean_text(key_props):
        candidate["key_props_excerpt"] = excerpt
    return candidate


def _value(display: Any, name: str) -> Any:
    entry = display.get(name) if isinstance(display, Mapping) else None
    return entry.get("value") if isinstance(entry, Mapping) else None


def _qid_in(value: Any) -> str | None:
    """Return the QID that a string is or that ends its path, else None."""
    if not isinstance(value, str) or len(value) > 300:
        return None
    path = _FRAGMENT.sub("", str.strip(value))
    match = _QID.fullmatch(path.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1])
    return match.group() if match else None


def _plain(candidates: Any) -> Iterator[dict[str, Any]]:
    """Yield what can be read of the candidates of a judgement, as plain dicts; the rest is nobody's choice."""
    for item in _items(candidates):
        if isinstance(item, Mapping):
            try:
                qid = _qid_in(item.get("id"))
                if qid is not None:
                    yield {name: item.get(name) for name in EntityCandidate.model_fields} | {"id": qid}
            except Exception as error:
                _LOG.warning("source=wikidata: a candidate cannot be read: %s", type(error).__name__)


def _inner(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `choices.wikidata`, or an empty mapping."""
    choices = reply.get("choices")
    choice = choices.get("wikidata") if isinstance(choices, Mapping) else None
    return choice if isinstance(choice, Mapping) else {}


def _selected(reply: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """Return the QID a reply names, if any, and what it says of `matched`, if anything."""
    inner = _inner(reply)
    matched = _truth(_first(inner, reply, "matched"))
    for value in (reply.get("selection"), inner.get("candidate"), inner.get("selection")):
        if qid := _named_qid(value):
            return qid, matched
    for name in ("wikidata_qid", "wikidata_uri"):
        value = _first(inner, reply, name)
        if qid := _qid_in(value):
            return qid, matched
    return None, matched


def _truth(value: Any) -> bool | None:
    """Return the truth value that a reply means, also as a number or a word; None when it means none."""
    if isinstance(value, (int, float)):
        return bool(value)
    word = (clean_text(value) or "").casefold()
    return True if word in _TRUE else False if word in _FALSE else None


def _named_qid(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return next((qid for name in ("id", "qid", "url", "uri") if (qid := _qid_in(value.get(name)))), None)
    return _qid_in(value)


def _first(inner: Mapping[str, Any], outer: Mapping[str, Any], name: str) -> Any:
    return inner[name] if inner.get(name) is not None else outer.get(name)


def _confidence(value: Any) -> float:
    if isinstance(value, bool) or value is None:
        return 0.0
    percent = isinstance(value, str) and value.strip().endswith(("%", "％"))
    try:
        number = float(value.strip().rstrip("%％") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    if math.isnan(number):
        return 0.0
    return min(max(number / 100 if percent else number, 0.0), 1.0)


def _text(value: Any) -> str:
    return shorten(clean_text(value) or "", 2048)


def as_json(value: Any) -> str:
    """Return compact JSON with Chinese as it is written."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
