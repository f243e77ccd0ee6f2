"""Who said what, and what a question refers to in it (source: the reference-resolver specification)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


class ReferenceType(StrEnum):
    """What kind of thing a referring expression points at."""

    TEMPORAL = "temporal"
    REFERENTIAL = "referential"
    STANCE = "stance"
    CORRECTION = "correction"
    CONTINUATION = "continuation"
    NONE = "none"


class ReferenceScope(StrEnum):
    """How far back in the conversation a reference reaches."""

    LAST_1_3_TURNS = "last_1_3_turns"
    LAST_5_10_TURNS = "last_5_10_turns"
    CURRENT_SESSION = "current_session"
    LAST_SHARED_TOPIC = "last_shared_topic"
    ASSISTANT_LAST_STANCE = "assistant_last_stance"
    CUSTOM = "custom"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Message:
    """One message of the chat history, oldest first in any list of them."""

    role: str
    """Who speaks: `user`, `assistant`, `system` or `tool`."""
    content: str | None = ""
    """The text; None (a pure tool call) counts as empty."""
    timestamp: datetime | None = None
    """When it was said; naive times are taken to be in the resolver's time zone."""
    turn_id: str | None = None
    """The caller's own id of the turn."""
    topic: str | None = None
    """A topic label, where the caller has one."""


@dataclass(frozen=True)
class ReferenceMatch:
    """One referring expression found in a query."""

    keyword: str
    """The keyword of the table that matched."""
    span: tuple[int, int]
    """Character offsets [start, end) in the query."""
    reference_type: ReferenceType
    """What kind of reference it is."""
    scope: ReferenceScope
    """How far back it reaches."""
    source_turns: tuple[int, ...] = ()
    """Indexes into the history of the messages it points at, ascending."""
    content: str | None = None
    """The text it points at, labelled by role, or None where there is no history."""
    reason: str = ""
    """How the turns were chosen, in words."""


@dataclass(frozen=True)
class ResolvedReference:
    """What a query refers to in its history; `NONE`/`CUSTOM` when it refers to nothing."""

    reference_type: ReferenceType = ReferenceType.NONE
    """The primary reference's type."""
    scope: ReferenceScope = ReferenceScope.CUSTOM
    """The primary reference's scope."""
    resolved_content: str | None = None
    """The text referred to, labelled by role in the language of the query."""
    confidence: float = 0.0
    """Probability in [0, 1] that type and scope are right."""
    source_turns: list[int] = Field(default_factory=list)
    """Indexes into the history of the messages referred to, ascending."""
    matched_keyword: str | None = None
    """The keyword that decided, as written in its table."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Language, recall_turns and further plain facts about the decision."""
    matches: tuple[ReferenceMatch, ...] = ()
    """Every reference in the query, the primary one first."""
    standalone_query: str | None = None
    """The query rewritten so that it can be understood alone; None when no rewrite was needed."""
    in_context: str | None = None
    """The query with what the question before is about, where it names little and nothing in it points back; else None.
    It is searched as well where the query alone finds nothing sure."""
    options: tuple[str, ...] = ()
    """Equally good antecedents of an ambiguous reference, best first; empty where it is clear."""

    @property
    def recall_turns(self) -> int | None:
        """Number of turns suggested for recall, or None when nothing is referred to."""
        turns = self.metadata.get("recall_turns")
        return turns if isinstance(turns, int) else None
