"""What a language model says of candidates, read into a judgement; the seed's functions for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from theworld.entities.candidates import (
    clean_text,
    entity_url,
    format_candidates,
    items_of,
    only_qid_in,
    qid_in,
    shorten,
)
from theworld.entities.schema import (
    REASON_MATCHED,
    REASON_NO_CANDIDATES,
    REASON_NOT_MATCHED,
    REASON_UNREADABLE,
    JudgedEntity,
    JudgeOutput,
    read_entity,
    read_text,
)
from theworld.state import EntityCandidate
from theworld.structure import StructureParseError, parse_with_report
from theworld.structure.fitting.remedies import share_of

MAX_REPLY_CHARACTERS = 100_000
"""Longer replies are refused: a judgement is a few hundred characters."""
MAX_REASON_BYTES = 2048
_TRUE = frozenset({"true", "yes", "1", "是", "匹配"})
_FALSE = frozenset({"false", "no", "0", "none", "nil", "否", "不是", "不匹配", "未匹配"})


class JudgeReply(BaseModel):
    """The fields by which a judgement is known; values as they come."""

    model_config = ConfigDict(extra="allow")

    matched: Any = None
    confidence: Any = None
    reason: Any = None
    selection: Any = None
    choices: Any = None
    wikidata_uri: Any = None
    wikidata_qid: Any = None
    entity: Any = None
    source: Any = None
    model: Any = None


@dataclass(frozen=True, slots=True)
class StatedJudgement:
    """What a reply states."""

    qid: str | None
    """The entry it names."""
    matched: bool | None
    """None when it does not say."""
    confidence: float
    """In [0, 1]; 0 when it does not say."""
    reason: str
    """Empty when it does not say."""


def read_reply(txt: Any) -> StatedJudgement | None:
    """Return what the object of a text states that fills most of a judgement's fields, repaired where it is broken.

    None when the text has no such object, or was cut off before it said which entry, or that none, is meant.
    """
    if not isinstance(txt, str) or len(txt) > MAX_REPLY_CHARACTERS:
        return None
    try:
        report = parse_with_report(str.__str__(txt), JudgeReply)
    except StructureParseError:
        return None
    reply = report.value.model_dump(exclude_unset=True)
    inner = _inner(reply)
    qid, matched = next(_named_qids(reply, inner), None), _truth(_first(inner, reply, "matched"))
    if report.truncated and matched is not False and (qid is None or txt.rstrip().endswith(qid)):
        return None
    return StatedJudgement(
        qid=qid,
        matched=matched,
        confidence=share_of(_first(inner, reply, "confidence")) or 0.0,
        reason=shorten(clean_text(_first(inner, reply, "reason")) or "", MAX_REASON_BYTES),
    )


def _inner(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `choices.wikidata`, or an empty mapping."""
    choices = reply.get("choices")
    choice = choices.get("wikidata") if isinstance(choices, Mapping) else None
    return choice if isinstance(choice, Mapping) else {}


def _first(inner: Mapping[str, Any], outer: Mapping[str, Any], name: str) -> Any:
    return inner[name] if inner.get(name) is not None else outer.get(name)


def _named_qids(reply: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[str]:
    """Yield the QIDs a reply names, the plainest statement first."""
    stated = [reply.get("selection"), inner.get("candidate"), inner.get("selection")]
    stated += [_first(inner, reply, name) for name in ("wikidata_qid", "wikidata_uri")]
    for value in stated:
        if isinstance(value, list) and len(value) == 1:
            (value,) = value  # noqa: PLW2901
        fields = [value.get(name) for name in ("id", "qid", "url", "uri")] if isinstance(value, Mapping) else [value]
        yield from (qid for field in fields if (qid := only_qid_in(field)))


def _truth(value: Any) -> bool | None:
    """Return the truth value that a reply means, also as a number or a word; None when it means none."""
    if isinstance(value, (int, float)):
        return bool(value)
    word = (clean_text(value) or "").casefold()
    return True if word in _TRUE else False if word in _FALSE else None


__all__ = ["fallback_zero_candidates", "format_candidates", "judged", "parse_llm_output", "unmatched"]

_LOG = logging.getLogger(__name__)


def parse_llm_output(
    txt: str,
    candidates: Sequence[Mapping[str, Any]] | None,
    *,
    label: str = "",
    type_hint: str | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """Return the JudgeOutput dict a model's text means. Only a QID among `candidates` can be matched."""
    entity, model = read_entity(label, type_hint), read_text(model, "model")
    reply = read_reply(txt)
    if reply is None:
        return unmatched(entity, REASON_UNREADABLE, model=model).as_dict()
    if reply.qid is None or reply.matched is False:
        return unmatched(entity, reply.reason or REASON_NOT_MATCHED, reply.confidence, model).as_dict()
    chosen = next((item for item in _plain_candidates(candidates) if item["id"] == reply.qid), None)
    if chosen is None:
        why = f"所选实体 {reply.qid} 不在候选中" + (f"（{reply.reason}）" if reply.reason else "")
        return unmatched(entity, why, model=model).as_dict()
    return judged(entity, chosen, reply.confidence, reply.reason or REASON_MATCHED, model).as_dict()


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


def _plain_candidates(candidates: Any) -> Iterator[dict[str, Any]]:
    """Yield what can be read of the candidates of a judgement, as plain dicts; the rest is nobody's choice."""
    for item in items_of(candidates):
        if isinstance(item, Mapping):
            try:
                qid = qid_in(item.get("id"))
                if qid is not None:
                    yield {name: item.get(name) for name in EntityCandidate.model_fields} | {"id": qid}
            except Exception as error:
                _LOG.warning("source=wikidata: a candidate cannot be read: %s", type(error).__name__)
