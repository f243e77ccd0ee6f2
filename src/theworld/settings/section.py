"""What every section of the settings is: frozen, unknown names refused."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of a settings section: frozen, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
