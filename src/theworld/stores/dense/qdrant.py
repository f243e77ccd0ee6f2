"""The dense projection on a Qdrant server."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models

from theworld.errors import EngineUnavailableError
from theworld.models.protocols import FloatArray
from theworld.settings import DenseSettings
from theworld.stores.dense import qdrant_points as points
from theworld.stores.dense.qdrant_collection import MissingError, QdrantCollection, Seen, clear_errors
from theworld.stores.dense.qdrant_points import STATE, State
from theworld.stores.protocols import DenseResult, Hit, NoteChange, best_hits, check_dimension
from theworld.stores.records import Filters
from theworld.stores.token_codes import TokenCodes, TokenCounts

_PAGE = 5000
_DIGITS = 6
_MOST_SPACES = 1000
_SAMPLE = 512
"""Notes whose cosines tell mean and deviation: exact for fewer, else off by 4 % of the deviation."""
_CANDIDATES = 128
"""Notes looked at while the HNSW graph is followed: more than the hundred that a channel is asked for."""
_OVERSAMPLING = 2.0
"""How many times more notes than wanted are scored by the whole vectors, where small copies are searched."""
_KEPT_CODES = 20_000
"""Notes whose token codes are kept, some 3 kB each, unless a question asks for more."""
_VOCABULARY = 1_000_000
_COUNTED_EXACTLY = 100_000
"""Notes up to which tokens are counted one by one; beyond, the server's own sums are taken."""


class QdrantDense(QdrantCollection):
    """Nearest neighbours by cosine on a server; thread-safe, one pool of connections for reading and one for writing.

    What was read is kept as long as the collection stays the same, which every search asks. Nothing is sent before it
    is needed.
    """

    def __init__(
        self, settings: DenseSettings, ledger: str, *, writable: bool = False, client: QdrantClient | None = None
    ) -> None:
        """Use the server of the settings for the ledger with this identity; `client` is one to use instead."""
        super().__init__(settings, ledger, client, writable=writable)
        small = models.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
        quantization = None if settings.quantization == "none" else small
        self._params = models.SearchParams(hnsw_ef=_CANDIDATES, quantization=quantization)
        self._seen: Seen | None = None

    def refresh(self) -> None:
        """Ask again how far it came; searches always see what has been applied."""
        with self._lock:
            self._applied = self._seen = None

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Apply changes and remember `upto`; a batch that fails half-way is repeated as a whole."""
        latest = list({(change.tenant, change.note_id): change for change in changes}.values())
        with self._changing():
            state = self._state()
            if state is None:
                state = State()
                self._replace()
            self._write(state, latest, upto)
            self._applied = upto

    def clear(self) -> None:
        """Forget everything."""
        with self._changing():
            self._replace()
            self._applied = 0

    def drop(self) -> None:
        """Remove everything of this ledger from the server."""
        with self._changing():
            self._ask(lambda client: self._remove_all_but(client, None), patiently=True)

    def _known(self) -> Seen:
        """Return what is known of the collection as it is now."""
        seen = self._seen
        if seen is None:
            state = self._state()
            if state is None:
                if self._writable:
                    return Seen(State())
                raise self._not_there()
            seen = self._seen = Seen(state)
        return seen

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
        counts = {space: count for space in seen.state.spaces if (count := by_vector.get(points.vector_name(space)))}
        if counts:
            # Nothing is not remembered: without a search nothing would tell that something has come.
            seen.spaces[tenant] = counts
        return counts

    def _fitting(self, seen: Seen, space: str, vector: FloatArray, tenant: str) -> str | None:
        """Return the name of a space's vectors, None when the tenant has no notes in it."""
        if space not in self._spaces(seen, tenant):
            return None
        check_dimension(space, seen.state.spaces[space], vector)
        return points.vector_name(space)

    def search(self, space: str, vector: FloatArray, *, tenant: str, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes of one space; mean and deviation are those of _SAMPLE notes where more pass."""
        seen = self._known()
        using = self._fitting(seen, space, vector, tenant)
        wanted = points.tenants_notes(tenant, filters, using) if using is not None else None
        if using is None or wanted is None:
            return DenseResult([], 0.0, 0.0)
        asked, sample = (tenant, space, vector.tobytes()), list[float]()
        query = models.NearestQuery(nearest=vector.tolist())
        by_lot = models.OrderByQuery(order_by=models.OrderBy(key="lot"))
        prefetch = models.Prefetch(query=by_lot, filter=wanted, limit=_SAMPLE)
        drawn = models.QueryRequest(query=query, using=using, prefetch=prefetch, limit=_SAMPLE)
        # The same round trip tells whether the collection is still as it was.
        that = models.Filter(must=[models.HasIdCondition(has_id=[STATE])])
        state_itself = models.QueryRequest(filter=that, limit=1, with_payload=True)
        largest = max(self._spaces(seen, tenant)[space], _PAGE)

        def search(size: int) -> list[Hit]:
            most = min(size, largest)
            nearest = models.QueryRequest(
                query=query, using=using, filter=wanted, params=self._params, limit=most, with_payload=["note"]
            )
            try:
                with self._breaker.guard(), clear_errors(self.where):
                    near, own, some = self._client.query_batch_points(self._alias, [nearest, state_itself, drawn])
            except MissingError:
                raise self._not_there() from None
            state, now = self._state_of(own.points), self._seen
            if now is None or now.state != state:
                now = self._seen = Seen(state)
            hits = [self._hit(one, tenant) for one in near.points]
            sample[:] = [float(one.score) for one in some.points]
            now.cosines.get(asked, dict).update((hit.note_id, hit.score) for hit in hits)
            return hits

        best = best_hits(search, max(limit, 1))[: max(limit, 0)]
        return DenseResult(best, float(np.mean(sample)) if sample else 0.0, float(np.std(sample)) if sample else 0.0)

    def _hit(self, found: Any, tenant: str) -> Hit:
        note, score = self._note_of(found, tenant), float(found.score)
        if not math.isfinite(score):
            raise EngineUnavailableError(f"Qdrant answered with the score {score} of a note.", where=self.where)
        return Hit(note, round(score, _DIGITS))

    def _note_of(self, found: Any, tenant: str) -> str:
        """Return a point's note; one that is not the tenant's, or not the note it says, answers another question."""
        note = str((found.payload or {}).get("note"))
        if str(found.id) != points.key(tenant, note):
            raise EngineUnavailableError("Qdrant answered with a note that was not asked for.", where=self.where)
        return note

    def cosines(self, space: str, vector: FloatArray, note_ids: Sequence[str], tenant: str) -> FloatArray:
        """Return the cosine of a vector with each note's, shape (len(note_ids),); 0 for a note not in the space."""
        seen = self._known()
        using = self._fitting(seen, space, vector, tenant)
        if using is None:
            return np.zeros(len(note_ids), np.float32)
        known = seen.cosines.get((tenant, space, vector.tobytes()), dict)
        missing = [note for note in dict.fromkeys(note_ids) if note not in known]
        if missing:
            those = points.in_space(using, [points.key(tenant, note) for note in missing])
            answer = self._ask(
                lambda client: client.query_points(
                    self._alias, vector.tolist(), using=using, query_filter=those, limit=len(missing),
                    search_params=models.SearchParams(exact=True), with_payload=["note"],
                )
            )  # fmt: skip
            hits = [self._hit(one, tenant) for one in answer.points]
            known |= dict.fromkeys(missing, 0.0) | {hit.note_id: hit.score for hit in hits}
        return np.array([known[note] for note in note_ids], np.float32)

    def token_codes(self, space: str, note_ids: Sequence[str], tenant: str) -> list[TokenCodes | None]:
        """Return the stored token codes, None for a note without any."""
        seen = self._known()
        if space not in seen.state.spaces:
            return [None] * len(note_ids)
        known = {note: seen.codes[tenant, space, note] for note in note_ids if (tenant, space, note) in seen.codes}
        missing = {points.key(tenant, note): note for note in note_ids if note not in known}
        if missing:
            vector = points.vector_name(space)
            fields = ["note", f"codes-{vector}"]
            rows = self._ask(lambda client: client.retrieve(self._alias, list(missing), with_payload=fields))
            with clear_errors(self.where):
                read = {self._note_of(row, tenant): points.tokens_of(row.payload or {}, vector) for row in rows}
            known |= dict.fromkeys(missing.values()) | read
            if len(seen.codes) + len(missing) > _KEPT_CODES:
                seen.codes = {}
            seen.codes.update({(tenant, space, note): known[note] for note in missing.values()})
        return [known[note] for note in note_ids]

    def token_idf(self, space: str, ids: Sequence[int]) -> FloatArray:
        """Return ln(1 + (N - df + .5) / (df + .5)) for vocabulary ids, shape (len(ids),), over all tenants."""
        seen = self._known()
        counts = seen.tokens.get(space)
        if counts is None:
            notes, by_id = 0, dict[int, int]()
            if space in seen.state.spaces:
                vector = points.vector_name(space)
                wanted, field = points.in_space(vector), f"tokens-{vector}"
                notes = self._ask(lambda client: client.count(self._alias, wanted, exact=True)).count
                exact = notes <= _COUNTED_EXACTLY
                found = self._ask(lambda client: client.facet(self._alias, field, limit=_VOCABULARY, exact=exact))
                by_id = {int(hit.value): hit.count for hit in found.hits}
            number = np.zeros(max(by_id, default=-1) + 1, np.int64)
            number[list(by_id)] = list(by_id.values())
            counts = seen.tokens[space] = TokenCounts(notes, number)
        return counts.idf(ids)
