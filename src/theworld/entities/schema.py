"""The judgement's schema and the limits of candidates, as the Wikidata specification names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theworld.errors import SettingsError, TheWorldError
from theworld.state import EntityCandidate

REASON_NO_CANDIDATES = "无候选"
REASON_UNREADABLE = "输出解析失败"
REASON_MATCHED = "已选择候选"
REASON_NOT_MATCHED = "未匹配到合适候选"


class CandidateLimits(BaseModel):
    """`settings.tasks.l2_disambiguation.candidate_limits.wikidata` of the specification."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    max_candidates: int = Field(default=2, ge=0, le=1000, description="Candidates passed on")
    per_candidate_max_bytes: int = Field(default=1024, ge=128, description="UTF-8 bytes of one candidate as JSON")
    key_props_max_bytes: int = Field(default=512, ge=0, description="UTF-8 bytes of the key facts")
    include_aliases: bool = Field(default=True, description="Whether aliases are kept")


class JudgedEntity(BaseModel):
    """The mention that was judged."""

    model_config = ConfigDict(extra="forbid")

    label: str = Field(description="The mention")
    type_hint: str | None = Field(default=None, description="Its type, where known")


class InvalidMentionError(TheWorldError, ValueError):
    """A mention's label or type, or the name of a model, is no text."""


def read_entity(label: Any, type_hint: Any = None) -> JudgedEntity:
    """Return the mention to judge; what no JSON can hold (a lone surrogate) is replaced."""
    return JudgedEntity(label=read_text(label, "label") or "", type_hint=read_text(type_hint, "type_hint"))


def read_text(value: Any, name: str) -> str | None:
    """Return a text as JSON can hold it; all but the label may be missing."""
    if value is None and name != "label":
        return None
    if not isinstance(value, str):
        raise InvalidMentionError(f"`{name}` must be text, not {type(value).__name__}.", where="JudgeOutput.entity")
    return str.encode(value, "utf-8", "replace").decode("utf-8")


class JudgeOutput(BaseModel):
    """Which candidate a mention refers to, or that none fits."""

    model_config = ConfigDict(extra="forbid")

    source: Literal["wikidata"] = Field(default="wikidata", description="Knowledge base")
    entity: JudgedEntity = Field(description="The mention judged")
    matched: bool = Field(default=False, description="False is an answer too: none of these")
    confidence: float = Field(default=0.0, ge=0.0, le=1.0, description="Confidence in the decision")
    reason: str = Field(default="", description="What decided")
    selection: EntityCandidate | None = Field(default=None, description="The chosen candidate")
    model: str | None = Field(default=None, description="The model that judged; None: the deterministic judge")

    def as_dict(self) -> dict[str, Any]:
        """Return the plain dict of the specification, null fields kept, aliases as a list."""
        return self.model_dump(mode="json")


def read_limits(cfg: Mapping[str, Any] | CandidateLimits | None) -> CandidateLimits:
    """Return the limits in `cfg`, which may be the limits themselves or any of the settings that hold them."""
    if isinstance(cfg, CandidateLimits):
        return cfg
    if cfg is None:
        return CandidateLimits()
    if not isinstance(cfg, Mapping):
        raise SettingsError(f"candidate limits must be a dict, not {type(cfg).__name__}.", where="candidate_limits")
    try:
        for name in ("settings", "tasks", "l2_disambiguation", "candidate_limits", "wikidata"):
            inner = cfg.get(name)
            if isinstance(inner, Mapping):
                cfg = inner
        return CandidateLimits.model_validate({name: cfg[name] for name in CandidateLimits.model_fields if name in cfg})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{name}: {first['msg']}.", where="candidate_limits.wikidata") from error
    except Exception as error:
        raise SettingsError(f"they cannot be read: {type(error).__name__}.", where="candidate_limits") from error
