"""A strategy: how a question is to be answered differently, for A/B runs, evaluation and counterfactuals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theworld.errors import SettingsError
from theworld.graph import Resources, make_resources
from theworld.state import Channel, Context

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class RerankChange(BaseModel):
    """What a strategy may change of reranking; a model or a server is its operator's choice only."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["evidence-set", "none"] | None = Field(default=None, description="Reranker")
    pool: int | None = Field(default=None, ge=1, le=1000, description="Candidates it looks at")


class SettingsChange(BaseModel):
    """Settings a strategy changes; names and ranges are those of the settings."""

    model_config = ConfigDict(extra="forbid")

    retrieval: dict[str, Any] = Field(default_factory=dict, description="Part of the settings `retrieval`")
    answers: dict[str, Any] = Field(default_factory=dict, description="Part of the settings `answers`")
    rerank: RerankChange = Field(default_factory=RerankChange, description="Part of the settings `rerank`")


class Strategy(BaseModel):
    """A way to answer; what is left out stays as the service has it."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(default="B", description="How it is called in logs and results")
    channels: list[Channel] | None = Field(default=None, description="Exactly these channels, instead of the router's")
    rerank: bool | None = Field(default=None, description="Reranking on or off")
    top_k: int | None = Field(default=None, ge=1, le=1000, description="Candidates kept")
    settings: SettingsChange = Field(default_factory=SettingsChange, description="Settings changed")

    def context(self, context: Context) -> Context:
        """Return a caller's context with this strategy's choices."""
        chosen = {"channels": self.channels, "rerank": self.rerank, "top_k": self.top_k}
        return context.model_copy(update={name: value for name, value in chosen.items() if value is not None})

    def resources(self, resources: Resources) -> Resources:
        """Return resources over the same store and models with this strategy's settings; SettingsError when wrong."""
        changes = self.settings.model_dump(exclude_defaults=True, exclude_none=True)
        if not changes:
            return resources
        settings = resources.settings
        try:
            sections = {
                name: type(getattr(settings, name)).model_validate(
                    _merged(getattr(settings, name).model_dump(), change)
                )
                for name, change in changes.items()
            }
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(["strategy", "settings", *(str(part) for part in first["loc"])])
            raise SettingsError(first["msg"], where=where, remedy="See the table of settings.") from error
        settings = settings.model_copy(update=sections)
        made = make_resources(settings, resources.store, resources.models, resources.knowledge)
        return dataclasses.replace(
            made, resolver=resources.resolver, judge=resources.judge, ontology=resources.ontology
        )


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for name, value in new.items():
        both = isinstance(value, Mapping) and isinstance(old.get(name), Mapping)
        merged[name] = _merged(old[name], value) if both else value
    return merged


def read_strategy(text: str, where: str = "service.ab_strategy") -> Strategy:
    """Return the strategy of a JSON text, which stands at `where`; SettingsError when it is none."""
    try:
        return Strategy.model_validate_json(text)
    except ValidationError as error:
        what, remedy = error.errors(include_url=False)[0]["msg"], 'Such as {"name": "B", "rerank": false}.'
        raise SettingsError(f"is no strategy: {what}", where=where, remedy=remedy) from error
