"""The demo questions: what is asked, which answers are right, and which branch of the graph each one shows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from theworld.state import Message
from theworld.text import Language

DemoBranch = Literal[
    "two-hop",
    "entity",
    "extractive",
    "no-evidence",
    "follow-up",
    "stance",
    "comparison",
    "filter",
    "tenant",
    "disambiguation",
]
"""What a question shows: a path over two documents, a short entity answer, an answer cut from the text, an honest
"nothing found", a question that needs the history, one about the assistant's own opinion, two documents compared,
a metadata filter, another tenant's empty store, which entry of Wikidata an ambiguous name means."""


class DemoQuestion(BaseModel):
    """A question with everything needed to ask it and to judge the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern="^[a-z0-9-]+$", description="Name of the question")
    language: Language = Field(description="Language of the question")
    branch: DemoBranch = Field(description="What it shows")
    question: str = Field(min_length=1, description="The question as asked")
    answers: list[str] = Field(default_factory=list, description="Accepted answers; one of them must be in the answer")
    documents: list[str] = Field(default_factory=list, description="Ids of the documents the answer rests on")
    history: list[Message] = Field(default_factory=list, description="Earlier messages, oldest first")
    stances: dict[str, dict[str, str]] = Field(default_factory=dict, description="Stances the assistant keeps")
    filters: dict[str, str | list[str]] = Field(default_factory=dict, description="Metadata that must match")
    tenant: str = Field(default="default", description="Whose knowledge is asked")
    entities: dict[str, str | None] = Field(
        default_factory=dict, description="Names -> the Wikidata id each must be linked to; null: to none"
    )

    @model_validator(mode="after")
    def _check(self) -> DemoQuestion:
        silent = self.branch in {"no-evidence", "tenant"}
        if silent == bool(self.answers) and self.branch != "stance":
            raise ValueError(f"{self.id}: only `no-evidence` and `tenant` questions go without answers")
        if (self.branch == "follow-up") != bool(self.history) and self.branch != "stance":
            raise ValueError(f"{self.id}: `follow-up` questions, and only they, need a history")
        return self


def load_questions() -> list[DemoQuestion]:
    """Return the demo questions in their order."""
    rows = yaml.safe_load(Path(__file__).with_name("questions.yaml").read_text("utf-8"))
    return [DemoQuestion.model_validate(row) for row in rows]
