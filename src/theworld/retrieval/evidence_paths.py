"""Evidence paths in words, in the language of the query.

A document and its title are one thing to a reader, so that a step between them (`Fritz Lang —is the title of→ Fritz
Lang`) is left out of the words. A way that then leads nowhere, or comes back to where it has been, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theworld.state import EvidencePath, PathStep
from theworld.text import Language, fold

_RELATIONS = {
    "mentions": {"en": "—mentions→", "zh": "—提到→"},
    "mentioned_in": {"en": "—mentioned in→", "zh": "—出现于→"},
    "has_title": {"en": "—is about→", "zh": "—讲的是→"},
    "title_of": {"en": "—is the title of→", "zh": "—是其标题→"},
}


def word_path(steps: Sequence[PathStep], language: Language) -> str:
    """Return `A —mentions→ X —is the title of→ B`; unknown relations are shown by name."""
    words = [steps[0].source]
    for step in steps:
        relation = _RELATIONS.get(step.relation, {}).get(language, f"—{step.relation}→")
        words += [relation, step.target]
    return " ".join(words)


def telling_steps(steps: Iterable[PathStep]) -> tuple[PathStep, ...]:
    """Return the steps that lead from one name to another; none where a name comes a second time."""
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
