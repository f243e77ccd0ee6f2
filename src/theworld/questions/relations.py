"""The relations that a question asks for, and the words by which notes state them (relations.yaml)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from theworld.errors import SettingsError

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Relation:
    """One entry of relations.yaml with its patterns compiled, by language."""

    name: str
    type: str
    link: bool
    asked: Mapping[str, Sequence[re.Pattern[str]]]
    """A question asks for the relation when each of them is found."""
    after: Mapping[str, Sequence[re.Pattern[str]]]
    before: Mapping[str, Sequence[re.Pattern[str]]]


@dataclass(frozen=True, slots=True)
class AskedRelation:
    """A relation that a question asks for, and the words that ask."""

    relation: Relation
    spans: tuple[Span, ...]

    @property
    def start(self) -> int:
        """Where the first of its words stands."""
        return self.spans[0][0]


@cache
def relations() -> Mapping[str, Relation]:
    """Return all relations by name, in the order of the file."""
    file = resources.files("theworld.questions").joinpath("relations.yaml")
    found: dict[str, Relation] = {}
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
        try:
            found[entry["name"]] = Relation(
                name=entry["name"],
                type=entry["type"],
                link=entry.get("link", False),
                asked=_compiled(entry["asked"], words=True),
                after=_compiled(entry.get("after", {})),
                before=_compiled(entry.get("before", {})),
            )
        except (KeyError, TypeError, re.error) as error:
            raise SettingsError(f"entry {entry!r} is not usable: {error!r}.", where="relations.yaml") from error
    return found


def _compiled(table: Mapping[str, Any], *, words: bool = False) -> dict[str, list[re.Pattern[str]]]:
    whole = {"en": r"\b(?:{})\b", "zh": "{}"} if words else {"en": "{}", "zh": "{}"}
    return {
        language: [re.compile(form.format(pattern), re.IGNORECASE) for pattern in table.get(language, ())]
        for language, form in whole.items()
    }


def asked_relations(question: str, language: str) -> list[AskedRelation]:
    """Return the relations a question asks for, by position; of those that lead nowhere further only the clearest."""
    found = []
    for relation in relations().values():
        spans = [[m.span() for m in group.finditer(question)] for group in relation.asked[language]]
        if all(spans):
            found.append(AskedRelation(relation, tuple(sorted({span for group in spans for span in group}))))
    ends = [one for one in found if not one.relation.link]
    clearest = max((len(one.relation.asked[language]) for one in ends), default=0)
    kept = [one for one in found if one.relation.link or len(one.relation.asked[language]) == clearest]
    return sorted(kept, key=lambda one: one.start)
