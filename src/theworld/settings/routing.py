"""Which way a question goes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from theworld.settings.section import Section


class RouterSettings(Section):
    """How questions are routed."""

    enabled: bool = Field(default=True, description="Off: every way is tried for every question")
    strategy: Literal["rules-v1", "learned-v1"] = Field(default="rules-v1", description="Who decides")
    weights: Path | None = Field(default=None, description="learned-v1: file of `theworld router train`; none: bundled")
    min_confidence: float = Field(default=0.45, ge=0.0, le=1.0, description="Less sure choices are widened to hybrid")
    exploration: float = Field(default=0.0, ge=0.0, le=0.5, description="Share of requests sent another way, to learn")
    ask_model: bool = Field(default=False, description="Ask a configured language model when the choice is not sure")

    @field_validator("weights")
    @classmethod
    def _without_tilde(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else None
