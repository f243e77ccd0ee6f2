"""A small bilingual corpus written for this project, with questions that show every way an answer is made."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from theworld.state import Message
from theworld.text import Language

DemoBranch = Literal[
    "two-hop", "entity", "extractive", "how-to", "table", "list", "no-evidence", "follow-up", "stance", "comparison",
    "filter", "tenant", "disambiguation",
]  # fmt: skip
"""What a question shows: two documents needed, a short entity answer, a passage that tells it, a procedure with all its
steps or its command, a table's row under its header, a whole list, an honest "unsure" or "not enough evidence", a
question that needs the history, one about the assistant's own opinion, two documents compared, a metadata filter,
another tenant's empty store, which entry of Wikidata an ambiguous name means."""
SILENT: frozenset[DemoBranch] = frozenset({"no-evidence", "tenant"})


class Expected(BaseModel):
    """What an answer must hold and cite; nothing where it must be silent or unsure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answers: list[str] = Field(default_factory=list, description="Accepted answers; one of them must be in the answer")
    whole: list[str] = Field(default_factory=list, description="What one passage must show together: steps, a table")
    documents: list[str] = Field(default_factory=list, description="Ids of the documents that must be cited")


class DemoQuestion(Expected):
    """A question with everything needed to ask it and to judge the answer."""

    id: str = Field(pattern="^[a-z0-9-]+$", description="Name of the question")
    language: Language = Field(description="Language of the question")
    branch: DemoBranch = Field(description="What it shows")
    question: str = Field(min_length=1, description="The question as asked")
    history: list[Message] = Field(default_factory=list, description="Earlier messages, oldest first")
    standalone: list[str] = Field(default_factory=list, description="One must be in the question as it was understood")
    thread: list[Expected] = Field(default_factory=list, description="What is expected of each question of the history")
    stances: dict[str, dict[str, str]] = Field(default_factory=dict, description="Stances the assistant keeps")
    filters: dict[str, str | list[str]] = Field(default_factory=dict, description="Metadata that must match")
    tenant: str = Field(default="default", description="Whose knowledge is asked")
    entities: dict[str, str | None] = Field(
        default_factory=dict, description="Names -> the Wikidata id each must be linked to; null: to none"
    )

    @model_validator(mode="after")
    def _check(self) -> DemoQuestion:
        if (self.branch in SILENT) == bool(self.answers or self.whole):
            raise ValueError(f"{self.id}: only `no-evidence` and `tenant` questions go without answers")
        if (self.branch in SILENT) == bool(self.documents):
            raise ValueError(f"{self.id}: what is answered cites documents")
        if (self.branch == "follow-up") != bool(self.history) and self.branch != "stance":
            raise ValueError(f"{self.id}: `follow-up` questions, and only they, need a history")
        if self.thread and len(self.thread) != sum(message.role == "user" for message in self.history):
            raise ValueError(f"{self.id}: `thread` expects something of each question of the history")
        return self

    @property
    def turns(self) -> list[DemoQuestion]:
        """The history's questions and then this one, as they are asked one by one in a thread."""
        alone = self.model_copy(update={"history": [], "thread": []})
        asked = [message.content for message in self.history if message.role == "user"]
        earlier = [
            alone.model_copy(update={"branch": "extractive", "question": text, "standalone": [text], **dict(expected)})
            for text, expected in zip(asked, self.thread, strict=False)
        ]
        return [*earlier, alone]


def corpus_dir() -> Path:
    """Return the folder of the demo documents: Markdown, in `en` and `zh`."""
    return Path(__file__).with_name("corpus")


def load_questions() -> list[DemoQuestion]:
    """Return the demo questions in their order."""
    rows = yaml.safe_load(Path(__file__).with_name("questions.yaml").read_text("utf-8"))
    return [DemoQuestion.model_validate(row) for row in rows]
