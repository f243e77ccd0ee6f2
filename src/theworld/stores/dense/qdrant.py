"""The dense projection on a Qdrant server."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from qdrant_client import QdrantClient, models

from theworld.errors import EngineUnavailableError, ModelMismatchError, StoreError
from theworld.models.protocols import FloatArray
from theworld.settings import DenseSettings
from theworld.stores.circuit_breaker import CircuitBreaker
from theworld.stores.dense import qdrant_points as points
from theworld.stores.dense.qdrant_access import MissingError, clear_errors, connect
from theworld.stores.dense.qdrant_points import FORMAT, STATE, SpaceOnServer, State
from theworld.stores.dense.qdrant_seen import Asked, Seen, TokenCounts
from theworld.stores.protocols import DenseResult, Hit, NoteChange
from theworld.stores.records import Filters
from theworld.stores.token_codes import TokenCodes

T = TypeVar("T")
_CHUNK = 128
"""Changes in one request: some 2 MB with vectors of 384 numbers and 100 tokens."""
_PAGE = 5000
_DIGITS = 6
_SPARE = 16
"""Hits asked for beyond the limit, to see whether the cut goes through a tie."""
SAMPLE = 512
"""Notes whose cosines tell mean and deviation: exact for fewer, else off by 4 % of the deviation."""
_MOST_SPACES = 1000
_VOCABULARY = 1_000_000
_COUNTED_EXACTLY = 100_000
"""Notes up to which tokens are counted one by one; beyond, the server's own sums are taken."""


class QdrantDense:
    """Nearest neighbours by cosine on a server; thread-safe, one pool of connections for reading and one for writing.

    An alias named after the ledger points to the collection in use, and a point in that collection says how far it
    came, so that a new collection takes its place and its state in one step. What was read is kept as long as the
    collection stays the same, which every search asks. Nothing is sent before it is needed.
    """

    remote = True

    def __init__(
        self, settings: DenseSettings, ledger: str, *, writable: bool = False, client: QdrantClient | None = None
    ) -> None:
        """Use the server of the settings for the ledger with this identity; `client` is one to use instead."""
        self._settings, self._writable = settings, writable
        self.where = f"Qdrant at {settings.url}"
        self._alias = f"{settings.prefix}-{ledger}-v{FORMAT}"
        self._client = client or connect(settings, settings.timeout_s)
        self._patient = client or connect(settings, settings.write_timeout_s)
        self._applied: int | None = None
        self._seen: Seen | None = None
        self._lock = threading.RLock()
        self._breaker = CircuitBreaker(
            self.where, failures=settings.failures, probe_s=settings.probe_s, probe=self.version
        )

    def _ask(self, work: Callable[[QdrantClient], T], *, patiently: bool = False) -> T:
        def asked() -> T:
            with clear_errors(self.where):
                return work(self._patient if patiently else self._client)

        return self._breaker.call(asked)

    def version(self) -> str:
        """Return the server's version, asked now; raises EngineUnavailableError when it does not answer."""
        with clear_errors(self.where):
            return str(self._client.info().version)

    @property
    def applied(self) -> int:
        """Sequence number of the last change applied durably; asked of the server when it is not known."""
        with self._lock:
            if self._applied is None:
                state = self._read_state()
                self._applied = state.applied if state is not None else 0
            return self._applied

    def _read_state(self) -> State | None:
        """Return the state of the collection in use, None when there is none."""
        try:
            found = self._ask(lambda client: client.retrieve(self._alias, [STATE]))
        except MissingError:
            return None
        return self._state_of(found)

    def _state_of(self, found: Sequence[Any]) -> State:
        with clear_errors(self.where):
            if len(found) != 1 or found[0].id != STATE:
                raise ValueError("the collection has no state")
            return State.of(found[0].payload)

    def refresh(self) -> None:
        """Ask again how far it came; searches always see what has been applied."""
        with self._lock:
            self._applied, self._seen = None, None

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Apply changes and remember `upto`; a batch that fails half-way is repeated as a whole."""
        latest = list({(change.tenant, change.note_id): change for change in changes}.values())
        with self._lock:
            self._check_writable()
            state = self._read_state()
            if state is None:
                state = State()
                self._switch_to_new()
            self._applied = self._seen = None
            spaces = self._with_new_spaces(state, latest)
            for start in range(0, len(latest), _CHUNK):
                some = latest[start : start + _CHUNK]
                self._ask(lambda client, some=some: self._write(client, some), patiently=True)  # type: ignore[misc]
            self._ask(lambda client: self._finish(client, State(upto, spaces)), patiently=True)
            self._applied = upto

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreError("the dense index was opened for reading.", where=self.where)

    def _switch_to_new(self) -> None:
        """Make an empty collection, point the alias to it in one step, and delete all others of this ledger."""
        name = f"{self._alias}-{secrets.token_hex(6)}"

        def switch(client: QdrantClient) -> None:
            client.create_collection(name, **points.collection_config(self._settings))
            for field, schema in points.payload_indexes().items():
                client.create_payload_index(name, field, schema)
            self._upsert(client, name, State().point())
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

    def _with_new_spaces(self, state: State, changes: Iterable[NoteChange]) -> dict[str, SpaceOnServer]:
        """Return all spaces, having made those that the collection does not have yet."""
        spaces = dict(state.spaces)
        new: dict[str, SpaceOnServer] = {}
        for change in changes:
            for space, embedded in (change.note.vectors if change.note is not None else {}).items():
                if space not in spaces:
                    new[space] = spaces[space] = SpaceOnServer(points.vector_name(space), embedded.vector.size)
        if new:
            self._ask(lambda client: self._create_spaces(client, new.values()), patiently=True)
        return spaces

    def _create_spaces(self, client: QdrantClient, spaces: Iterable[SpaceOnServer]) -> None:
        known = client.get_collection(self._alias).config.params.vectors or {}
        for space in spaces:
            if space.vector not in known:
                config = models.DenseVectorConfig(size=space.dimension, distance=models.Distance.COSINE)
                client.create_vector_name(self._alias, space.vector, models.DenseVectorNameConfig(dense=config))
            if self._settings.on_disk:
                on_disk = {space.vector: models.VectorParamsDiff(on_disk=True)}
                client.update_collection(self._alias, vectors_config=on_disk)
            for field, schema in points.tokens_index(space.vector).items():
                client.create_payload_index(self._alias, field, schema)

    def _write(self, client: QdrantClient, changes: Sequence[NoteChange]) -> None:
        for result in client.batch_update_points(self._alias, points.operations(changes), wait=True):
            _check_done(result)

    def _upsert(self, client: QdrantClient, collection: str, point: models.PointStruct, **options: Any) -> None:
        _check_done(client.upsert(collection, [point], wait=True, **options))

    def _finish(self, client: QdrantClient, state: State) -> None:
        """Remember how far it goes, unless it has gone further."""
        not_newer = models.FieldCondition(key="applied", range=models.Range(lte=state.applied))
        self._upsert(client, self._alias, state.point(), update_filter=models.Filter(must=[not_newer]))
        if self._state_of(client.retrieve(self._alias, [STATE])) != state:
            raise StoreError(
                "another process has written newer changes.", where=self.where, remedy="Run one writer at a time."
            )

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._check_writable()
            self._applied = self._seen = None
            self._switch_to_new()
            self._applied = 0

    def drop(self) -> None:
        """Remove everything of this ledger from the server."""
        with self._lock:
            self._check_writable()
            self._applied = self._seen = None
            self._ask(lambda client: self._remove_all_but(client, None), patiently=True)

    def count(self) -> int:
        """Return how many notes the collection holds."""
        return self._ask(lambda client: client.count(self._alias, points.no_state(), exact=True)).count

    def key_of(self, change: NoteChange) -> str:
        """Return the id of a note's point."""
        return points.key(change.tenant, change.note_id)

    def held(self) -> Iterator[tuple[str, int]]:
        """Yield id and sequence number of all notes."""
        after: Any = None
        while True:
            found, after = self._ask(lambda client, after=after: self._page(client, after), patiently=True)  # type: ignore[misc]
            yield from found
            if after is None:
                return

    def _page(self, client: QdrantClient, after: Any) -> tuple[list[tuple[str, int]], Any]:
        found, after = client.scroll(self._alias, points.no_state(), _PAGE, offset=after, with_payload=["sequence"])
        return [(str(one.id), int((one.payload or {})["sequence"])) for one in found], after

    def _known(self) -> Seen:
        """Return what is known of the collection as it is now."""
        seen = self._seen
        if seen is None:
            state = self._read_state()
            if state is None:
                if self._writable:
                    return Seen(State())
                raise self._not_there()
            seen = self._seen = Seen(state)
        return seen

    def _not_there(self) -> StoreError:
        return StoreError(
            "the dense projection is not on the server yet.", where=self.where, remedy="Run `theworld sync`."
        )

    def spaces(self, tenant: str) -> dict[str, int]:
        """Return the number of notes by space name."""
        return dict(self._spaces(self._known(), tenant))

    def _spaces(self, seen: Seen, tenant: str) -> Mapping[str, int]:
        counts = seen.spaces.get(tenant)
        wanted = points.tenants_notes(tenant, {})
        if counts is not None or wanted is None or not seen.state.spaces:
            return counts or {}
        found = self._ask(lambda client: client.facet(self._alias, "spaces", wanted, limit=_MOST_SPACES, exact=True))
        by_vector = {hit.value: hit.count for hit in found.hits}
        counts = {space: by_vector[one.vector] for space, one in seen.state.spaces.items() if by_vector.get(one.vector)}
        if counts:
            # Nothing is not remembered: without a search nothing would tell that something has come.
            seen.spaces[tenant] = counts
        return counts

    def dimension(self, space: str, tenant: str) -> int:  # noqa: ARG002
        """Return the length of a space's vectors, 0 for an unknown space."""
        found = self._known().state.spaces.get(space)
        return found.dimension if found is not None else 0

    def _fitting(self, seen: Seen, space: str, vector: FloatArray, tenant: str) -> SpaceOnServer | None:
        """Return a space, None when the tenant has no notes in it."""
        if space not in self._spaces(seen, tenant):
            return None
        found = seen.state.spaces[space]
        if vector.shape != (found.dimension,):
            raise ModelMismatchError(
                f"the space {space!r} has {found.dimension} dimensions, the question's vector {vector.shape}.",
                remedy="Use the embedder that made the store, or ingest again with --reembed.",
            )
        return found

    def search(self, space: str, vector: FloatArray, *, tenant: str, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes of one space; mean and deviation are those of SAMPLE notes where more pass.

        Raises ModelMismatchError when the vector has another dimension than the space.
        """
        seen = self._known()
        found = self._fitting(seen, space, vector, tenant)
        wanted = points.tenants_notes(tenant, filters, found.vector) if found is not None else None
        if found is None or wanted is None:
            return DenseResult([], 0.0, 0.0)
        asked = Asked(tenant, space, vector.tobytes())
        size, largest = limit + _SPARE, max(self._spaces(seen, tenant)[space], _PAGE)
        while True:
            size = min(size, largest)
            hits, sample = self._nearest(found, vector.tolist(), wanted, size, tenant)
            if len(hits) < size or limit < 1 or hits[-1].score < hits[limit - 1].score or size == largest:
                break
            size *= 4
        if self._seen is not None:
            self._seen.add_cosines(asked, {hit.note_id: hit.score for hit in hits})
        best = sorted(hits, key=lambda hit: (-hit.score, hit.note_id))[: max(limit, 0)]
        return DenseResult(best, float(np.mean(sample)) if sample else 0.0, float(np.std(sample)) if sample else 0.0)

    def _nearest(
        self, space: SpaceOnServer, vector: list[float], wanted: models.Filter, size: int, tenant: str
    ) -> tuple[list[Hit], list[float]]:
        """Return the nearest notes, and the cosines of a sample, in one round trip that also tells the state."""
        order = models.OrderByQuery(order_by=models.OrderBy(key="lot"))
        sample = models.Prefetch(query=order, filter=wanted, limit=SAMPLE)
        nearest = models.NearestQuery(nearest=vector)
        asked = [
            models.QueryRequest(
                query=nearest,
                using=space.vector,
                filter=wanted,
                params=self._search_params(),
                limit=size,
                with_payload=["note"],
            ),
            models.QueryRequest(query=nearest, using=space.vector, prefetch=sample, limit=SAMPLE),
            models.QueryRequest(
                filter=models.Filter(must=[models.HasIdCondition(has_id=[STATE])]), limit=1, with_payload=True
            ),
        ]
        try:
            hits, drawn, state = self._ask(lambda client: _three(client.query_batch_points(self._alias, asked)))
        except MissingError:
            raise self._not_there() from None
        self._notice(self._state_of(state))
        return [self._hit(one, tenant) for one in hits], [float(one.score) for one in drawn]

    def _search_params(self) -> models.SearchParams:
        settings = self._settings
        small = models.QuantizationSearchParams(rescore=True, oversampling=settings.oversampling)
        return models.SearchParams(
            exact=settings.exact, hnsw_ef=settings.ef, quantization=None if settings.quantization == "none" else small
        )

    def _notice(self, state: State) -> None:
        """Forget what was known of an earlier state."""
        seen = self._seen
        if seen is None or seen.state != state:
            self._seen = Seen(state)

    def _hit(self, found: Any, tenant: str) -> Hit:
        return Hit(self._note_of(found, tenant), round(float(found.score), _DIGITS))

    def _note_of(self, found: Any, tenant: str) -> str:
        """Return a point's note; one that is not the tenant's, or not the note it says, answers another question."""
        note = str((found.payload or {}).get("note"))
        if str(found.id) != points.key(tenant, note):
            raise EngineUnavailableError("Qdrant answered with a note that was not asked for.", where=self.where)
        return note

    def cosines(self, space: str, vector: FloatArray, note_ids: Sequence[str], tenant: str) -> FloatArray:
        """Return the cosine of a vector with each note's, shape (len(note_ids),); 0 for a note not in the space.

        Raises ModelMismatchError when the vector has another dimension than the space.
        """
        seen = self._known()
        found = self._fitting(seen, space, vector, tenant)
        if found is None:
            return np.zeros(len(note_ids), np.float32)
        asked = Asked(tenant, space, vector.tobytes())
        known = seen.cosines(asked)
        missing = [note for note in dict.fromkeys(note_ids) if note not in known]
        if missing:
            fetched = dict.fromkeys(missing, 0.0) | self._cosines_of(found, vector.tolist(), missing, tenant)
            seen.add_cosines(asked, fetched)
            known |= fetched
        return np.array([known[note] for note in note_ids], np.float32)

    def _cosines_of(
        self, space: SpaceOnServer, vector: list[float], notes: Sequence[str], tenant: str
    ) -> dict[str, float]:
        these = points.in_space(space.vector, [points.key(tenant, note) for note in notes])
        found = self._ask(
            lambda client: client.query_points(
                self._alias,
                query=vector,
                using=space.vector,
                query_filter=these,
                search_params=models.SearchParams(exact=True),
                limit=len(notes),
                with_payload=["note"],
            )
        )
        return {hit.note_id: hit.score for hit in (self._hit(one, tenant) for one in found.points)}

    def token_codes(self, space: str, note_ids: Sequence[str], tenant: str) -> list[TokenCodes | None]:
        """Return the stored token codes, None for a note without any."""
        seen = self._known()
        found = seen.state.spaces.get(space)
        if found is None:
            return [None] * len(note_ids)
        known = seen.codes(tenant, space, note_ids)
        missing = {points.key(tenant, note): note for note in note_ids if note not in known}
        if missing:
            fields = ["note", points.codes_field(found.vector)]
            rows = self._ask(lambda client: client.retrieve(self._alias, list(missing), with_payload=fields))
            with clear_errors(self.where):
                read = {self._note_of(row, tenant): points.tokens_of(row.payload or {}, found.vector) for row in rows}
            fetched = dict.fromkeys(missing.values()) | read
            seen.add_codes(tenant, space, fetched)
            known |= fetched
        return [known[note] for note in note_ids]

    def token_idf(self, space: str, ids: Sequence[int]) -> FloatArray:
        """Return ln(1 + (N - df + .5) / (df + .5)) for vocabulary ids, shape (len(ids),), over all tenants."""
        seen = self._known()
        counts = seen.tokens.get(space)
        if counts is None:
            counts = seen.tokens[space] = self._count_tokens(seen.state.spaces.get(space))
        return counts.idf(ids)

    def _count_tokens(self, space: SpaceOnServer | None) -> TokenCounts:
        if space is None:
            return TokenCounts(0, {})
        notes = self._ask(lambda client: client.count(self._alias, points.in_space(space.vector), exact=True)).count
        field, exact = points.tokens_field(space.vector), notes <= _COUNTED_EXACTLY
        found = self._ask(lambda client: client.facet(self._alias, field, limit=_VOCABULARY, exact=exact))
        return TokenCounts(notes, {int(hit.value): hit.count for hit in found.hits})

    def close(self) -> None:
        """Close the connections."""
        self._breaker.close()
        self._client.close()
        self._patient.close()


def _three(answers: Sequence[models.QueryResponse]) -> tuple[list[Any], list[Any], list[Any]]:
    hits, sample, state = (answer.points for answer in answers)
    return hits, sample, state


def _check_done(result: models.UpdateResult) -> None:
    """A write that the server has taken but not finished may yet fail."""
    if result.status != models.UpdateStatus.COMPLETED:
        raise ValueError(f"a write was not finished: {result.status}")
