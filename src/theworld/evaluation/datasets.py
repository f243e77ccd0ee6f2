"""A BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv or qrels.tsv), and the store of a dataset or document set:
where it lies, what making it took, and that it holds nothing else.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from theworld import __version__
from theworld.errors import IngestionError
from theworld.ingestion import IngestReport
from theworld.packages import cache_folder
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.evaluations import Query
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.records import content_hash

Row = TypeVar("Row", bound=BaseModel)
_LAYOUT = "A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv."
TENANT = "default"
"""Whose notes are measured."""
QRELS_FILES = ("qrels/test.tsv", "qrels.tsv", "qrels/dev.tsv", "qrels/train.tsv")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A question set over a corpus of documents."""

    name: str
    corpus: Path
    """The corpus file, ready to be ingested."""
    document_ids: frozenset[str]
    fingerprint: str
    """Hash of the corpus file's bytes."""
    queries: tuple[Query, ...]
    """In the order of the file."""


class Record(BaseModel):
    """A document of the corpus; what else stands on its line is read when it is ingested."""

    id: str = Field(alias="_id")
    text: str


class Gold(BaseModel):
    """What is right about a query."""

    answers: Annotated[tuple[str, ...], BeforeValidator(lambda one: (one,) if isinstance(one, str) else one)] = ()
    type: Any = None


class AskedRecord(Record):
    """A query."""

    metadata: Gold | None = None


def load_dataset(folder: Path) -> Dataset:
    """Read and check a BEIR folder.

    Raises IngestionError naming file and line where a file is missing, a line is no record, an id is doubled, or the
    qrels name a document or query that does not exist.
    """
    if not folder.is_dir():
        raise IngestionError("is not a folder.", where=str(folder), remedy="Give a BEIR folder with corpus.jsonl.")
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    documents = frozenset(record.id for _, record in read_rows(corpus, Record, _LAYOUT))
    with corpus.open("rb") as file:
        fingerprint = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    records = {record.id: record for _, record in read_rows(queries, AskedRecord, _LAYOUT)}
    qrels = next((folder / name for name in QRELS_FILES if (folder / name).is_file()), None)
    if qrels is None:
        raise IngestionError("has no qrels/test.tsv and no qrels.tsv.", where=str(folder))
    grades = _read_qrels(qrels, documents, records)
    found = []
    for key, record in records.items():
        gold = record.metadata or Gold()
        found.append(Query(key, record.text, gold.answers, str(gold.type or ""), grades.get(key, {})))
    return Dataset(folder.resolve().name, corpus, documents, fingerprint, tuple(found))


def _wrong(path: Path, line: int, what: str, remedy: str = "") -> IngestionError:
    return IngestionError(what, where=f"{path}, line {line}", remedy=remedy)


def read_lines(path: Path, remedy: str = "") -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of every line that is not blank; only line feeds end one, as in JSON lines.

    Raises IngestionError when the file is missing (with `remedy`), cannot be read or is no UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except FileNotFoundError as error:
        raise IngestionError("is missing.", where=str(path), remedy=remedy) from error
    except (OSError, UnicodeDecodeError) as error:
        raise IngestionError(f"cannot be read: {error}.", where=str(path), remedy="Save it as UTF-8 text.") from error


def read_rows(path: Path, model: type[Row], remedy: str) -> Iterator[tuple[str, Row]]:
    """Yield where each line of a file stands, and the line as a model; only line feeds end one.

    Raises IngestionError with file, line and field where a line is wrong, its id repeated, or when there is none.
    """
    where, seen = "", set[str]()
    for number, line in read_lines(path, remedy):
        where = f"{path}, line {number}"
        try:
            row = model.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            said = first["msg"].replace("at line 1 column", "at column")
            what = ": ".join(filter(None, (".".join(map(str, first["loc"])), said)))
            raise IngestionError(f"{what}.", where=where, remedy=remedy) from error
        name = getattr(row, "id", where)
        if name in seen:
            raise IngestionError(f"repeats the id {name!r}.", where=where, remedy="Ids must be unique.")
        seen.add(name)
        yield where, row
    if not where:
        raise IngestionError("holds nothing.", where=str(path), remedy=remedy)


def _read_qrels(path: Path, documents: Collection[str], queries: Collection[str]) -> dict[str, dict[str, int]]:
    """Return document and grade by query; a row has three columns (BEIR) or four (TREC)."""
    found: dict[str, dict[str, int]] = {}
    for number, line in read_lines(path, _LAYOUT):
        row = next(csv.reader([line], delimiter="\t", quoting=csv.QUOTE_NONE))
        if number == 1 and row[0] == "query-id":
            continue
        if len(row) not in (3, 4):
            raise _wrong(path, number, f"has {len(row)} columns.", "Write query-id, corpus-id and score, tabs between.")
        query, document, score = row[0], *row[-2:]
        try:
            grade = int(score)
        except ValueError as error:
            raise _wrong(path, number, f"has the score {score!r}, which is no whole number.") from error
        if query not in queries:
            raise _wrong(path, number, f"names the query {query!r}, which queries.jsonl does not have.")
        if grade > 0 and document not in documents:
            raise _wrong(path, number, f"names the document {document!r}, which corpus.jsonl does not have.")
        if grade > 0:
            found.setdefault(query, {})[document] = grade
    return found


def store_path(dataset: Dataset, settings: Settings) -> Path:
    """Return the folder of the dataset's store in the user's cache, one for each corpus and way of making notes."""
    neutral = {"threads", "api_key"}
    processing = [settings.embedding.model_dump_json(exclude=neutral), settings.tagger.model_dump_json()]
    versions = (__version__, str(SCHEMA_VERSION))
    key = content_hash(*versions, dataset.fingerprint, *processing, settings.notes.model_dump_json())
    return cache_folder() / "evaluation" / f"{dataset.name}-{key}.store"


def ingest_facts(report: IngestReport, dataset: Dataset, settings: Settings) -> dict[str, Any]:
    """Return what the `ingest` part of the figures says; nothing written means that the store was reused."""
    return {
        "corpus_documents": len(dataset.document_ids),
        **_counts(report),
        "seconds": {part: round(seconds, 3) for part, seconds in report.seconds.items()},
        "overhead": round(report.overhead, 4),
        "store": str(settings.store),
    }


def document_facts(report: IngestReport) -> dict[str, Any]:
    """Return the same for a set of documents."""
    return {**_counts(report), "passed_over": report.skipped, "seconds": round(report.seconds.get("total", 0.0), 3)}


def _counts(report: IngestReport) -> dict[str, Any]:
    return {
        "documents": report.documents,
        "unchanged": report.unchanged,
        "notes": report.notes,
        "failed": len(report.failed),
        "notes_per_second": round(report.rates.get("total", 0.0), 2),
    }


def check_store_holds_only(store: KnowledgeStore, dataset: Dataset) -> None:
    """Raise IngestionError when the store holds documents of another corpus, which would distort every figure."""
    _refuse(store.document_hashes(TENANT).keys() - dataset.document_ids, store, dataset.name)


def check_only_corpus(store: KnowledgeStore, corpus: Path) -> None:
    """Raise IngestionError when the store holds documents of other folders, which would distort every figure.

    A document named like a file of the corpus is none: ingestion replaces it, as when the set has moved.
    """
    sources = {note.document_id: note.source for note in store.iter_notes(TENANT)}
    foreign = {name for name, source in sources.items() if not PurePath(source).is_relative_to(corpus)}
    _refuse({name for name in foreign if not (corpus / name).is_file()}, store, str(corpus))


def _refuse(foreign: Collection[str], store: KnowledgeStore, corpus: str) -> None:
    if foreign:
        raise IngestionError(
            f"{len(foreign)} of the documents in the store are not in {corpus}, {min(foreign)!r} for instance.",
            where=str(store.path),
            remedy="Give a new folder as --store.",
        )
