"""The walk over a graph on a server: what it needs of the graph is fetched round by round, until enough is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import LiteralString

from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.bounded_walk import EntitySteps, NoteSteps, Reach
from theworld.stores.graph.neo4j_client import Statement
from theworld.stores.graph.neo4j_moment import Moment

_OF_NOTES: tuple[LiteralString, ...] = (cypher.STEPS_OF_NOTES, cypher.STEPS_OF_NOTES_AROUND)
_GIVEN: tuple[LiteralString, ...] = (cypher.STEPS_OF_NOTES, cypher.STEPS_OF_THEIR_ENTITIES)
_AROUND: tuple[LiteralString, ...] = (cypher.STEPS_OF_NOTES_AROUND, cypher.STEPS_OF_ENTITIES_AROUND)


def walk_from(
    moment: Moment, notes: Mapping[str, float], entities: Mapping[str, float], reach: Reach
) -> tuple[dict[str, float], float, set[str]]:
    """Return the probability of each note met, the probability left, and the notes met but not followed.

    The latter are only heard of: the server has not said that they are there.
    """
    walk = moment.known.walk
    _step(moment, *walk.unknown(notes, entities), further=True)
    ranks = walk.rank(notes, entities)
    for _ in range(reach.rounds):
        following = walk.to_follow(ranks, reach)
        if not following:
            break
        _step(moment, following, ())
        ranks = walk.rank(notes, entities)
    found = walk.notes(ranks)
    return found, walk.left(ranks), set(walk.unknown(found, ())[0])


def _step(moment: Moment, notes: Sequence[str], keys: Sequence[str], *, further: bool = False) -> None:
    """Take in where notes and entities lead, in one round trip; `further`: the notes around them as well."""
    names, tenant, walk = moment.names, moment.tenant, moment.known.walk
    note_uids, key_uids = names.uids(tenant, "note", notes), names.uids(tenant, "entity", keys)
    bounds: dict[str, object] = {**moment.bounds, "known": walk.keys()}
    texts = (*_GIVEN, *(_AROUND if further else ())) if note_uids else ()
    asked: list[Statement] = [(text, {"uids": list(note_uids), **bounds}) for text in texts]
    if key_uids:
        asked.append((cypher.STEPS_OF_ENTITIES, {"uids": list(key_uids), **bounds}))
    answers = moment.ask(*asked)
    found: tuple[dict[str, NoteSteps], dict[str, EntitySteps]] = ({}, {})
    own_note, own_entity = names.checker(tenant, "note"), names.checker(tenant, "entity")
    with names.read():
        for (text, _), rows in zip(asked, answers, strict=True):
            for one, name, *rest in rows:
                if text in _OF_NOTES:
                    found[0][name] = NoteSteps(own_note(one, name), *rest)
                else:
                    found[1][name] = EntitySteps(own_entity(one, name), *rest)
        walk.add(found[0].values(), found[1].values())
    walk.give_up(set(notes) - set(found[0]), set(keys) - set(found[1]))
