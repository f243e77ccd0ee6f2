"""A strategy: how a question is to be answered differently, for A/B runs, evaluation and counterfactuals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from theworld.errors import SettingsError
from theworld.graph import Resources, make_resources
from theworld.state import Channel, Context

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class RerankChange(BaseModel, extra="forbid"):
    """What a strategy may change of reranking; a model or a server is its operator's choice only."""

    kind: Literal["evidence-set", "none"] | None = Field(default=None, description="Reranker")
    pool: int | None = Field(default=None, ge=1, le=1000, description="Candidates it looks at")


class SettingsChange(BaseModel, extra="forbid"):
    """Settings a strategy changes; names and ranges are those of the settings."""

    retrieval: dict[str, Any] = Field(default_factory=dict, description="Part of the settings `retrieval`")
    answers: dict[str, Any] = Field(default_factory=dict, description="Part of the settings `answers`")
    rerank: RerankChange = Field(default_factory=RerankChange, description="Part of the settings `rerank`")


class Strategy(BaseModel, extra="forbid"):
    """A way to answer; what is left out stays as the service has it."""

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
            sections = {}
            for name, change in changes.items():
                section = getattr(settings, name)
                sections[name] = type(section).model_validate(_merged(section.model_dump(), change))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(["strategy", "settings", *(str(part) for part in first["loc"])])
            raise SettingsError(first["msg"], where=where, remedy="See the table of settings.") from error
        settings = settings.model_copy(update=sections)
        made = make_resources(settings, resources.store, resources.models, resources.knowledge)
        kept = {name: getattr(resources, name) for name in ("resolver", "judge", "ontology")}
        return dataclasses.replace(made, **kept)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is there with what is changed, within mappings too."""
    both = [name for name, value in new.items() if isinstance(value, Mapping) and isinstance(old.get(name), Mapping)]
    return {**old, **new, **{name: _merged(old[name], new[name]) for name in both}}


def read_strategy(text: str, where: str = "service.ab_strategy") -> Strategy:
    """Return the strategy of a JSON text, which stands at `where`; SettingsError when it is none."""
    try:
        return Strategy.model_validate_json(text)
    except ValidationError as error:
        what, remedy = error.errors(include_url=False)[0]["msg"], 'Such as {"name": "B", "rerank": false}.'
        raise SettingsError(f"is no strategy: {what}", where=where, remedy=remedy) from error
