"""Numbers with units, and the comparisons they stand in: 超过5000万元, at least 3, between 10 and 20."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml

from theworld.questions import Question
from theworld.text.quantities import Quantity

Comparison = Literal["at_least", "more_than", "at_most", "less_than", "equal", "between"]
"""How a value must stand to the limit; `between` includes both limits."""

_RANGE = re.compile(r"\s*(到|至|~|～|-|—|–|和|与|and|to)\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:between|from|介于|在|从)\s*$", re.IGNORECASE)


class NumberConstraint(NamedTuple):
    """A comparison with one number, or with two for `between`."""

    start: int
    end: int
    comparison: Comparison
    low: Quantity
    high: Quantity | None = None


@cache
def load_comparisons() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], Mapping[str, Comparison]]:
    """Return the patterns of the words before and behind a number, and what each word says."""
    table = yaml.safe_load((files("theworld.ontology") / "data" / "comparisons.yaml").read_text("utf-8"))
    sides: dict[str, dict[str, Comparison]] = {"before": {}, "after": {}}
    for comparison, words in table.items():
        for side, known in sides.items():
            known.update((word, comparison) for language in ("zh", "en") for word in words[side][language])
    before, after = (sorted(known, key=len, reverse=True) for known in sides.values())
    lead = "|".join(rf"(?<![a-z]){word}" if word.isascii() else word for word in before)
    rest = "|".join(rf"{word}(?![a-z])" if word.isascii() else word for word in after)
    patterns = re.compile(rf"(?P<word>{lead})\s*$"), re.compile(rf"\s*(?P<word>{rest})")
    return patterns, {f"{side}: {word}": one for side, known in sides.items() for word, one in known.items()}


def number_constraints(question: Question) -> list[NumberConstraint]:
    """Return the comparisons with numbers in a question, in order."""
    text, numbers = question.simplified, question.amounts
    found: list[NumberConstraint] = []
    skip = -1
    for i, low in enumerate(numbers):
        if i == skip:
            continue
        high = numbers[i + 1] if i + 1 < len(numbers) else None
        begin = _BETWEEN.search(text, 0, low.start)
        joint = _RANGE.match(text[low.end : high.start]) if high is not None else None
        if high is not None and joint and (begin or joint[1].lower() not in {"and", "和", "与"}):
            # "10 to 20 million": the scale said once holds for both.
            bare = low.scale == 1 and not low.unit
            least = low._replace(scale=high.scale, unit=high.unit) if bare else low
            found.append(NumberConstraint(begin.start() if begin else low.start, high.end, "between", least, high))
            skip = i + 1
            continue
        (before, after), said = load_comparisons()
        behind = after.match(text.lower(), low.end)
        if behind:
            found.append(NumberConstraint(low.start, behind.end(), said[f"after: {behind['word']}"], low))
        elif lead := before.search(text.lower(), 0, low.start):
            found.append(NumberConstraint(lead.start(), low.end, said[f"before: {lead['word']}"], low))
    return found
