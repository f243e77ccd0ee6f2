"""How notes lie in a Qdrant collection, and how they are asked for: plain values in, request models out.

A note is one point: a named vector for each space it lies in, and as payload what filters, sums and the reranker need.

    note, tenant, sequence     what it is, whose, and the change of the ledger that put it there
    terms                      metadata and document id as `key=value`, by which filters choose
    spaces                     names of its vectors
    lot                        a number by which samples are drawn, the same for ever
    tokens-VECTOR              distinct vocabulary ids, counted for the rarity of a token
    codes-VECTOR               ids and codes of its tokens in base64, see theworld.stores.token_codes

Token codes are payload, not a multivector: the reranker asks which of the question's tokens a note covers, and MaxSim
answers only with their sum; the codes of 26 bytes a token would have to be unfolded to 208 numbers each; and the ledger
keeps no whole token vectors that could be replayed.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from qdrant_client import models

from theworld.settings import DenseSettings
from theworld.stores.engine_access import identifier, index_term, sendable_terms
from theworld.stores.protocols import NoteChange
from theworld.stores.records import Filters, filter_terms, is_text
from theworld.stores.token_codes import TokenCodes, pack_tokens, unpack_tokens

FORMAT = 2
"""Raised whenever the payload changes, so that old collections are built anew."""
_NAMESPACE = uuid.UUID("6f7b5c1e-6a0f-5d0e-9d3c-7b1f0c2a4e88")
STATE = str(uuid.uuid5(_NAMESPACE, "state"))
"""Id of the one point that is no note: how far the collection has come."""
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class State:
    """How far a collection has come, and the dimensions of its spaces by name."""

    applied: int = 0
    spaces: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> State:
        """Read it back."""
        return cls(int(payload["applied"]), {one["name"]: int(one["dimension"]) for one in payload["spaces"]})

    def point(self) -> models.PointStruct:
        """Return the point that keeps it."""
        spaces = [{"name": name, "vector": vector_name(name), "dimension": n} for name, n in self.spaces.items()]
        return models.PointStruct(id=STATE, vector={}, payload={"applied": self.applied, "spaces": spaces})


@lru_cache(maxsize=32_768)
def key(tenant: str, note_id: str) -> str:
    """Return the id of a note's point; kept, because a question asks for those of the same notes again and again."""
    return str(uuid.uuid5(_NAMESPACE, identifier(tenant, note_id)))


def vector_name(space: str) -> str:
    """Return a name that the server can also use for files: letters, digits, `-` and `_`."""
    return f"{re.sub('[^A-Za-z0-9_]+', '_', space)[:_LONGEST_NAME]}-{identifier(space)[:8]}"


def collection_config(settings: DenseSettings) -> dict[str, Any]:
    """Return the options of a new collection: a graph for each tenant, payload on disk."""
    scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    small_copies = {
        "scalar": models.ScalarQuantization(scalar=scalar),
        "binary": models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True)),
    }
    return {
        "vectors_config": {},
        "shard_number": settings.shards,
        "replication_factor": settings.replicas + 1,
        "on_disk_payload": True,
        "hnsw_config": models.HnswConfigDiff(m=0, payload_m=16, ef_construct=128),
        "quantization_config": small_copies.get(settings.quantization),
    }


_KEYWORD = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, enable_hnsw=False)
_LOT = models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True, enable_hnsw=False)
_TENANT = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
PAYLOAD_INDEXES: dict[str, Any] = {"tenant": _TENANT, "terms": _KEYWORD, "spaces": _KEYWORD, "lot": _LOT}
"""Indexes of every collection by field; only tenants get graphs of their own."""


def point(change: NoteChange) -> models.PointStruct:
    """Return the point of a note to be put."""
    assert change.note is not None
    one = key(change.tenant, change.note_id)
    vectors = {vector_name(space): embedded.vector for space, embedded in change.note.vectors.items()}
    payload: dict[str, Any] = {
        "note": change.note_id,
        "tenant": index_term(change.tenant),
        "sequence": change.sequence,
        "lot": uuid.UUID(one).int & 0x7FFF_FFFF,
        "spaces": sorted(vectors),
        "terms": sorted(index_term(term) for term in filter_terms(change.metadata, change.document_id)),
    }
    for space in change.note.vectors:
        tokens = change.note.codes.get(space)
        if tokens is not None and len(tokens.ids):
            payload[f"tokens-{vector_name(space)}"] = np.unique(tokens.ids).tolist()
            payload[f"codes-{vector_name(space)}"] = [base64.b64encode(some).decode() for some in pack_tokens(tokens)]
    return models.PointStruct(id=one, vector={name: some.tolist() for name, some in vectors.items()}, payload=payload)


def tokens_of(payload: Mapping[str, Any], vector: str) -> TokenCodes | None:
    """Return the token codes of a point, None when it has none."""
    packed = payload.get(f"codes-{vector}")
    if packed is None:
        return None
    ids, codes = (base64.b64decode(some, validate=True) for some in packed)
    return unpack_tokens(ids, codes)


def operations(changes: Iterable[NoteChange]) -> list[models.UpdateOperation]:
    """Return what writes these changes, of which none concerns the same note.

    What is on the server from a later change stays: a request that arrives late, after a newer one, changes nothing.
    """
    some = list(changes)
    not_newer = models.FieldCondition(key="sequence", range=models.Range(lte=max(one.sequence for one in some)))
    put = [point(change) for change in some if change.note is not None]
    gone = [key(change.tenant, change.note_id) for change in some if change.note is None]
    done: list[models.UpdateOperation] = []
    if put:
        update = models.PointsList(points=put, update_filter=models.Filter(must=[not_newer]))
        done.append(models.UpsertOperation(upsert=update))
    if gone:
        those = models.Filter(must=[models.HasIdCondition(has_id=list(gone)), not_newer])
        done.append(models.DeleteOperation(delete=models.FilterSelector(filter=those)))
    return done


def tenants_notes(tenant: str, filters: Filters, vector: str | None = None) -> models.Filter | None:
    """Return the filter for notes of a tenant that pass the filters and lie in a space; None when nothing can."""
    wanted = [[index_term(term) for term in some] for some in sendable_terms(filters)]
    if not is_text(tenant) or not all(wanted):
        return None
    must: list[Any] = [_is("tenant", index_term(tenant))]
    must += [models.FieldCondition(key="terms", match=models.MatchAny(any=some)) for some in wanted]
    return models.Filter(must=[*must, _is("spaces", vector)] if vector is not None else must)


def in_space(vector: str, ids: Sequence[str] | None = None) -> models.Filter:
    """Return the filter for the notes of all tenants in a space, or for those of them with these ids.

    The payload decides: with vectors on disk, servers up to 1.18 have been seen to keep one that an update took away.
    """
    must: list[Any] = [_is("spaces", vector)]
    return models.Filter(must=must if ids is None else [models.HasIdCondition(has_id=list(ids)), *must])


def _is(name: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=name, match=models.MatchValue(value=value))
