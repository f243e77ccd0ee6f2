"""What the tools take and return; the SDK publishes their schemas."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class Found(BaseModel):
    """A document that was found."""

    id: str = Field(description="Its id, for `fetch`")
    title: str = Field(description="Title, file and headings of the best passage")
    url: str = Field(description="Where a person reads it")
    text: str = Field(description="The best passage")


class SearchResults(BaseModel):
    """Documents, best first."""

    results: list[Found]


class FetchedDocument(BaseModel):
    """A document, or a stretch of a long one."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any] = Field(description="Source, characters in all, `next_start` when there is more")


class Quote(Found):
    """A passage that an answer rests on."""

    number: int = Field(description="Its number in the answer")


class AskAnswer(BaseModel):
    """An answer and what it rests on."""

    answer: str
    short: str = Field(description="The short answer by itself, where there is one")
    kind: str = Field(description="entity, extractive, generated, computed; none: the documents do not answer it")
    sureness: str = Field(description="sure, likely, unsure or none")
    citations: list[Quote]
    understood: str = Field(description="The question as understood, references to earlier turns resolved")


class Turn(BaseModel):
    """An earlier message."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=20_000)
