"""Numbers with units, and the comparisons they stand in: 超过5000万元, at least 3, between 10 and 20."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml

from theworld.questions import Question
from theworld.text.quantities import Quantity

Comparison = Literal["at_least", "more_than", "at_most", "less_than", "equal", "between"]
"""How a value must stand to the limit; `between` includes both limits."""

_RANGE_ZH = re.compile(r"^\s*(?:到|至|~|～|-|—|–|和|与)\s*$")
_RANGE_EN = re.compile(r"^\s*(?:and|to|-|–|—|~)\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:between|from|介于|在|从)\s*$", re.IGNORECASE)


class NumberConstraint(NamedTuple):
    """A comparison with one number, or with two for `between`."""

    start: int
    end: int
    comparison: Comparison
    low: Quantity
    high: Quantity | None = None


@cache
def load_comparisons() -> tuple[list[tuple[str, Comparison]], list[tuple[str, Comparison]]]:
    """Return the words before and behind a number, longest first."""
    table = yaml.safe_load((files("theworld.ontology") / "data" / "comparisons.yaml").read_text("utf-8"))
    lists: tuple[list[tuple[str, Comparison]], list[tuple[str, Comparison]]] = ([], [])
    for comparison, sides in table.items():
        for words, side in zip(lists, ("before", "after"), strict=True):
            words.extend((word, comparison) for language in ("zh", "en") for word in sides[side][language])
    for words in lists:
        words.sort(key=lambda item: -len(item[0]))
    return lists


def number_constraints(question: Question) -> list[NumberConstraint]:
    """Return the comparisons with numbers in a question, in order."""
    text, numbers = question.simplified, question.amounts
    found: list[NumberConstraint] = []
    skip = -1
    for i, low in enumerate(numbers):
        if i == skip:
            continue
        high = numbers[i + 1] if i + 1 < len(numbers) else None
        if high is not None and _is_range(text, low, high):
            # "10 to 20 million": the scale said once holds for both.
            bare = low.scale == 1 and not low.unit
            least = low._replace(scale=high.scale, unit=high.unit) if bare else low
            begin = _BETWEEN.search(text, 0, low.start)
            found.append(NumberConstraint(begin.start() if begin else low.start, high.end, "between", least, high))
            skip = i + 1
            continue
        constraint = _compared(text, low)
        if constraint is not None:
            found.append(constraint)
    return found


def _is_range(text: str, low: Quantity, high: Quantity) -> bool:
    between = text[low.end : high.start]
    if not (_RANGE_ZH.match(between) or _RANGE_EN.match(between)):
        return False
    joined_by_and = between.strip().lower() in {"and", "和", "与"}
    return not joined_by_and or bool(_BETWEEN.search(text, 0, low.start))


def _compared(text: str, number: Quantity) -> NumberConstraint | None:
    before, after = load_comparisons()
    lead = text[: number.start].rstrip().lower()
    rest = text[number.end :]
    for word, comparison in after:
        if rest.lstrip().lower().startswith(word) and _ends_word(rest.lstrip(), len(word)):
            end = number.end + len(rest) - len(rest.lstrip()) + len(word)
            return NumberConstraint(number.start, end, comparison, number)
    for word, comparison in before:
        if lead.endswith(word) and _begins_word(lead, len(lead) - len(word)):
            return NumberConstraint(len(lead) - len(word), number.end, comparison, number)
    return None


def _begins_word(text: str, at: int) -> bool:
    return not (text[at].isascii() and at > 0 and text[at - 1].isascii() and text[at - 1].isalpha())


def _ends_word(text: str, at: int) -> bool:
    return not (text[at - 1].isascii() and at < len(text) and text[at].isascii() and text[at].isalpha())
