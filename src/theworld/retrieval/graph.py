"""Where the walk over the graph starts, and its paths in words, in the language of the query.

It starts from the entities that a query names, and from what the other channels put first.

Names are looked for among the entities the store knows: no tagger, no model. An entity linker's snapshot adds what the
store calls the same entity: Beijing for Peking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from theworld.ontology.walking import word_steps
from theworld.packages import reason_in
from theworld.questions import Question
from theworld.state import EvidencePath, PathStep
from theworld.text import Language, cjk_share, entity_key, fold
from theworld.wikidata import EntriesByName

MAX_KEYS = 300
"""Names of a query that are looked up."""
SHORTEST, SHORTEST_CJK = 3, 2
"""Characters of a name; shorter ones have too many meanings."""
Known = Callable[[Sequence[str]], Mapping[str, int]]
"""Entity keys -> number of notes naming each known one."""


def known_by_another_name(keys: Sequence[str], known: Known, names: EntriesByName) -> dict[str, dict[str, int]]:
    """Return key -> the store's keys (with their numbers of notes) of the one entry that has this name.

    Of a name that several entries have, only one must be known to the store, and not by this name: which is meant is
    not to be guessed here.
    """
    asked = [key for key in keys if len(key) >= (SHORTEST_CJK if cjk_share(key) else SHORTEST)][:MAX_KEYS]
    entries = {
        key: [tuple(dict.fromkeys(map(entity_key, entry.names))) for entry in found]
        for key, found in names.entries_named(asked).items()
    }
    frequency = known(sorted({name for found in entries.values() for entry in found for name in entry if name}))
    meant: dict[str, dict[str, int]] = {}
    for key, found in entries.items():
        owned = [{name: frequency[name] for name in entry if name in frequency} for entry in found]
        stored = [each for each in owned if each]
        if len(stored) == 1 and (len(found) == 1 or key not in stored[0]):
            meant[key] = stored[0]
    return meant


def query_entities(question: Question, known: Known, names: EntriesByName | None = None) -> dict[str, int]:
    """Return the known entities that a question names, key -> number of notes naming it, longest names first.

    A name inside a longer known name does not count: "New York Times" is not "New York". With `names`, one stands for
    all that the store calls the same entry, whether it knows this name or not.
    """
    spans = question.possible_names
    keys = sorted(set(spans.values()))
    frequency = known(keys)
    others: Mapping[str, Mapping[str, int]] = {}
    if names is not None:
        others = known_by_another_name(sorted(keys, key=lambda key: key not in frequency), known, names)
    found: dict[str, int] = {}
    taken: list[tuple[int, int]] = []
    for span, key in sorted(spans.items(), key=lambda item: (item[0][0] - item[0][1], item[0])):
        meant = {key: frequency[key]} if key in frequency else {}
        meant |= others.get(key, {})
        if meant and not any(start <= span[0] and span[1] <= end for start, end in taken):
            taken.append(span)
            found |= meant
    return found


SEED_NOTES = 3
"""Notes taken from the top of each of the sparse and dense lists."""
ENTITY_WEIGHT = 2.0
"""Weight of an entity named by one note, against 1 for the first note of a list."""


def seed_notes(lists: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return note id -> weight, 1/rank summed over the lists."""
    weights: dict[str, float] = {}
    for ranking in lists:
        for rank, note_id in enumerate(ranking, start=1):
            weights[note_id] = weights.get(note_id, 0.0) + 1.0 / rank
    return weights


def seed_entities(frequency: Mapping[str, int]) -> dict[str, float]:
    """Return entity key -> weight: the rarer the entity, the more it says."""
    return {key: ENTITY_WEIGHT / (1.0 + math.log(max(df, 1))) for key, df in frequency.items()}


_RELATIONS = {
    "mentions": "mentions",
    "mentioned_in": "mentioned in",
    "has_title": "is about",
    "title_of": "is the title of",
}


def word_path(steps: Sequence[PathStep], language: Language) -> str:
    """Return `A —mentions→ X —is the title of→ B`; unknown relations are shown by name."""
    known = {relation: reason_in(language, said) for relation, said in _RELATIONS.items()}
    relations = [known.get(step.relation, step.relation) for step in steps]
    return word_steps([s.model_copy(update={"relation": r}) for s, r in zip(steps, relations, strict=True)])


def telling_steps(steps: Iterable[PathStep]) -> tuple[PathStep, ...]:
    """Return the steps that lead from one name to another; none where a name comes a second time.

    A document and its title are one thing to a reader, so that a step between them says nothing (`Fritz Lang —is the
    title of→ Fritz Lang`); nor does a way that then leads nowhere, or comes back to where it has been.
    """
    kept = tuple(step for step in steps if fold(step.source) != fold(step.target))
    names = [fold(name) for name in (*(step.source for step in kept[:1]), *(step.target for step in kept))]
    return kept if len(set(names)) == len(names) else ()


def word_paths(paths: Iterable[EvidencePath], language: Language) -> list[EvidencePath]:
    """Return the paths that say something, with their text filled in; their steps stay whole."""
    told = [(path, telling_steps(path.steps)) for path in paths]
    return [path.model_copy(update={"text": word_path(steps, language)}) for path, steps in told if steps]


def distinct_paths(paths: Iterable[EvidencePath]) -> list[EvidencePath]:
    """Return the paths, each wording once: notes of one document are often reached the same way."""
    ways: dict[str, EvidencePath] = {}
    for path in paths:
        ways.setdefault(path.text or path.note_id, path)
    return list(ways.values())
