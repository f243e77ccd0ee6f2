"""The connection to OpenSearch, its errors in our own words, and how notes lie in an index and are asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    AuthenticationException,
    AuthorizationException,
    ConnectionError,
    ConnectionTimeout,
    OpenSearchException,
    TransportError,
)

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import SparseSettings
from theworld.stores.engine_access import (
    NOT_UNDERSTOOD,
    identifier,
    index_term,
    misunderstood,
    sendable_terms,
    shortened,
    tls_context,
)
from theworld.stores.protocols import NoteChange
from theworld.stores.records import Filters, filter_terms, indexed_words, is_text

# The client warns of every failure; ours are raised and named, and an application that wants both sets up logging.
logging.getLogger("opensearch").addHandler(logging.NullHandler())

_BUSY = frozenset({429, 500, 502, 503, 504})


def connect(settings: SparseSettings) -> OpenSearch:
    """Return a client with its pool of connections; nothing is sent yet. Retries are left to the caller."""
    assert settings.url is not None
    secure: dict[str, Any] = {}
    if settings.url.startswith("https://"):
        unchecked = {"verify_certs": False, "ssl_show_warn": False}
        secure = {"ssl_context": tls_context(settings)} if settings.verify else unchecked
        secure["use_ssl"] = True
    return OpenSearch(
        hosts=[settings.url],
        http_auth=settings.credentials(),
        timeout=settings.timeout_s,
        pool_maxsize=settings.connections,
        max_retries=0,
        **secure,
    )


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Turn what the client raises into EngineUnavailableError, or StoreError where the server refused a request."""
    try:
        yield
    except ConnectionTimeout as error:
        raise EngineUnavailableError("OpenSearch did not answer in time.", where=where) from error
    except ConnectionError as error:
        raise EngineUnavailableError(f"OpenSearch cannot be reached: {shortened(error.error)}.", where=where) from error
    except (AuthenticationException, AuthorizationException) as error:
        remedy = "Check sparse.username and sparse.password, and the user's rights (docs/engines.md)."
        raise StoreError(f"OpenSearch refuses the user: {_reason(error)}.", where=where, remedy=remedy) from error
    except TransportError as error:
        if error.status_code in _BUSY:
            what = f"OpenSearch is not able to answer: {_reason(error)}."
            raise EngineUnavailableError(what, where=where) from error
        raise StoreError(f"OpenSearch refused: {_reason(error)}.", where=where) from error
    except (OpenSearchException, *NOT_UNDERSTOOD, RecursionError, StopIteration) as error:
        raise misunderstood("OpenSearch", error, where) from error


def _reason(error: TransportError) -> str:
    """Return status and reason as the server tells them."""
    told = error.info.get("error") if isinstance(error.info, dict) else None
    if isinstance(told, dict):
        causes = told.get("root_cause") or [told]
        told = causes[0].get("reason") or told.get("reason")
    return f"{error.status_code} {shortened(told or error.error)}"


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


def actions(change: NoteChange) -> list[dict[str, Any]]:
    """Return the lines of a bulk request for one change.

    The sequence number is the document's version: a request that the server finishes late, after a newer one, is
    refused by it.
    """
    version = {"version": change.sequence, "version_type": "external_gte"}
    meta = {"_id": identifier(change.tenant, change.note_id), **version}
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
