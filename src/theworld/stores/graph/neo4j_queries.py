"""All Cypher there is. Nodes are found by `uid`, a hash of ledger, tenant and id, so no query can reach another tenant.

    (:TheWorldNote {uid, ledger, id, document, title, terms, sequence})
    (:TheWorldEntity {uid, ledger, key})
    (:TheWorldNote)-[:TITLED {name}]->(:TheWorldEntity)
    (:TheWorldNote)-[:MENTIONS {surfaces}]->(:TheWorldEntity)
    (:TheWorldState {uid, applied, format, clearing})

A note MENTIONS only what is not its own title: as in the embedded twin.

All values come in one parameter, a map: where lists are parameters of their own, the server plans a query anew for
each order of magnitude of their lengths (1, up to 10, up to 100, ...), which costs far more than the query does; into a
map it does not look. What is read comes in one row, a list: the driver spends more on a row than on what is in it.
"""

from __future__ import annotations

from typing import LiteralString

FORMAT = 3
"""Raised whenever the model or the keys change, so that what an older program wrote is built anew."""

SCHEMA: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT theworld_note IF NOT EXISTS FOR (n:TheWorldNote) REQUIRE n.uid IS UNIQUE",
    "CREATE CONSTRAINT theworld_entity IF NOT EXISTS FOR (e:TheWorldEntity) REQUIRE e.uid IS UNIQUE",
    "CREATE CONSTRAINT theworld_state IF NOT EXISTS FOR (s:TheWorldState) REQUIRE s.uid IS UNIQUE",
    "CREATE INDEX theworld_note_ledger IF NOT EXISTS FOR (n:TheWorldNote) ON (n.ledger)",
    "CREATE INDEX theworld_entity_ledger IF NOT EXISTS FOR (e:TheWorldEntity) ON (e.ledger)",
)

STATE: LiteralString = "MATCH (s:TheWorldState {uid: $given.ledger}) RETURN collect([s.applied, s.format, s.clearing])"

# Setting a property takes the lock: of two writers the second waits here, and then sees what the first has done.
LOCK_STATE: LiteralString = """
MERGE (s:TheWorldState {uid: $given.ledger})
ON CREATE SET s.applied = 0, s.format = $given.format, s.clearing = false
SET s.locked = true
RETURN s.applied
"""

SET_STATE: LiteralString = """
MERGE (s:TheWorldState {uid: $given.ledger})
SET s.applied = $given.applied, s.format = $given.format, s.clearing = $given.clearing
REMOVE s.locked
"""

DETACH: LiteralString = """
UNWIND $given.uids AS uid
MATCH (:TheWorldNote {uid: uid})-[r:TITLED|MENTIONS]->(e:TheWorldEntity)
DELETE r
RETURN collect(DISTINCT e.uid)
"""

REMOVE_NOTES: LiteralString = "UNWIND $given.uids AS uid MATCH (n:TheWorldNote {uid: uid}) DELETE n"

# Each note with all that it names, in one pass: each relationship for itself would be matched to both its ends again.
PUT_NOTES: LiteralString = """
UNWIND $given.rows AS row
MERGE (n:TheWorldNote {uid: row.facts.uid}) SET n = row.facts
FOREACH (one IN row.titled |
  MERGE (e:TheWorldEntity {uid: one[0]}) ON CREATE SET e.key = one[1], e.ledger = row.facts.ledger
  CREATE (n)-[:TITLED {name: one[2]}]->(e))
FOREACH (one IN row.mentioned |
  MERGE (e:TheWorldEntity {uid: one[0]}) ON CREATE SET e.key = one[1], e.ledger = row.facts.ledger
  CREATE (n)-[:MENTIONS {surfaces: one[2]}]->(e))
"""

REMOVE_ORPHANS: LiteralString = """
UNWIND $given.uids AS uid
MATCH (e:TheWorldEntity {uid: uid})
WHERE NOT EXISTS { (e)<-[:TITLED|MENTIONS]-() }
DELETE e
"""

CLEAR: LiteralString = """
MATCH (n:TheWorldNote|TheWorldEntity {ledger: $given.ledger}) WITH n LIMIT $given.batch DETACH DELETE n RETURN count(*)
"""

REMOVE_STATE: LiteralString = "MATCH (s:TheWorldState {uid: $given.ledger}) DELETE s"

# In the order of an index, some at a time.
HELD: LiteralString = """
MATCH (n:TheWorldNote) WHERE n.ledger = $given.ledger AND n.uid > $given.after
WITH n.uid AS uid, n.sequence AS sequence ORDER BY uid LIMIT $given.limit
RETURN collect([uid, sequence])
"""

NAMED_BY: LiteralString = """
UNWIND $given.uids AS uid
MATCH (e:TheWorldEntity {uid: uid})
WITH e, COUNT { (e)<-[:TITLED|MENTIONS]-() } AS notes
RETURN collect([e.uid, e.key, notes])
"""

# A hub's mentions are asked for only where a path may begin or end at it; every list has an end.
ENTITIES: LiteralString = """
UNWIND $given.rows AS row
MATCH (e:TheWorldEntity {uid: row.uid})
WITH e, row.whole AS whole, COUNT { (e)<-[:TITLED]-() } AS titles, COUNT { (e)<-[:MENTIONS]-() } AS mentions
WITH e, titles, mentions,
     COLLECT { MATCH (e)<-[r:TITLED]-(n) WITH n, r ORDER BY n.id LIMIT $given.longest
               RETURN [n.uid, n.id, n.title, r.name] } AS titling,
     COLLECT { WITH e WHERE whole OR titles + mentions <= $given.most
               MATCH (e)<-[r:MENTIONS]-(n) WITH n, r ORDER BY n.id LIMIT $given.longest
               RETURN [n.uid, n.id, n.title, r.surfaces] } AS mentioning
RETURN collect([e.uid, e.key, titles, mentions, titling, mentioning])
"""

# Of the notes given, or of those they share an entity with: what each names.
_WALKED: LiteralString = """
UNWIND $given.uids AS uid
MATCH (n:TheWorldNote {uid: uid})
"""

_FURTHER: LiteralString = """
UNWIND $given.uids AS uid
MATCH (:TheWorldNote {uid: uid})-[:TITLED|MENTIONS]->(e:TheWorldEntity)
WITH DISTINCT e WHERE COUNT { (e)<-[:TITLED|MENTIONS]-() } <= $given.most
MATCH (e)<-[:TITLED|MENTIONS]-(n:TheWorldNote)
WITH DISTINCT n ORDER BY n.uid LIMIT $given.at_once
"""

_ROWS: LiteralString = """
WITH n,
     COLLECT { MATCH (n)-[:TITLED]->(e) RETURN e.key } AS titled,
     COLLECT { MATCH (n)-[:MENTIONS]->(e) RETURN e.key } AS mentioned
RETURN collect([n.uid, n.id, n.document, n.title, titled, mentioned])
"""

_STEPS_OF_ENTITIES: LiteralString = """
WITH e, COUNT { (e)<-[:TITLED]-() } AS titles, COUNT { (e)<-[:MENTIONS]-() } AS mentions
WITH e, titles, mentions,
     COLLECT { MATCH (e)<-[:TITLED]-(n) WITH n ORDER BY n.id LIMIT $given.longest RETURN n.id } AS titling,
     COLLECT { WITH e WHERE titles + mentions <= $given.most MATCH (e)<-[:MENTIONS]-(n) RETURN n.id } AS mentioning
RETURN collect([e.uid, e.key, titles, mentions, titling, mentioning])
"""

_NAMED: LiteralString = """
MATCH (n)-[:TITLED|MENTIONS]->(e:TheWorldEntity)
WITH DISTINCT e WHERE NOT e.key IN $given.known
"""

# A step of the walk: notes with the keys they name, which paths read too, and those entities with the notes that name
# them.
NOTES: LiteralString = _WALKED + _ROWS
STEPS_OF_THEIR_ENTITIES: LiteralString = _WALKED + _NAMED + _STEPS_OF_ENTITIES
NOTES_AROUND: LiteralString = _FURTHER + _ROWS
STEPS_OF_ENTITIES_AROUND: LiteralString = _FURTHER + _NAMED + _STEPS_OF_ENTITIES
STEPS_OF_ENTITIES: LiteralString = "UNWIND $given.uids AS uid MATCH (e:TheWorldEntity {uid: uid})" + _STEPS_OF_ENTITIES

# What several of some notes name; a hub that is nobody's title joins nothing.
SHARED: LiteralString = """
UNWIND $given.uids AS uid
MATCH (n:TheWorldNote {uid: uid})-[r:TITLED|MENTIONS]->(e:TheWorldEntity)
WITH e, count(r) AS naming
WHERE naming > 1
WITH e, COUNT { (e)<-[:TITLED]-() } AS titles, COUNT { (e)<-[:MENTIONS]-() } AS mentions
WHERE titles > 0 OR mentions <= $given.most
WITH e, titles, mentions,
     COLLECT { MATCH (e)<-[r:TITLED]-() RETURN min(r.name) } AS title,
     COLLECT { WITH e WHERE titles = 0 MATCH (e)<-[r:MENTIONS]-() RETURN r.surfaces } AS surfaces
RETURN collect([e.uid, e.key, titles, mentions, title, surfaces])
"""

PASSING: LiteralString = """
UNWIND $given.uids AS uid
MATCH (n:TheWorldNote {uid: uid})
WHERE all(some IN $given.wanted WHERE any(term IN some WHERE term IN n.terms))
RETURN collect([n.uid])
"""

# What questions ask, in the order in which they ask it.
QUERIES: tuple[LiteralString, ...] = (
    STATE,
    NAMED_BY,
    NOTES,
    STEPS_OF_THEIR_ENTITIES,
    NOTES_AROUND,
    STEPS_OF_ENTITIES_AROUND,
    STEPS_OF_ENTITIES,
    PASSING,
    ENTITIES,
    SHARED,
)
