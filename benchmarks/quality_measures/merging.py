"""Several question sets over one corpus: what each of them loses when the others' documents stand between."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from theworld.evaluation.datasets import Dataset, read_lines
from theworld.packages import cache_folder
from theworld.stores.ledger.evaluations import Query


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
    for record in (json.loads(line) for _, line in read_lines(dataset.corpus)):
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
