"""The judgement in a judge's reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from theworld.structure import StructureParseError, extract_structured_data

MAX_REPLY_CHARACTERS = 100_000
"""Longer replies are refused: a judgement is a few hundred characters."""


class JudgeReply(BaseModel):
    """The fields by which a judgement is known, in any of the shapes the specification accepts; values as they come."""

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


def read_reply(txt: Any) -> Mapping[str, Any] | None:
    """Return the object of a text that fills most of a judgement's fields, repaired where it is broken; else None."""
    if not isinstance(txt, str) or len(txt) > MAX_REPLY_CHARACTERS:
        return None
    try:
        reply = extract_structured_data(str.__str__(txt), JudgeReply)
    except StructureParseError:
        return None
    return reply.model_dump(exclude_unset=True)
