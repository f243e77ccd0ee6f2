"""What a judge's reply means, in any of the shapes the specification accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from theworld.nodes.disambiguate_entities.parsing.identifiers import only_qid_in
from theworld.nodes.disambiguate_entities.parsing.limits import clean_text, shorten
from theworld.structure import StructureParseError, extract_structured_data
from theworld.structure.reading.numerals import share_of

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

    None when the text has no such object.
    """
    if not isinstance(txt, str) or len(txt) > MAX_REPLY_CHARACTERS:
        return None
    try:
        reply = extract_structured_data(str.__str__(txt), JudgeReply).model_dump(exclude_unset=True)
    except StructureParseError:
        return None
    inner = _inner(reply)
    return StatedJudgement(
        qid=next(_named_qids(reply, inner), None),
        matched=_truth(_first(inner, reply, "matched")),
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
