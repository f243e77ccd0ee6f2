"""Every error the project raises on purpose.

    TheWorldError
    ├── InvalidQuestionError   a question that cannot be answered as it is
    ├── SettingsError          a setting out of range, unknown, or contradictory
    │   └── ReferenceConfigError a reference-resolver setting that is wrong
    ├── ModelError             a model that is missing, broken or does not answer
    │   ├── WeightsError       a file of weights that is missing, or not the one of its version
    │   └── ModelMismatchError a store's vectors were made by another model
    ├── StoreError             a store that cannot be opened, read or written
    │   ├── StoreVersionError  a store written by a newer or unknown version
    │   ├── StoreLockedError   another process is writing, or has open what is to be replaced
    │   ├── StoreClosedError   a store that is used after it was closed
    │   └── EngineUnavailableError a server that does not answer, refuses, or answers nonsense
    ├── IngestionError         a source that cannot be ingested
    ├── OntologyError          an ontology that is wrong, or of a kind that cannot be read
    ├── DatabaseError          a database that cannot be opened, does not fit its mapping, fails or takes too long
    ├── StatementRefusedError  a statement that a database must not be given
    ├── WikidataUnavailableError   the Wikidata service does not answer, or not as it should
    └── RetrievalUnavailableError  a part of the search failed or was late, and the caller is strict

Each says what is wrong, where, and how to fix it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


class TheWorldError(Exception):
    """Base of all errors raised on purpose.

    `what` is one sentence, `where` a path, setting or stage, `remedy` one sentence on how to fix it.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        said = what if what.endswith((".", "!", "?", "。")) or not remedy else f"{what}."
        super().__init__(" ".join(part for part in (f"{where}: {said}" if where else said, remedy) if part))


class InvalidQuestionError(TheWorldError):
    """The question is empty, too long or not text."""

    exit_code = 2


class SettingsError(TheWorldError):
    """A setting is unknown, out of range or contradicts another."""

    exit_code = 2


class ModelError(TheWorldError):
    """A model is missing, broken or does not answer."""

    exit_code = 3
    calls: int = 0
    """Calls of a language model that were made before giving up."""
    usage: object | None = None
    """What these calls consumed (a ModelUsage), where the model says; read it with `usage_of`."""


class WeightsError(ModelError):
    """The weights of a model on disk are not those of the version that is pinned."""


class ModelMismatchError(ModelError):
    """The store's vectors were made by another model than the one configured."""


class StoreError(TheWorldError):
    """A store cannot be opened, read or written."""

    exit_code = 4


class StoreVersionError(StoreError):
    """The store was written by a newer or unknown version."""


class StoreLockedError(StoreError):
    """Another process is writing to the store, or has it open while it is to be replaced."""


class StoreClosedError(StoreError):
    """The store was closed; a graph over it cannot be asked any more, whether the caller is strict or not."""


class EngineUnavailableError(StoreError):
    """A server that holds a projection does not answer in time, refuses, or answers something else than it should."""


class IngestionError(TheWorldError):
    """A source cannot be ingested."""

    exit_code = 5


class OntologyError(TheWorldError):
    """An ontology is wrong or cannot be read; `problems` are all that were found, each with line and element."""

    exit_code = 5

    def __init__(self, what: str, *, where: str = "", remedy: str = "", problems: tuple[object, ...] = ()) -> None:
        self.problems = problems
        super().__init__(what, where=where, remedy=remedy)


class ReferenceConfigError(SettingsError, ValueError):
    """A reference-resolver setting is wrong; names field, value and range."""


class WikidataUnavailableError(TheWorldError):
    """The Wikidata service does not answer in time, refuses, or answers something else than it should."""

    exit_code = 6


class DatabaseError(TheWorldError):
    """A database cannot be opened, does not fit its mapping, or a statement failed or took too long."""

    exit_code = 4


class StatementRefusedError(TheWorldError):
    """A statement does what is not allowed: anything but one bounded read of mapped tables and columns."""

    exit_code = 2


class RetrievalUnavailableError(TheWorldError):
    """A channel, fusion, the reranker or the database failed or was late, and the caller asked for `strict`."""

    exit_code = 6


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the remedy for an unknown name: the known one most like it, where there is one."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"Did you mean {close[0]}?" if close else otherwise


def check_kind(given: object, kind: type, *, where: str, remedy: str) -> None:
    """Raise SettingsError where something else is given than what is taken."""
    if not isinstance(given, kind):
        raise SettingsError(f"it is {given!r:.80}", where=where, remedy=remedy)


_TRIED = {"str", "list[str]"}
"""What pydantic adds to the place of a value of which it has tried several types."""


def in_plain_words(problem: Mapping[str, Any], fields: Iterable[str]) -> tuple[str, str]:
    """Return (what, remedy) of one of pydantic's problems: the field, its value, and what it should be."""
    place = ".".join(str(part) for part in problem["loc"] if part not in _TRIED)
    if problem["type"] == "extra_forbidden":
        return f"{place} is no field", did_you_mean(place, fields, f"Fields: {', '.join(fields)}.")
    return f"{place} is {problem['input']!r:.80}", f"{problem['msg'].replace('Input should', 'It should', 1)}."
