"""The sparse projection on an OpenSearch server: how notes lie in an index, are asked for, and the client's errors."""

from __future__ import annotations

import logging
import math
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from opensearchpy import OpenSearch, exceptions

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import SparseSettings
from theworld.stores.engine_access import (
    NOT_UNDERSTOOD,
    CircuitBreaker,
    RemoteProjection,
    identifier,
    index_term,
    misunderstood,
    sendable_terms,
    shortened,
    tls_context,
)
from theworld.stores.protocols import Hit, NoteChange, best_hits
from theworld.stores.records import Filters, filter_terms, indexed_words, is_text, query_words

# The client warns of every failure; ours are raised and named, and an application that wants both sets up logging.
logging.getLogger("opensearch").addHandler(logging.NullHandler())

FORMAT = 4
"""Raised whenever the mapping, the filter terms or the tokens change, so that old indexes are built anew."""
STATE = "state"
"""Id of the one document that is no note: how far the index has come."""
MOST_CLAUSES = 1000
"""Distinct words of one query; the server refuses more than 1,024 clauses."""

_K1, _B = 1.2, 0.75
_NOTHING: dict[str, Any] = {"match_none": {}}
_BUSY = frozenset({429, 500, 502, 503, 504})
_CHUNK = 500
"""Changes in one bulk request."""
_PAGE = 10_000
"""Most hits of one search; longer lists are read page by page from a frozen view."""
_DIGITS = 5
_CONFLICT = 409
_MISSING = 404


class OpenSearchSparse(RemoteProjection):
    """BM25 over our own tokens, scored as by the embedded twin; thread-safe, one pool of connections.

    An alias named after the ledger points to the index in use, and a document in that index says how far it came, so
    that a new index, filled beside the old one, takes its place and its state in one step. Searches see a batch when it
    is whole. Nothing is sent before it is needed: a server that is down does not keep the store from opening.
    """

    def __init__(self, settings: SparseSettings, ledger: str, *, writable: bool = False) -> None:
        """Use the server of the settings for the ledger with this identity."""
        super().__init__("sparse", f"OpenSearch at {settings.url}", writable=writable)
        self._settings = settings
        self._patient: dict[str, Any] = {"request_timeout": settings.write_timeout_s}
        # With several shards, words are weighed by their frequency in all of them.
        self._globally = {"search_type": "dfs_query_then_fetch"} if settings.shards > 1 else {}
        self._alias = f"{settings.prefix}-{ledger}-v{FORMAT}"
        self._client = connect(settings)
        self._breaker = CircuitBreaker(self.where, settings, self.version)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Enter what asks the server: nothing is asked while it is left alone, and errors are in our own words."""
        with self._breaker.guard(), clear_errors(self.where):
            yield

    def version(self) -> str:
        """Return the server's version, asked now; raises EngineUnavailableError when it does not answer."""
        with clear_errors(self.where):
            return str(self._client.info()["version"]["number"])

    def _read_applied(self) -> int:
        with self._asking():
            found = self._client.get(index=self._alias, id=STATE, params=_IF_THERE)
            if found.get("status") == _MISSING or found.get("found") is False:
                return 0
            return int(found["_source"]["applied"])

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Apply changes and remember `upto`; a batch that fails half-way is repeated as a whole."""
        latest = {(change.tenant, change.note_id): change for change in changes}
        with self._changing():
            with self._asking():
                found = self._client.indices.get_alias(name=self._alias, params=_IF_THERE)
                # Only the server's own word that there is none counts: an answer cut short must not make a new index.
                if found.get("status") == _MISSING:
                    index = self._create()
                    self._switch(index)
                else:
                    index = str(next(name for name in found if name.startswith(f"{self._alias}-")))
            self._write(index, latest.values(), upto)
            self._applied = upto

    def _create(self) -> str:
        """Create an index; it is written to by an alias, because a late request to an index that is gone makes one."""
        name = f"{self._alias}-{secrets.token_hex(6)}"
        body = {
            "aliases": {f"{name}-w": {"is_write_index": True}},
            "settings": {
                "number_of_shards": self._settings.shards,
                "number_of_replicas": self._settings.replicas,
                "refresh_interval": "-1",
                # Our own tokens, split at spaces, scored by BM25.
                "similarity": {"own": {"type": "BM25", "k1": _K1, "b": _B}},
                "analysis": {"analyzer": {"own": {"type": "custom", "tokenizer": "whitespace"}}},
            },
            "mappings": {
                "dynamic": "strict",
                # Notes can be had from the ledger; only the state is kept to be read back.
                "_source": {"includes": ["applied"]},
                "properties": {
                    "note": {"type": "keyword", "index": False},
                    "tenant": {"type": "keyword"},
                    "terms": {"type": "keyword", "doc_values": False},
                    "body": {"type": "text", "analyzer": "own", "similarity": "own", "index_options": "freqs"},
                    "applied": {"type": "long", "index": False, "doc_values": False},
                },
            },
        }
        self._client.indices.create(index=name, body=body, params=self._patient)
        return name

    def _switch(self, name: str) -> None:
        """Point the alias to an index, in one step, and delete all others of this ledger."""
        add = {"add": {"index": name, "alias": self._alias}}
        remove = {"remove": {"index": f"{self._alias}-*", "alias": self._alias, "must_exist": False}}
        self._client.indices.update_aliases(body={"actions": [remove, add]}, params=self._patient)
        self._remove_all_but(name)

    def _remove_all_but(self, kept: str | None) -> None:
        for index in self._client.indices.get(index=f"{self._alias}-*"):
            if index != kept:
                self._client.indices.delete(index=index, params=self._patient)

    def _write(self, index: str, changes: Iterable[NoteChange], upto: int) -> None:
        """Write changes, make them visible, then remember how far they go."""
        remaining = iter(changes)
        while some := list(islice(remaining, _CHUNK)):
            lines = [line for change in some for line in actions(change)]
            options = {"require_alias": "true", **self._patient}
            with self._asking():
                answered = self._client.bulk(body=lines, index=f"{index}-w", params=options)["items"]
                if len(answered) != len(some):
                    raise ValueError(f"{len(answered)} results for {len(some)} changes")
                failed = []
                for change, item in zip(some, answered, strict=True):
                    (result,) = item.values()
                    # That a newer one is there already, or nothing to delete, is fine.
                    if result["status"] != _CONFLICT and "error" in result:
                        what = f"{result['error'].get('type')}: {result['error'].get('reason')}"
                        failed.append((change.note_id, f"{result['status']} {what}"))
                if failed:
                    note_id, what = failed[0]
                    raise StoreError(
                        f"OpenSearch did not take {len(failed)} of {len(some)} notes; the first: {what}.",
                        where=f"{self.where}, note {note_id!r}",
                        remedy="Nothing is lost: the batch is written again by the next `theworld sync`.",
                    )
        with self._asking():
            if self._client.indices.refresh(index=index, params=self._patient)["_shards"]["failed"]:
                raise ValueError("not every shard made the changes visible")
            options = {"version": upto, "version_type": "external_gte", **self._patient}
            try:
                written = self._client.index(index=f"{index}-w", id=STATE, body={"applied": upto}, params=options)
            except exceptions.ConflictError as error:
                raise self._overtaken() from error
            if "result" not in written:
                raise ValueError("no result of writing the state")

    def renew(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Fill a new index with just these notes and switch to it; the old one is searched until then."""
        with self._changing():
            with self._asking():
                index = self._create()
            self._write(index, changes, upto)
            with self._asking():
                self._switch(index)
            self._applied = upto

    def clear(self) -> None:
        """Forget everything."""
        self.renew([], 0)

    def drop(self) -> None:
        """Remove everything of this ledger from the server."""
        with self._changing(), self._asking():
            self._remove_all_but(None)

    def key_of(self, change: NoteChange) -> str:
        """Return the id of a note's document."""
        return identifier(change.tenant, change.note_id)

    def held(self) -> list[tuple[str, int]]:
        """Return id and version of all notes: versions are the ledger's sequence numbers."""
        with self._asking():
            found = self._pages({"bool": {"filter": _NOTES}}, _PAGE, version=True)
            return [(str(hit["_id"]), int(hit["_version"])) for hit in found]

    def search(self, query: str, *, tenant: str, filters: Filters, limit: int) -> list[Hit]:
        """Return the best notes by the BM25 of any query token; a token asked twice counts twice."""
        words = query_words(query)
        if not words or limit < 1:
            return []
        with self._asking():
            try:
                if len(words) > MOST_CLAUSES:  # then the rarest of those that the index knows
                    wanted = {"fields": ["body"], "term_statistics": True, "positions": False, "offsets": False}
                    body = {"doc": {"body": " ".join(words)}, **wanted}
                    vectors = self._client.termvectors(index=self._alias, body=body)["term_vectors"]
                    known = vectors.get("body", {"terms": {}})["terms"]
                    frequency = {word: int(facts["doc_freq"]) for word, facts in known.items() if facts.get("doc_freq")}
                    kept = sorted(frequency, key=lambda word: (frequency[word], word))[:MOST_CLAUSES]
                    words = Counter({word: words[word] for word in kept})
                asked = query_body(words, tenant, filters)
                return best_hits(lambda size: [self._hit(hit, tenant) for hit in self._found(asked, size)], limit)
            except exceptions.NotFoundError:
                if self._writable:
                    return []
                raise self._not_there() from None

    def _found(self, asked: dict[str, Any], size: int) -> Iterable[Mapping[str, Any]]:
        if size > _PAGE:
            return islice(self._pages(asked, size), size)
        body = {"query": asked, "size": size, **_ONLY_IDS}
        return _hits(self._client.search(index=self._alias, body=body, params=self._globally))[:size]

    def _pages(self, asked: dict[str, Any], size: int, **further: object) -> Iterator[Mapping[str, Any]]:
        """Yield hits page by page, all of the same moment."""
        view = self._client.create_pit(index=self._alias, params={"keep_alive": "1m"})["pit_id"]
        body = {"query": asked, "size": min(size, _PAGE), "pit": {"id": view, "keep_alive": "1m"}, **_ONLY_IDS}
        body |= {"sort": [{"_score": "desc"}, {"note": "asc"}, {"tenant": "asc"}], **further}
        try:
            while page := _hits(self._client.search(body=body, params=self._globally)):
                yield from page
                body["search_after"] = page[-1]["sort"]
        finally:
            self._client.delete_pit(body={"pit_id": [view]})

    def _hit(self, hit: Mapping[str, Any], tenant: str) -> Hit:
        """Return a hit; one that is not the tenant's, or not the note it says, is an answer to another question."""
        note = hit["fields"]["note"][0]
        if hit["_id"] != identifier(tenant, note):
            raise EngineUnavailableError("OpenSearch answered with a note that was not asked for.", where=self.where)
        score = float(hit["_score"])
        if not math.isfinite(score):
            raise ValueError(f"the score {score} of a note")
        return Hit(note, round(score, _DIGITS))

    def close(self) -> None:
        """Close the connections."""
        self._breaker.close()
        self._client.close()


_IF_THERE: dict[str, Any] = {"ignore": 404}
_NOTES: dict[str, Any] = {"exists": {"field": "tenant"}}
"""The one document that is no note, the state, has no tenant."""
_ONLY_IDS: dict[str, Any] = {"_source": False, "docvalue_fields": ["note"], "track_total_hits": False}


def _hits(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the hits; an answer of only some of the shards, or one cut short, is none."""
    if answer["timed_out"] or answer["_shards"]["failed"]:
        raise ValueError(f"only a part of the shards answered: {answer['_shards']}")
    found: list[Mapping[str, Any]] = answer["hits"]["hits"]
    return found


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
    except exceptions.ConnectionTimeout as error:
        raise EngineUnavailableError("OpenSearch did not answer in time.", where=where) from error
    except exceptions.ConnectionError as error:
        raise EngineUnavailableError(f"OpenSearch cannot be reached: {shortened(error.error)}.", where=where) from error
    except (exceptions.AuthenticationException, exceptions.AuthorizationException) as error:
        remedy = "Check sparse.username and sparse.password, and the user's rights (docs/engines.md)."
        raise StoreError(f"OpenSearch refuses the user: {_reason(error)}.", where=where, remedy=remedy) from error
    except exceptions.TransportError as error:
        if error.status_code in _BUSY:
            what = f"OpenSearch is not able to answer: {_reason(error)}."
            raise EngineUnavailableError(what, where=where) from error
        raise StoreError(f"OpenSearch refused: {_reason(error)}.", where=where) from error
    except (exceptions.OpenSearchException, *NOT_UNDERSTOOD, RecursionError, StopIteration) as error:
        raise misunderstood("OpenSearch", error, where) from error


def _reason(error: exceptions.TransportError) -> str:
    """Return status and reason as the server tells them."""
    told = error.info.get("error") if isinstance(error.info, dict) else None
    if isinstance(told, dict):
        causes = told.get("root_cause") or [told]
        told = causes[0].get("reason") or told.get("reason")
    return f"{error.status_code} {shortened(told or error.error)}"


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
