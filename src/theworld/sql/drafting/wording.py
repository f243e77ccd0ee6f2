"""What people call tables and columns: words of names and comments, in both languages over a glossary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from theworld.data_files import load_table

_CJK = re.compile("[\u4e00-\u9fff]")


def glossary() -> Mapping[str, Any]:
    """Return data/glossary.yaml."""
    return load_table("theworld.sql", "data/glossary.yaml")


@cache
def _pairs(*sections: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of the other language, and synonyms of the own one, by folded word."""
    found: dict[str, list[str]] = {}
    for section in sections:
        for (line,) in ([", ".join(entry)] for entry in glossary()[section]):
            both = [word.strip() for half in line.split(";") for word in half.split(",")]
            for word in both:
                found.setdefault(word, []).extend(other for other in both if other != word)
    return {word: tuple(dict.fromkeys(others)) for word, others in found.items()}


def is_chinese(text: str) -> bool:
    """Return whether a text has Chinese characters."""
    return bool(_CJK.search(text))


def words_of(name: str) -> str:
    """Return a name as words: `OrderDate` and `order_date` as "order date"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).replace("_", " ")
    return " ".join(spaced.lower().split())


def without_ending(words: str) -> str:
    """Return words without what only says that they are a key: id, no, 编号."""
    for ending in glossary()["endings"]:
        if is_chinese(ending):
            if words.endswith(ending) and len(words) > len(ending):
                return words[: -len(ending)]
        elif words.endswith(f" {ending}"):
            return words[: -len(ending) - 1]
    return words


def singular(words: str) -> str:
    """Return English words with the last one in the singular."""
    if is_chinese(words) or words.endswith(("ss", "us", "is", "news", "status")):
        return words
    if words.endswith("ies"):
        return f"{words[:-3]}y"
    if words.endswith(("xes", "ches", "shes", "sses")):
        return words[:-2]
    return words[:-1] if words.endswith("s") else words


def comment_label(comment: str) -> str:
    """Return the name a comment begins with, empty when it speaks of something else (a dictionary, a value)."""
    first = re.split(r"[，,;；:：(（。]|\s", comment.strip())[0]
    usable = first and "." not in first and not first.startswith("字典") and not first[0].isdigit()
    return first if usable and len(first) <= 20 else ""


def labels_for(*names: str, sections: tuple[str, ...] = ("things", "properties", "values")) -> tuple[str, ...]:
    """Return what goes by these names, with what the glossary's sections call it in the other language and the same."""
    pairs = _pairs(*sections)
    return tuple(dict.fromkeys(said for name in names if name for said in (name, *pairs.get(name, ()))))
