"""Read a BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv (or qrels.tsv)."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from theworld.errors import IngestionError
from theworld.stores.ledger.evaluations import Query

Row = TypeVar("Row", bound=BaseModel)
_LAYOUT = "A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv."
QRELS_FILES = ("qrels/test.tsv", "qrels.tsv", "qrels/dev.tsv", "qrels/train.tsv")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A question set over a corpus of documents."""

    name: str
    corpus: Path
    """The corpus file, ready to be ingested."""
    document_ids: frozenset[str]
    """Ids of the documents in it."""
    fingerprint: str
    """Hash of the corpus file's bytes."""
    queries: tuple[Query, ...]
    """In the order of the file."""


def load_dataset(folder: Path) -> Dataset:
    """Read and check a BEIR folder.

    Raises IngestionError naming file and line where a file is missing, a line is no record, an id is doubled, or the
    qrels name a document or query that does not exist.
    """
    if not folder.is_dir():
        raise IngestionError("is not a folder.", where=str(folder), remedy="Give a BEIR folder with corpus.jsonl.")
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    documents = frozenset(record["_id"] for record in read_corpus(corpus))
    with corpus.open("rb") as file:
        fingerprint = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    records = {record["_id"]: (line, record) for line, record in _records(queries)}
    qrels = next((folder / name for name in QRELS_FILES if (folder / name).is_file()), None)
    if qrels is None:
        raise IngestionError("has no qrels/test.tsv and no qrels.tsv.", where=str(folder))
    grades = _read_qrels(qrels, documents, records)
    found = []
    for key, (line, record) in records.items():
        metadata = record.get("metadata") or {}
        answers = metadata.get("answers", []) if isinstance(metadata, dict) else None
        answers = [answers] if isinstance(answers, str) else answers
        if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
            raise _wrong(queries, line, "has `metadata.answers` that is no list of texts.")
        kind = str(metadata.get("type") or "")
        found.append(Query(key, record["text"], tuple(answers), kind, grades.get(key, {})))
    return Dataset(folder.resolve().name, corpus, documents, fingerprint, tuple(found))


def read_corpus(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a corpus file's records; `_id` and `text` are present, ids are unique. Raises as `load_dataset`."""
    return (record for _, record in _records(path))


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

    Raises IngestionError with file, line and field where a line is wrong, or when there is none.
    """
    where = ""
    for number, line in read_lines(path, remedy):
        where = f"{path}, line {number}"
        try:
            yield where, model.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            what = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
            raise IngestionError(f"{what}.", where=where, remedy=remedy) from error
    if not where:
        raise IngestionError("holds nothing.", where=str(path), remedy=remedy)


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield every line's object; `_id` and `text` are present, ids are unique."""
    seen: set[str] = set()
    for number, line in read_lines(path, _LAYOUT):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise _wrong(path, number, f"is no JSON object: {error}.") from error
        if not isinstance(record, dict):
            raise _wrong(path, number, f"is a {type(record).__name__}, not a JSON object.")
        for name in ("_id", "text"):
            if not isinstance(record.get(name), str):
                raise _wrong(path, number, f"has no text field `{name}`.")
        if record["_id"] in seen:
            raise _wrong(path, number, f"repeats the _id {record['_id']!r}.", "Ids must be unique.")
        seen.add(record["_id"])
        yield number, record
    if not seen:
        raise IngestionError("holds no records.", where=str(path))


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
