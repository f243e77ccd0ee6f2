"""Evidence paths in words, in the language of the query."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.state import EvidencePath, PathStep
from theworld.text import Language

_RELATIONS = {
    "mentions": {"en": "—mentions→", "zh": "—提到→"},
    "mentioned_in": {"en": "—mentioned in→", "zh": "—出现于→"},
    "has_title": {"en": "—is about→", "zh": "—讲的是→"},
    "title_of": {"en": "—is the title of→", "zh": "—是其标题→"},
}


def word_path(steps: Sequence[PathStep], language: Language) -> str:
    """Return `A —mentions→ X —is the title of→ B`; unknown relations are shown by name."""
    if not steps:
        return ""
    words = [steps[0].source]
    for step in steps:
        relation = _RELATIONS.get(step.relation, {}).get(language, f"—{step.relation}→")
        words += [relation, step.target]
    return " ".join(words)


def says_something(path: EvidencePath) -> bool:
    """Return False for a way from a document to another note of the same document over its own title."""
    return len(path.steps) < 2 or len({label for step in path.steps for label in (step.source, step.target)}) > 1


def word_paths(paths: Sequence[EvidencePath], language: Language) -> list[EvidencePath]:
    """Return the paths that say something, with their text filled in."""
    told = [path for path in paths if says_something(path)]
    return [path.model_copy(update={"text": word_path(path.steps, language)}) for path in told]
