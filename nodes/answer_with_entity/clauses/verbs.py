"""English verbs by what they tell, whatever their form: "wrote", "written" and "writes" are one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.text.tokens import stem


@dataclass(frozen=True, slots=True)
class VerbTable:
    """verbs.yaml read for looking up."""

    bases: Mapping[str, str]
    """Irregular past form -> stem of the base form."""
    deeds: Mapping[str, str]
    """Stem of a base form -> stem of the first verb that tells the same deed."""
    mutual: frozenset[str]
    """Stems of verbs that both parts do to each other: who fought X is whom X fought."""


_OTHER_WORDS = frozenset({"found", "saw", "rose", "wound", "cut", "hit", "hurt", "put", "read", "set"})
"""Past forms that have the stem of another word: "found" is that of "founded"."""


@cache
def verb_table() -> VerbTable:
    """Return the table."""
    file = resources.files("theworld.nodes.answer_with_entity.clauses").joinpath("verbs.yaml")
    content: Mapping[str, list[str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    rows = [entry.split() for entry in content["irregular"]]
    alike = [[stem(verb) for verb in entry.split()] for entry in content["alike"]]
    return VerbTable(
        {past: stem(base) for base, *pasts in rows for past in pasts},
        {verb: verbs[0] for verbs in alike for verb in verbs},
        frozenset(stem(verb) for verb in content["mutual"]),
    )


def deed_of(word: str, *, base: bool = False) -> str:
    """Return what a form of a verb tells; with `base` the word is no past form: "found" of "did he found"."""
    folded = word.casefold().replace("-", "")
    table = verb_table()
    form = stem(folded) if base else table.bases.get(folded, stem(folded))
    return table.deeds.get(form, form)


@cache
def past_bases() -> Mapping[str, str]:
    """Return the stem of a base form by the stem of its irregular past form, where that is no other word's too."""
    return {stem(past): base for past, base in verb_table().bases.items() if past not in _OTHER_WORDS}


def is_past(word: str) -> bool:
    """Tell whether a word may be a past form: "killed", "wrote"."""
    folded = word.casefold()
    return folded in verb_table().bases or (folded.endswith("ed") and len(folded) > len("used"))
