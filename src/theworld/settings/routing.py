"""Which way a question goes."""

from __future__ import annotations

from pydantic import Field

from theworld.settings.section import Section


class RouterSettings(Section):
    """How questions are routed."""

    enabled: bool = Field(default=True, description="Off: every way is tried for every question")
    min_confidence: float = Field(default=0.45, ge=0.0, le=1.0, description="Less sure choices are widened to hybrid")
