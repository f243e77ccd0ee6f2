"""What stands around a class in a question: names beside it, words of kind, and whether there is anything else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.ontology.questions.clauses import Span, description_words
from theworld.text import Language
from theworld.text.phrases import units

_ZH_BETWEEN = re.compile(r"(?:的|里的?|内的?|中的?|行业的?|市的?)?(?:谁|哪[家些个一]*)?[^，。；？,?的]{0,4}")
_EN_IN = re.compile(r" (?:based |located )?(?:in|of|from|at) (?:the )?")


def beside(text: str, head: Span, samples: Sequence[Span], language: Language) -> tuple[list[Span], list[Span]]:
    """Return the names that stand right before and right after a class."""
    if language == "zh":
        return [
            one for one in samples if one.end <= head.start and _ZH_BETWEEN.fullmatch(text[one.end : head.start])
        ], []
    return (
        [one for one in samples if one.end <= head.start and text[one.end : head.start] in {" ", "'s ", "’s "}],
        [one for one in samples if one.start >= head.end and _EN_IN.fullmatch(text[head.end : one.start])],
    )


def kind_words(text: str, head: Span, language: Language) -> str:
    """Return the words right before a class that may say its kind: 机械 in 哪家机械企业."""
    if language == "zh":
        match = re.search(r"[^，。；？,?的哪家个些一\s]{2,4}$", text[: head.start])
        return match.group()[-2:] if match else ""
    match = re.search(r"(?!(?:which|what|the|a|an)\b)\b\w+ $", text[: head.start], re.IGNORECASE)
    return match.group() if match else ""


def nothing_else(text: str, parts: Sequence[tuple[int, int]], language: Language, *more: str) -> bool:
    """Return whether nothing stands outside of these places but function words, and words of the kinds in `more`."""
    words = description_words()[language]
    plain = [word for name in ("function", *more) for word in words[name]]
    function = set(plain) if language == "zh" else {unit.value for word in plain for unit in units(word)}
    return all(
        unit.value in function or any(s <= unit.start and unit.end <= e for s, e in parts) for unit in units(text)
    )
