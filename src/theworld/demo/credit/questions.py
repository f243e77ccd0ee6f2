"""Questions across classes over the sample domain, with the notes an answer rests on."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict, Field

from theworld.text import Language


class CreditQuestion(BaseModel):
    """A question in one language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Name of the question, with its language")
    language: Language = Field(description="Its language")
    question: str = Field(description="The question as asked")
    notes: tuple[str, ...] = Field(description="Ids of all notes that a full answer rests on, in either language")
    answers: tuple[str, ...] = Field(description="One of them must be said")
    apart: bool = Field(default=False, description="Written apart from the code, before anyone saw what it makes of it")
    held_back: bool = Field(
        default=False, description="Of the third, chosen by a hash of the id, that nothing is tuned on"
    )


def load_credit_questions() -> list[CreditQuestion]:
    """Return the questions, each in Chinese and then in English."""
    rows = yaml.safe_load((files("theworld.demo.credit") / "questions.yaml").read_text("utf-8"))
    languages: tuple[Language, ...] = ("zh", "en")
    return [
        CreditQuestion(
            id=f"{row['id']}-{language}",
            language=language,
            question=row[language],
            notes=tuple(f"{document}.md#0" for document in row["notes"]),
            answers=tuple(row["answers"][language]),
            apart=row.get("apart", False),
            held_back=hashlib.blake2b(row["id"].encode(), digest_size=4).digest()[0] % 3 == 0,
        )
        for row in rows
        for language in languages
    ]
