"""The collection of one ledger on a Qdrant server: connected to, made, replaced, written, and asked how far it is."""

from __future__ import annotations

import re
import secrets
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import DenseSettings
from theworld.single_flight import SingleFlightCache
from theworld.stores.dense import qdrant_points as points
from theworld.stores.dense.qdrant_points import FORMAT, STATE, State
from theworld.stores.engine_access import (
    NOT_UNDERSTOOD,
    CircuitBreaker,
    RemoteProjection,
    misunderstood,
    shortened,
    tls_context,
)
from theworld.stores.protocols import NoteChange
from theworld.stores.token_codes import TokenCodes, TokenCounts

_NOT_FOUND = 404
_DENIED = frozenset({401, 403})
_BUSY = frozenset({408, 429, 500, 502, 503, 504})

_LOCAL_MISSING = re.compile(r"Collection \S+ not found")
"""What the client's local mode says where a server answers 404."""


class MissingError(StoreError):
    """The server says that there is no such collection."""


class _Transport(httpx.HTTPTransport):
    """Waits as long as the settings say: the client itself knows only whole seconds."""

    def __init__(self, limit_s: float, **options: Any) -> None:
        super().__init__(**options)
        self._limits = httpx.Timeout(limit_s).as_dict()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "timeout": self._limits}
        return super().handle_request(request)


def connect(settings: DenseSettings, limit_s: float) -> QdrantClient:
    """Return a client with its pool of connections that waits `limit_s` seconds at most; nothing is sent yet."""
    assert settings.url is not None
    secured = settings.url.startswith("https://")
    context: ssl.SSLContext | bool = tls_context(settings) if secured else False
    pool = httpx.Limits(max_connections=settings.connections, max_keepalive_connections=settings.connections)
    secret = settings.api_key.get_secret_value() if settings.api_key is not None else None
    return QdrantClient(
        url=settings.url,
        # As a header: given as a key, the client warns whenever there is no TLS.
        headers={"api-key": secret} if secret is not None else None,
        metadata={"accept-encoding": "identity"},  # answers are small, and unpacking them takes longer than their way
        timeout=limit_s,  # type: ignore[arg-type]  # rounded up by the client
        check_compatibility=False,
        transport=_Transport(limit_s, verify=context, limits=pool),
    )


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Turn what the client raises into EngineUnavailableError, or StoreError where the server refused a request."""
    try:
        yield
    except UnexpectedResponse as error:
        told: object = error.reason_phrase
        with suppress(ValueError, LookupError, TypeError):
            told = error.structured()["status"]["error"]
        status, what = error.status_code, f"{error.status_code} {shortened(told)}"
        if status == _NOT_FOUND:
            raise MissingError(f"Qdrant has no such collection: {what}.", where=where) from error
        if status in _DENIED:
            remedy = "Check dense.api_key and its rights (docs/engines.md)."
            raise StoreError(f"Qdrant refuses the API key: {what}.", where=where, remedy=remedy) from error
        if status in _BUSY:
            raise EngineUnavailableError(f"Qdrant is not able to answer: {what}.", where=where) from error
        raise StoreError(f"Qdrant refused: {what}.", where=where) from error
    except ResponseHandlingException as error:
        if isinstance(error.source, httpx.TimeoutException):
            raise EngineUnavailableError("Qdrant did not answer in time.", where=where) from error
        if isinstance(error.source, httpx.HTTPError | OSError):
            what = f"Qdrant cannot be reached: {type(error.source).__name__} {shortened(error.source)}."
            raise EngineUnavailableError(what, where=where) from error
        raise misunderstood("Qdrant", error.source, where) from error
    except ResourceExhaustedResponse as error:
        raise EngineUnavailableError(f"Qdrant is not able to answer: {shortened(error)}.", where=where) from error
    except (ApiException, QdrantException, *NOT_UNDERSTOOD, AssertionError, RuntimeError) as error:
        if _LOCAL_MISSING.fullmatch(str(error)):
            raise MissingError(f"Qdrant has no such collection: {error}.", where=where) from error
        raise misunderstood("Qdrant", error, where) from error


T = TypeVar("T")
_CHUNK = 128
"""Changes in one request: some 2 MB with vectors of 384 numbers and 100 tokens."""
_PAGE = 5000
_KEPT_VECTORS = 8
"""Questions whose cosines are kept."""


class Seen:
    """What was learnt of one state of the collection. Tables are only ever replaced or added to, by any thread."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.spaces: dict[str, dict[str, int]] = {}
        """Number of notes by space, by tenant."""
        self.tokens: dict[str, TokenCounts] = {}
        """By space."""
        self.cosines = SingleFlightCache[tuple[str, str, bytes], dict[str, float]](_KEPT_VECTORS)
        """By tenant, space and vector, by note id: the reranker asks again for those that the search has told."""
        self.codes: dict[tuple[str, str, str], TokenCodes | None] = {}
        """By tenant, space and note."""


class QdrantCollection(RemoteProjection):
    """An alias named after the ledger, the collection it points to, and the clients; thread-safe.

    A point in the collection says how far it came, so that a new collection takes its place and its state in one step.
    """

    def __init__(self, settings: DenseSettings, ledger: str, client: QdrantClient | None, *, writable: bool) -> None:
        super().__init__("dense", f"Qdrant at {settings.url}", writable=writable)
        self._settings = settings
        self._alias = f"{settings.prefix}-{ledger}-v{FORMAT}"
        self._client = client or connect(settings, settings.timeout_s)
        self._patient = client or connect(settings, settings.write_timeout_s)
        self._breaker = CircuitBreaker(self.where, settings, self.version)

    def _ask(self, work: Callable[[QdrantClient], T], *, patiently: bool = False) -> T:
        """Return what the work returns; MissingError without a collection, EngineUnavailableError without an answer."""
        with self._breaker.guard(), clear_errors(self.where):
            return work(self._patient if patiently else self._client)

    def version(self) -> str:
        """Return the server's version, asked now; raises EngineUnavailableError when it does not answer."""
        with clear_errors(self.where):
            return str(self._client.info().version)

    def _state(self) -> State | None:
        """Return the state of the collection in use, None when there is none."""
        try:
            found = self._ask(lambda client: client.retrieve(self._alias, [STATE]))
        except MissingError:
            return None
        return self._state_of(found)

    def _state_of(self, found: Sequence[Any]) -> State:
        """Return the state in the points found; EngineUnavailableError where they are others."""
        with clear_errors(self.where):
            if len(found) != 1 or found[0].id != STATE:
                raise ValueError("the collection has no state")
            return State.of(found[0].payload)

    def _replace(self) -> None:
        """Make an empty collection, point the alias to it in one step, and delete all others of this ledger."""
        name = f"{self._alias}-{secrets.token_hex(6)}"

        def switch(client: QdrantClient) -> None:
            client.create_collection(name, **points.collection_config(self._settings))
            for field, schema in points.PAYLOAD_INDEXES.items():
                client.create_payload_index(name, field, schema)
            _check_done(client.upsert(name, [State().point()], wait=True))
            remove = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._alias))
            add = models.CreateAlias(collection_name=name, alias_name=self._alias)
            known = any(one.alias_name == self._alias for one in client.get_aliases().aliases)
            actions: list[Any] = [*([remove] if known else []), models.CreateAliasOperation(create_alias=add)]
            client.update_collection_aliases(actions)
            self._remove_all_but(client, name)

        self._ask(switch, patiently=True)

    def _remove_all_but(self, client: QdrantClient, kept: str | None) -> None:
        for one in client.get_collections().collections:
            if one.name.startswith(f"{self._alias}-") and one.name != kept:
                client.delete_collection(one.name)

    def _write(self, state: State, changes: Sequence[NoteChange], upto: int) -> None:
        """Write changes, of which none concerns the same note, and then how far they go."""
        spaces = dict(state.spaces)
        for change in changes:
            for space, embedded in (change.note.vectors if change.note is not None else {}).items():
                spaces[space] = embedded.vector.size
        new = {points.vector_name(space): size for space, size in spaces.items() if state.spaces.get(space) != size}
        if new:
            self._ask(lambda client: self._create_spaces(client, new), patiently=True)

        def write(client: QdrantClient) -> None:
            for result in client.batch_update_points(self._alias, points.operations(some), wait=True):
                _check_done(result)

        for start in range(0, len(changes), _CHUNK):
            some = changes[start : start + _CHUNK]
            self._ask(write, patiently=True)
        self._ask(lambda client: self._finish(client, State(upto, spaces)), patiently=True)

    def _create_spaces(self, client: QdrantClient, dimensions: Mapping[str, int]) -> None:
        known: Any = client.get_collection(self._alias).config.params.vectors or {}
        for vector, dimension in dimensions.items():
            size = known[vector].size if vector in known else None
            if size is not None and size != dimension:
                # The ledger keeps a space to one size, so whatever had the old one is gone or about to be replaced.
                client.delete_vector_name(self._alias, vector)
            if size != dimension:
                config = models.DenseVectorConfig(size=dimension, distance=models.Distance.COSINE)
                client.create_vector_name(self._alias, vector, models.DenseVectorNameConfig(dense=config))
            if self._settings.on_disk:
                on_disk = {vector: models.VectorParamsDiff(on_disk=True)}
                client.update_collection(self._alias, vectors_config=on_disk)
            # On disk, since it is only read to count.
            tokens = models.IntegerIndexParams(
                type=models.IntegerIndexType.INTEGER, lookup=True, range=False, on_disk=True, enable_hnsw=False
            )
            client.create_payload_index(self._alias, f"tokens-{vector}", tokens)

    def _finish(self, client: QdrantClient, state: State) -> None:
        """Remember how far it goes, unless it has gone further."""
        not_newer = models.FieldCondition(key="applied", range=models.Range(lte=state.applied))
        update_filter = models.Filter(must=[not_newer])
        _check_done(client.upsert(self._alias, [state.point()], wait=True, update_filter=update_filter))
        if self._state_of(client.retrieve(self._alias, [STATE])) != state:
            raise self._overtaken()

    def _read_applied(self) -> int:
        state = self._state()
        return state.applied if state is not None else 0

    def key_of(self, change: NoteChange) -> str:
        """Return the id of a note's point."""
        return points.key(change.tenant, change.note_id)

    def held(self) -> Iterator[tuple[str, int]]:
        """Yield id and sequence number of all notes."""
        after: Any = None
        notes = models.Filter(must_not=[models.HasIdCondition(has_id=[STATE])])

        def page(client: QdrantClient) -> tuple[list[tuple[str, int]], Any]:
            found, following = client.scroll(self._alias, notes, _PAGE, offset=after, with_payload=["sequence"])
            return [(str(one.id), int((one.payload or {})["sequence"])) for one in found], following

        while True:
            held, after = self._ask(page, patiently=True)
            yield from held
            if after is None:
                return

    def close(self) -> None:
        """Close the connections."""
        self._breaker.close()
        self._client.close()
        self._patient.close()


def _check_done(result: models.UpdateResult) -> None:
    """A write that the server has taken but not finished may yet fail."""
    if result.status != models.UpdateStatus.COMPLETED:
        raise ValueError(f"a write was not finished: {result.status}")
