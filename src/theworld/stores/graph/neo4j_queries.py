"""All Cypher there is. Nodes are found by `uid`, a hash of ledger, tenant and id, so no query can reach another tenant.

    (:TheWorldNote {uid, ledger, id, document, title, terms, sequence})
    (:TheWorldEntity {uid, ledger, key})
    (:TheWorldNote)-[:TITLED {name}]->(:TheWorldEntity)
    (:TheWorldNote)-[:MENTIONS {surfaces}]->(:TheWorldEntity)
    (:TheWorldState {uid, applied, format, clearing})

A note MENTIONS only what is not its own title: as in the embedded twin.
"""

from __future__ import annotations

from typing import LiteralString

SCHEMA: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT theworld_note IF NOT EXISTS FOR (n:TheWorldNote) REQUIRE n.uid IS UNIQUE",
    "CREATE CONSTRAINT theworld_entity IF NOT EXISTS FOR (e:TheWorldEntity) REQUIRE e.uid IS UNIQUE",
    "CREATE CONSTRAINT theworld_state IF NOT EXISTS FOR (s:TheWorldState) REQUIRE s.uid IS UNIQUE",
    "CREATE INDEX theworld_note_ledger IF NOT EXISTS FOR (n:TheWorldNote) ON (n.ledger)",
    "CREATE INDEX theworld_entity_ledger IF NOT EXISTS FOR (e:TheWorldEntity) ON (e.ledger)",
)

STATE: LiteralString = """
MATCH (s:TheWorldState {uid: $ledger}) RETURN s.applied, s.format, s.clearing
"""

# Setting a property takes the lock: of two writers the second waits here, and then sees what the first has done.
LOCK_STATE: LiteralString = """
MERGE (s:TheWorldState {uid: $ledger})
ON CREATE SET s.applied = 0, s.format = $format, s.clearing = false
SET s.locked = true
RETURN s.applied
"""

SET_STATE: LiteralString = """
MERGE (s:TheWorldState {uid: $ledger})
SET s.applied = $applied, s.format = $format, s.clearing = $clearing
REMOVE s.locked
"""

DETACH: LiteralString = """
UNWIND $uids AS uid
MATCH (:TheWorldNote {uid: uid})-[r:TITLED|MENTIONS]->(e:TheWorldEntity)
DELETE r
RETURN DISTINCT e.uid
"""

REMOVE_NOTES: LiteralString = """
UNWIND $uids AS uid MATCH (n:TheWorldNote {uid: uid}) DELETE n
"""

PUT_NOTES: LiteralString = """
UNWIND $rows AS row MERGE (n:TheWorldNote {uid: row.uid}) SET n = row
"""

PUT_ENTITIES: LiteralString = """
UNWIND $rows AS row MERGE (e:TheWorldEntity {uid: row.uid}) ON CREATE SET e = row
"""

PUT_TITLES: LiteralString = """
UNWIND $rows AS row
MATCH (n:TheWorldNote {uid: row.note})
MATCH (e:TheWorldEntity {uid: row.entity})
CREATE (n)-[:TITLED {name: row.name}]->(e)
"""

PUT_MENTIONS: LiteralString = """
UNWIND $rows AS row
MATCH (n:TheWorldNote {uid: row.note})
MATCH (e:TheWorldEntity {uid: row.entity})
CREATE (n)-[:MENTIONS {surfaces: row.surfaces}]->(e)
"""

REMOVE_ORPHANS: LiteralString = """
UNWIND $uids AS uid
MATCH (e:TheWorldEntity {uid: uid})
WHERE NOT EXISTS { (e)<-[:TITLED|MENTIONS]-() }
DELETE e
"""

CLEAR_NOTES: LiteralString = """
MATCH (n:TheWorldNote {ledger: $ledger}) WITH n LIMIT $batch DETACH DELETE n RETURN count(*)
"""

CLEAR_ENTITIES: LiteralString = """
MATCH (e:TheWorldEntity {ledger: $ledger}) WITH e LIMIT $batch DETACH DELETE e RETURN count(*)
"""

REMOVE_STATE: LiteralString = """
MATCH (s:TheWorldState {uid: $ledger}) DELETE s
"""

COUNT_NOTES: LiteralString = """
MATCH (n:TheWorldNote {ledger: $ledger}) RETURN count(n)
"""

# In the order of an index, some at a time.
HELD: LiteralString = """
MATCH (n:TheWorldNote) WHERE n.ledger = $ledger AND n.uid > $after
RETURN n.uid, n.sequence ORDER BY n.uid LIMIT $limit
"""

NAMED_BY: LiteralString = """
UNWIND $uids AS uid
MATCH (e:TheWorldEntity {uid: uid})
RETURN e.uid, e.key, COUNT { (e)<-[:TITLED|MENTIONS]-() }
"""

NOTES: LiteralString = """
UNWIND $uids AS uid
MATCH (n:TheWorldNote {uid: uid})
RETURN n.uid, n.id, n.document, n.title,
       COLLECT { MATCH (n)-[:TITLED]->(e)
                 RETURN [e.uid, e.key, COUNT { (e)<-[:TITLED]-() }, COUNT { (e)<-[:MENTIONS]-() }] },
       COLLECT { MATCH (n)-[:MENTIONS]->(e)
                 RETURN [e.uid, e.key, COUNT { (e)<-[:TITLED]-() }, COUNT { (e)<-[:MENTIONS]-() }] }
"""

# A hub's mentions are asked for only where a path may begin or end at it; every list has an end.
ENTITIES: LiteralString = """
UNWIND $rows AS row
MATCH (e:TheWorldEntity {uid: row.uid})
WITH e, row.whole AS whole, COUNT { (e)<-[:TITLED]-() } AS titles, COUNT { (e)<-[:MENTIONS]-() } AS mentions
RETURN e.uid, e.key, titles, mentions,
       COLLECT { MATCH (e)<-[r:TITLED]-(n) WITH n, r ORDER BY n.id LIMIT $longest
                 RETURN [n.uid, n.id, n.title, r.name] },
       COLLECT { WITH e WHERE whole OR titles + mentions <= $most
                 MATCH (e)<-[r:MENTIONS]-(n) WITH n, r ORDER BY n.id LIMIT $longest
                 RETURN [n.uid, n.id, n.title, r.surfaces] }
"""

# Of the notes given and, where `further`, of those they share an entity with: what each names.
_WALKED: LiteralString = """
UNWIND $uids AS uid
MATCH (n:TheWorldNote {uid: uid})
"""

_FURTHER: LiteralString = """
UNWIND $uids AS uid
MATCH (:TheWorldNote {uid: uid})-[:TITLED|MENTIONS]->(e:TheWorldEntity)
WITH DISTINCT e WHERE COUNT { (e)<-[:TITLED|MENTIONS]-() } <= $most
MATCH (e)<-[:TITLED|MENTIONS]-(n:TheWorldNote)
WITH DISTINCT n ORDER BY n.uid LIMIT $at_once
"""

_STEPS_OF_NOTES: LiteralString = """
RETURN n.uid, n.id,
       COLLECT { MATCH (n)-[:TITLED]->(e) RETURN e.key },
       COLLECT { MATCH (n)-[:MENTIONS]->(e) RETURN e.key }
"""

_STEPS_OF_ENTITIES: LiteralString = """
WITH e, COUNT { (e)<-[:TITLED]-() } AS titles, COUNT { (e)<-[:MENTIONS]-() } AS mentions
RETURN e.uid, e.key, titles, mentions,
       COLLECT { MATCH (e)<-[:TITLED]-(n) WITH n ORDER BY n.id LIMIT $longest RETURN n.id },
       COLLECT { WITH e WHERE titles + mentions <= $most MATCH (e)<-[:MENTIONS]-(n) RETURN n.id }
"""

_NAMED: LiteralString = """
MATCH (n)-[:TITLED|MENTIONS]->(e:TheWorldEntity)
WITH DISTINCT e WHERE NOT e.key IN $known
"""

# A step of the walk: notes with the keys they name, and those entities with the notes that name them.
STEPS_OF_NOTES: LiteralString = _WALKED + _STEPS_OF_NOTES
STEPS_OF_THEIR_ENTITIES: LiteralString = _WALKED + _NAMED + _STEPS_OF_ENTITIES
STEPS_OF_NOTES_AROUND: LiteralString = _FURTHER + _STEPS_OF_NOTES
STEPS_OF_ENTITIES_AROUND: LiteralString = _FURTHER + _NAMED + _STEPS_OF_ENTITIES
STEPS_OF_ENTITIES: LiteralString = (
    """
UNWIND $uids AS uid
MATCH (e:TheWorldEntity {uid: uid})
"""
    + _STEPS_OF_ENTITIES
)

NOTE_FACTS: LiteralString = """
UNWIND $uids AS uid
MATCH (n:TheWorldNote {uid: uid})
RETURN n.uid, n.id, n.document, n.title
"""

# What several of some notes name; a hub that is nobody's title joins nothing.
SHARED: LiteralString = """
UNWIND $uids AS uid
MATCH (n:TheWorldNote {uid: uid})-[r:TITLED|MENTIONS]->(e:TheWorldEntity)
WITH e, collect([n.uid, type(r) = 'TITLED']) AS naming
WHERE size(naming) > 1
WITH e, naming, COUNT { (e)<-[:TITLED]-() } AS titles, COUNT { (e)<-[:MENTIONS]-() } AS mentions
WHERE titles > 0 OR mentions <= $most
RETURN e.uid, e.key, titles, mentions, naming,
       COLLECT { MATCH (e)<-[r:TITLED]-() RETURN min(r.name) },
       COLLECT { WITH e WHERE titles = 0 MATCH (e)<-[r:MENTIONS]-() RETURN r.surfaces }
"""

PASSING: LiteralString = """
UNWIND $uids AS uid
MATCH (n:TheWorldNote {uid: uid})
WHERE all(some IN $wanted WHERE any(term IN some WHERE term IN n.terms))
RETURN n.uid
"""

QUERIES: tuple[LiteralString, ...] = (
    NAMED_BY,
    NOTES,
    ENTITIES,
    STEPS_OF_NOTES,
    STEPS_OF_THEIR_ENTITIES,
    STEPS_OF_NOTES_AROUND,
    STEPS_OF_ENTITIES_AROUND,
    STEPS_OF_ENTITIES,
    NOTE_FACTS,
    SHARED,
)
