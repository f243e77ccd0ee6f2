"""What is given to EFSA, checked once, so that the sums can trust it: what is wrong is named."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from theworld.errors import TheWorldError
from theworld.text import entity_key


class InvalidNoteError(TheWorldError, ValueError):
    """A note or another argument given to EFSA is of the wrong type."""


@dataclass(frozen=True, slots=True)
class EvidenceNote:
    """One note as EFSA sees it."""

    entities: Mapping[str, str]
    """Identity key -> name as written first, in order of appearance."""
    score: float
    """Relevance, on the scale of the caller's ranking."""
    hop: int
    """1 when reached from the query itself, 2 over one bridge, ..."""
    document: str
    """Id of the document, for the diversity reward."""
    paragraphs: tuple[int | str, ...]
    """Paragraph indexes to cite."""
    text: str
    """Title and content, for the consistency test."""


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn whatever an object raises while it is read into InvalidNoteError."""
    try:
        yield
    except TheWorldError:
        raise
    except Exception as error:
        raise InvalidNoteError(f"it cannot be read: {type(error).__name__}.", where=where) from error


def wrong(name: str, wanted: str, value: Any, where: str) -> InvalidNoteError:
    """Return the error of an argument that is not what is wanted."""
    return InvalidNoteError(f"`{name}` must be {wanted}, not {type(value).__name__}.", where=where)


def text_of(value: Any, name: str, where: str = "efsa_answer") -> str:
    """Return a text argument; a plain str, whatever its class does."""
    if not isinstance(value, str):
        raise wrong(name, "text", value, where)
    return str.__str__(value)


def names_of(value: Any, name: str, where: str = "efsa_answer") -> list[str]:
    """Return the names an argument holds: none, one, or several of which None is passed over."""
    if value is None or isinstance(value, str):
        return [] if value is None else [str.__str__(value)]
    if isinstance(value, (bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise wrong(name, "a list of names", value, where)
    found = [text_of(each, f"{name}[{place}]", where) for place, each in enumerate(list(value)) if each is not None]
    return sorted(found) if isinstance(value, (set, frozenset)) else found  # a set's order differs between processes


def aliases_of(value: Any) -> dict[str, str]:
    """Return the table of aliases."""
    if value is not None and not isinstance(value, Mapping):
        raise wrong("aliases", "a dict of name to name", value, "efsa_answer")
    return {text_of(alias, "aliases"): text_of(name, "aliases") for alias, name in (value or {}).items()}


def count_of(value: Any, name: str) -> int:
    """Return a whole number; 0 for negative ones."""
    try:
        return max(operator.index(value), 0)
    except TypeError as error:
        raise wrong(name, "a whole number", value, "efsa_answer") from error


def finite(value: Any, name: str, where: str) -> float:
    """Return a number that is neither NaN nor infinite."""
    if isinstance(value, (bool, str, bytes, type)) or not hasattr(value, "__float__"):
        raise wrong(name, "a number", value, where)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidNoteError(f"`{name}` must be finite, not {number}.", where=where)
    return number


def read_notes(candidates: Sequence[Mapping[str, Any]], limit: int, *, logits: bool = False) -> list[EvidenceNote]:
    """Check and read the first `limit` notes.

    Missing fields have defaults: no entities, score 0, hop 1, no paragraphs; a missing `doc_id` counts as a document
    of its own. Scores are used as given, or as `logits` go through a sigmoid.
    Raises InvalidNoteError naming the note and the field.
    """
    if isinstance(candidates, (str, bytes, Mapping)) or not isinstance(candidates, Sequence):
        raise wrong("candidates", "a list of dicts", candidates, "efsa_answer")
    notes = []
    for index, note in enumerate(candidates[:limit]):
        where = f"candidates[{index}]"
        entities, document = entity_names(note, where), note.get("doc_id")
        given = {name: note.get(name) for name in ("final_score", "hop_no")}
        numbers = {name: finite(value, name, where) for name, value in given.items() if value is not None}
        score, value = numbers.get("final_score", 0.0), note.get("paragraph_idxs")
        paragraphs = [value] if isinstance(value, Integral) else [] if value is None else value
        if isinstance(paragraphs, (str, bytes, Mapping)) or not isinstance(paragraphs, Sequence):
            raise wrong("paragraph_idxs", "a list", value, where)
        for one in paragraphs:
            if not isinstance(one, (Integral, str)):
                raise wrong("paragraph_idxs", "a list of numbers and texts", one, where)
        notes.append(
            EvidenceNote(
                entities=entities,
                score=(1 + math.tanh(score / 2)) / 2 if logits else score,
                hop=max(int(numbers.get("hop_no", 1)), 1),
                document=f"\0{index}" if document is None else str(document),
                paragraphs=tuple(one if isinstance(one, str) else int(one) for one in paragraphs),
                text=note_text(note),
            )
        )
    return notes


def entity_names(note: Mapping[str, Any], where: str = "note") -> dict[str, str]:
    """Return identity key -> name of a note's entities, in order; names without a key are left out."""
    if not isinstance(note, Mapping):
        raise wrong("note", "a dict", note, where)
    value = note.get("entities")
    if isinstance(value, str):
        raise wrong("entities", "a list of names", value, where)
    found: dict[str, str] = {}
    for name in names_of(value, "entities", where):
        key = entity_key(name)
        if key:
            found.setdefault(key, name.strip())
    return found


def note_text(note: Mapping[str, Any]) -> str:
    """Return title and content (or `text`) in one string."""
    parts = [note.get("title"), note.get("content") or note.get("text")]
    return "\n".join(str.__str__(part) for part in parts if isinstance(part, str))
