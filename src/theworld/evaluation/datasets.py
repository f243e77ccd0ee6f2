"""Read a BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv (or qrels.tsv).

Several question sets over one corpus: what each of them loses when the others' documents stand between.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from theworld.cache_folder import cache_folder
from theworld.errors import IngestionError

_LAYOUT = "A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv."
QRELS_FILES = ("qrels/test.tsv", "qrels.tsv", "qrels/dev.tsv", "qrels/train.tsv")


@dataclass(frozen=True, slots=True)
class Query:
    """A question with what is known to be right about it."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    """Accepted answers, empty where the set has none."""
    type: str = ""
    """The set's own label of the kind of question."""
    grades: Mapping[str, int] = field(default_factory=dict)
    """Gold documents and their grades, all above 0."""


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
    documents = _read_ids(corpus)
    records = {record["_id"]: (line, record) for line, record in _records(queries)}
    grades = _read_qrels(_qrels_path(folder), documents, records)
    return Dataset(
        name=folder.resolve().name,
        corpus=corpus,
        document_ids=frozenset(documents),
        fingerprint=_digest(corpus),
        queries=tuple(_query(queries, line, record, grades.get(key, {})) for key, (line, record) in records.items()),
    )


def read_corpus(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a corpus file's records; `_id` and `text` are present, ids are unique. Raises as `load_dataset`."""
    return (record for _, record in _records(path))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


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


def _read_ids(path: Path) -> set[str]:
    return {record["_id"] for _, record in _records(path)}


def _query(path: Path, line: int, record: dict[str, Any], grades: Mapping[str, int]) -> Query:
    metadata = record.get("metadata") or {}
    answers = metadata.get("answers", []) if isinstance(metadata, dict) else None
    if isinstance(answers, str):
        answers = [answers]
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise _wrong(path, line, "has `metadata.answers` that is no list of texts.")
    return Query(record["_id"], record["text"], tuple(answers), str(metadata.get("type") or ""), grades)


def _qrels_path(folder: Path) -> Path:
    for name in QRELS_FILES:
        if (folder / name).is_file():
            return folder / name
    raise IngestionError("has no qrels/test.tsv and no qrels.tsv.", where=str(folder))


def _read_qrels(path: Path, documents: set[str], queries: Mapping[str, object]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for number, line in read_lines(path, _LAYOUT):
        row = next(csv.reader([line], delimiter="\t", quoting=csv.QUOTE_NONE))
        if number == 1 and row[0] == "query-id":
            continue
        query, document, grade = _judgement(path, number, row)
        if query not in queries:
            raise _wrong(path, number, f"names the query {query!r}, which queries.jsonl does not have.")
        if grade > 0 and document not in documents:
            raise _wrong(path, number, f"names the document {document!r}, which corpus.jsonl does not have.")
        if grade > 0:
            found.setdefault(query, {})[document] = grade
    return found


def _judgement(path: Path, number: int, row: list[str]) -> tuple[str, str, int]:
    """Return query, document and grade of a row, which has three columns (BEIR) or four (TREC)."""
    if len(row) == 4:
        row = [row[0], row[2], row[3]]
    if len(row) != 3:
        raise _wrong(path, number, f"has {len(row)} columns.", "Write query-id, corpus-id and score, tabs between.")
    try:
        return row[0], row[1], int(row[2])
    except ValueError as error:
        raise _wrong(path, number, f"has the score {row[2]!r}, which is no whole number.") from error


def merge_datasets(datasets: Sequence[Dataset], folder: Path | None = None) -> tuple[Dataset, list[Dataset]]:
    """Write one corpus of all the sets' documents; return the whole set, and each set anew over that corpus.

    A text that several sets hold is one document in the merged corpus. Ids stay as they are unless another text has
    taken one before; then the set's name goes before it, as often as it takes. The corpus lies in `folder`, by default
    in the user's cache; the same sets give the same file. Raises ValueError for fewer than two sets, or two of one
    name.
    """
    names = [dataset.name for dataset in datasets]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"needs at least two sets of different names, got {', '.join(names) or 'none'}")
    records: dict[str, dict[str, Any]] = {}
    known: dict[tuple[str, str], str] = {}
    renamed = [_add(dataset, records, known) for dataset in datasets]
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records.values())
    fingerprint = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    place = folder or cache_folder() / "evaluation" / f"merged-{fingerprint}"
    corpus = _written(place / "corpus.jsonl", text)
    empty = Dataset("merged", corpus, frozenset(records), fingerprint, ())
    parts = [
        replace(empty, name=dataset.name, queries=tuple(_moved(query, ids) for query in dataset.queries))
        for dataset, ids in zip(datasets, renamed, strict=True)
    ]
    whole = replace(empty, queries=tuple(query for part in parts for query in part.queries))
    return whole, parts


def _add(dataset: Dataset, records: dict[str, dict[str, Any]], known: dict[tuple[str, str], str]) -> Mapping[str, str]:
    """Add a set's documents; return its ids -> their ids in the merged corpus."""
    ids: dict[str, str] = {}
    for record in read_corpus(dataset.corpus):
        content = (str(record.get("title") or ""), record["text"])
        if content not in known:
            free = record["_id"]
            while free in records:
                free = f"{dataset.name}:{free}"
            known[content] = free
            records[free] = record | {"_id": free}
        ids[record["_id"]] = known[content]
    return ids


def _moved(query: Query, ids: Mapping[str, str]) -> Query:
    grades: dict[str, int] = {}
    for document, grade in query.grades.items():
        grades[ids[document]] = max(grade, grades.get(ids[document], 0))
    return replace(query, grades=grades)


def _written(file: Path, text: str) -> Path:
    if not file.is_file() or file.read_text("utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_suffix(".new")
        whole.write_text(text, "utf-8", newline="\n")
        whole.replace(file)
    return file
