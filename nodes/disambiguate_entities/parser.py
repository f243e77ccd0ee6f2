"""A judge's text to one judgement, and search results to what a judge is shown: the specification's three functions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from theworld.nodes.disambiguate_entities.parsing.candidates import format_candidates, items_of
from theworld.nodes.disambiguate_entities.parsing.identifiers import entity_url, qid_in
from theworld.nodes.disambiguate_entities.parsing.reply import read_reply
from theworld.nodes.disambiguate_entities.schema import (
    REASON_MATCHED,
    REASON_NO_CANDIDATES,
    REASON_NOT_MATCHED,
    REASON_UNREADABLE,
    JudgedEntity,
    JudgeOutput,
    read_entity,
    read_model,
)
from theworld.state import EntityCandidate

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
    entity, model = read_entity(label, type_hint), read_model(model)
    reply = read_reply(txt)
    if reply is None:
        return unmatched(entity, REASON_UNREADABLE, model=model).as_dict()
    if reply.qid is None or reply.matched is False:
        return unmatched(entity, reply.reason or REASON_NOT_MATCHED, reply.confidence, model).as_dict()
    chosen = next((item for item in _plain(candidates) if item["id"] == reply.qid), None)
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


def _plain(candidates: Any) -> Iterator[dict[str, Any]]:
    """Yield what can be read of the candidates of a judgement, as plain dicts; the rest is nobody's choice."""
    for item in items_of(candidates):
        if isinstance(item, Mapping):
            try:
                qid = qid_in(item.get("id"))
                if qid is not None:
                    yield {name: item.get(name) for name in EntityCandidate.model_fields} | {"id": qid}
            except Exception as error:
                _LOG.warning("source=wikidata: a candidate cannot be read: %s", type(error).__name__)
