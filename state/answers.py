"""Answers, their citations and the places these name, and the judgement of entities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote

from pydantic import Field

from theworld.state.candidates import Candidate, Value

AnswerKind = Literal["entity", "extractive", "generated", "computed", "none"]
"""How the answer was made: `computed` from rows of a database, `none` when the evidence does not suffice."""

UNSURE = {"en": "Unsure: this may not answer the question.", "zh": "不确定：以下内容未必回答了这个问题。"}
SEE_ALSO = {"en": "See also: ", "zh": "另见："}
INSUFFICIENT = {"en": "There is not enough evidence to answer this question.", "zh": "没有足够的证据来回答这个问题。"}
"""How an answer's text says so; lines that begin with these are about no subject, to who reads a conversation."""


class Citation(Value):
    """The exact place an answer rests on."""

    number: int = Field(ge=1, description="The citation's number as used in the answer, from 1")
    document_id: str = Field(description="Document cited")
    note_id: str = Field(description="Note cited")
    title: str = Field(default="", description="Title of the document")
    section: tuple[str, ...] = Field(default=(), description="Headings the quote stands under, outermost first")
    source: str = Field(default="", description="Path or URL of the document")
    start: int = Field(ge=0, description="Character offset of the quote in the document")
    end: int = Field(ge=0, description="End offset, exclusive")
    quote: str = Field(default="", description="The cited text")
    place: str = Field(
        default_factory=lambda data: place_of(data["document_id"], data["source"], data["title"], data["section"]),
        description="Where a reader finds it: file, title and headings (follows from the other fields)",
    )

    @classmethod
    def of(cls, number: int, note: Candidate, start: int = 0, end: int | None = None) -> Citation:
        """Return the citation of a note's text[start:end], the whole text by default."""
        end = len(note.text) if end is None else end
        return cls(
            number=number,
            document_id=note.document_id,
            note_id=note.note_id,
            title=note.title,
            section=note.section,
            source=note.source,
            start=note.start + start,
            end=note.start + end,
            quote=note.text[start:end],
        )


Sureness = Literal["sure", "likely", "unsure", "none"]
"""How sure an answer of passages is, in a word; `none` for any other, which has its `confidence` alone."""


class Passage(Value):
    """A piece of a document that is shown as answer: a lead, then document.text[start:end]."""

    number: int = Field(ge=1, description="Its number in the answer, from 1, and that of its citation")
    document_id: str = Field(description="The document")
    note_id: str = Field(description="Its first note")
    title: str = Field(default="", description="Title of the document")
    section: tuple[str, ...] = Field(default=(), description="Headings it stands under, outermost first")
    source: str = Field(default="", description="Path or URL of the document")
    place: str = Field(description="Where a reader finds it: file, title and headings")
    text: str = Field(description="What is shown: a lead (a table's header, a list's introduction) and the passage")
    start: int = Field(ge=0, description="Character offset of the passage in the document")
    end: int = Field(ge=0, description="End offset, exclusive")
    goes_on: bool = Field(default=False, description="Whether it is marked that more of its note follows")
    marks: tuple[tuple[int, int], ...] = Field(
        default=(), description="(start, end) in `text` of the question's words, ascending"
    )

    @property
    def citation(self) -> Citation:
        """The passage as a citation, without its lead."""
        quote = self.text[len(self.text) - (self.end - self.start) :]
        shared = self.model_dump(exclude={"text", "marks", "goes_on"})
        return Citation(**shared, quote=quote)


class EvidencePart(Value):
    """What one note gave to one entity: weight = score * decay * (1 + beta * coverage + gamma * consistency)."""

    note_id: str = Field(description="The note")
    score: float = Field(description="Its final score, in [0, 1]")
    decay: float = Field(description="Hop decay ** (hop - 1)")
    coverage: float = Field(description="Share of the path's entities that it has")
    consistency: int = Field(description="1 if its text names any of them")
    weight: float = Field(description="Their product")


class EntityEvidence(Value):
    """One entity's place in EFSA: score = sum of the parts' weights * diversity."""

    rank: int = Field(ge=1, description="From 1")
    key: str = Field(description="Identity key")
    name: str = Field(description="Name as first written")
    score: float = Field(description="All evidence for it")
    diversity: float = Field(description="1 + epsilon * min(documents - 1, most)")
    documents: int = Field(description="Documents that name it")
    parts: tuple[EvidencePart, ...] = Field(description="By note, in the order of the evidence")


class AnswerScores(Value):
    """Numbers behind an entity answer by EFSA: share = best / sum of all scores, margin = (best - second) / best."""

    share: float = Field(description="The answer's share of all evidence")
    margin: float = Field(description="Its margin to the runner-up; 1 without one")
    efsa: dict[str, float] = Field(description="EFSA's constants: hop_decay, beta, gamma, epsilon, most")
    entities: tuple[EntityEvidence, ...] = Field(description="EFSA's first entities, the answer first")
    ranked: int = Field(description="Entities that EFSA ranked")


class Answer(Value):
    """An answer with its evidence."""

    text: str = Field(default="", description="The answer, or what was found instead")
    short: str = Field(default="", description="The short answer by itself: a name, a date, a figure with its unit")
    passages: tuple[Passage, ...] = Field(default=(), description="The passages shown, best first")
    see_also: tuple[str, ...] = Field(default=(), description="Places of further notes that may help")
    sureness: Sureness = Field(default="none", description="How sure it is, in a word; follows from the confidence")
    kind: AnswerKind = Field(default="none", description="How it was made")
    confidence: float = Field(default=0.0, ge=0.0, le=1.0, description="Confidence in the answer")
    citations: tuple[Citation, ...] = Field(default=(), description="What it rests on, by number")
    reason: str = Field(default="", description="Why this kind of answer was given")
    entity: str | None = Field(default=None, description="Identity key of the answering entity (kind `entity`)")
    qid: str | None = Field(default=None, description="Wikidata id of the answering entity, when linked")
    url: str | None = Field(default=None, description="URL of the answering entity's entry, when linked")
    scores: AnswerScores | None = Field(
        default=None, description="What the numbers follow from, where the entity was chosen among typed spans"
    )

    @property
    def brief(self) -> str:
        """The short answer where there is one, else the whole text."""
        return self.short or self.text


class EntityCandidate(Value):
    """A knowledge-base entry that a mention may refer to."""

    id: str = Field(description="Wikidata id, Q...")
    url: str = Field(description="URL of the entry")
    label: str | None = Field(default=None, description="Label")
    description: str | None = Field(default=None, description="Description")
    aliases: tuple[str, ...] | None = Field(default=None, description="Other names")
    key_props_excerpt: str | None = Field(default=None, description="Key facts, shortened")


class EntityJudgement(Value):
    """Which entry a mention refers to, or that none fits (JudgeOutput of the Wikidata specification)."""

    source: str = Field(default="wikidata", description="Knowledge base")
    label: str = Field(description="The mention judged")
    type_hint: str | None = Field(default=None, description="Type of the mention, if known")
    matched: bool = Field(default=False, description="False is an answer too: NIL")
    confidence: float = Field(default=0.0, ge=0.0, le=1.0, description="Confidence in the decision")
    reason: str = Field(default="", description="What decided")
    selection: EntityCandidate | None = Field(default=None, description="The chosen entry")
    model: str | None = Field(default=None, description="Model that judged, None for the deterministic judge")


PATH_SEPARATOR = " › "
"""Between the parts of a place or section path: `leave.md › Parental leave › Eligibility`."""

_FILE = re.compile(r".*[^\s.]\.[A-Za-z][A-Za-z0-9]{0,7}")
_OF_ITS_FOLDER = frozenset({"index", "_index", "readme", "__init__"})
_WORD = re.compile(r"[^\W_]+")


def is_of_its_folder(name: str) -> bool:
    """Return whether a file's name says nothing without its folder: index.md, README.zh-cn.md."""
    return name.partition(".")[0].casefold() in _OF_ITS_FOLDER


def place_of(document_id: str, source: str, title: str, section: Sequence[str]) -> str:
    """Return the file's name, the title unless the file is named so, and the headings.

    A part that is the one before it, or that one without its brackets, says nothing new and is left out.
    """
    headings = [" ".join(heading.split()) for heading in section if heading.strip()]
    title = " ".join(title.split())
    # The document's own file or page; a path as source is not looked at: the file may hold many documents.
    page = unquote(source.partition("://")[2].partition("/")[2].partition("?")[0].partition("#")[0])
    paths = (path for path in map(PurePosixPath, (document_id, page)) if _FILE.fullmatch(path.name))
    file = next(paths, PurePosixPath())
    folder = file.parent.name if is_of_its_folder(file.name) else ""
    name = f"{folder}/{file.name}" if folder else file.name
    named_so = title and _words(title) in (_words(name), _words(PurePosixPath(name).stem))
    parts = [name, "" if named_so else title] if name else [title or document_id]
    shown = [part for part in (*parts, *headings) if part]
    bare = [part.replace("（", " (").partition(" (")[0] for part in shown]
    before = [([],), *zip(map(_words, shown), map(_words, bare), strict=True)]
    kept = [part for part, names in zip(shown, before, strict=False) if _words(part) not in names]
    return PATH_SEPARATOR.join(kept or shown)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
