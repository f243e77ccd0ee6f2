"""How notes lie in an OpenSearch index, and how they are asked for: plain values in, request bodies out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theworld.settings import SparseSettings
from theworld.stores.engine_access import identifier, index_term, is_text, sendable_terms
from theworld.stores.filters import filter_terms
from theworld.stores.protocols import NoteChange
from theworld.stores.records import Filters
from theworld.stores.sparse.indexed_words import indexed_words

FORMAT = 4
"""Raised whenever the mapping, the filter terms or the tokens change, so that old indexes are built anew."""
STATE = "state"
"""Id of the one document that is no note: how far the index has come."""
MOST_CLAUSES = 1000
"""Distinct words of one query; the server refuses more than 1,024 clauses."""

_K1, _B = 1.2, 0.75
_NOTHING: dict[str, Any] = {"match_none": {}}


def index_body(settings: SparseSettings) -> dict[str, Any]:
    """Return settings and mapping of a new index: our own tokens, split at spaces, scored by BM25."""
    return {
        "settings": {
            "number_of_shards": settings.shards,
            "number_of_replicas": settings.replicas,
            "refresh_interval": "-1",
            "similarity": {"own": {"type": "BM25", "k1": _K1, "b": _B}},
            "analysis": {"analyzer": {"own": {"type": "custom", "tokenizer": "whitespace"}}},
        },
        "mappings": {
            "dynamic": "strict",
            # Notes can be had from the ledger; only the state is kept to be read back.
            "_source": {"includes": ["applied", "format"]},
            "properties": {
                "note": {"type": "keyword", "index": False},
                "tenant": {"type": "keyword"},
                "terms": {"type": "keyword", "doc_values": False},
                "body": {"type": "text", "analyzer": "own", "similarity": "own", "index_options": "freqs"},
                "applied": {"type": "long", "index": False, "doc_values": False},
                "format": {"type": "integer", "index": False, "doc_values": False},
            },
        },
    }


def key(tenant: str, note_id: str) -> str:
    """Return the id of a note's document."""
    return identifier(tenant, note_id)


def actions(change: NoteChange) -> list[dict[str, Any]]:
    """Return the lines of a bulk request for one change.

    The sequence number is the document's version: a request that the server finishes late, after a newer one, is
    refused by it.
    """
    meta = {"_id": key(change.tenant, change.note_id), "version": change.sequence, "version_type": "external_gte"}
    if change.note is None:
        return [{"delete": meta}]
    note = {
        "note": change.note_id,
        "tenant": index_term(change.tenant),
        "terms": sorted(index_term(term) for term in filter_terms(change.metadata, change.document_id)),
        "body": " ".join(indexed_words(change.title, change.note)),
    }
    return [{"index": meta}, note]


def query_body(words: Mapping[str, int], tenant: str, filters: Filters) -> dict[str, Any]:
    """Return the query for notes of a tenant that pass the filters, scored by the BM25 of any of the words.

    OpenSearch 2 multiplies by k1 + 1, as the embedded twin does; version 3 leaves this constant out.
    """
    wanted = [[index_term(term) for term in some] for some in sendable_terms(filters)]
    if not words or not is_text(tenant) or not all(wanted):
        return _NOTHING
    should = [{"term": {"body": {"value": word, "boost": float(times)}}} for word, times in words.items()]
    required = [{"term": {"tenant": index_term(tenant)}}, *({"terms": {"terms": some}} for some in wanted)]
    return {"bool": {"should": should, "minimum_should_match": 1, "filter": required}}
