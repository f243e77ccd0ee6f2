"""Citations in a model's text, checked against the notes it was shown."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = r"(?:(?:notes?|sources?|笔记|筆記|注|註|来源|來源)\s*)?"
_NUMBERS = rf"{_WORD}(?:\d{{1,3}}\s*[-–—~～至到]\s*{_WORD}\d{{1,3}}|\d{{1,4}})"
_JOINED = r"\s*(?:[,，、;；&]|\band\b|和|及|与|與)\s*(?:and\s+)?"
_MARK = re.compile(rf"[\[【［]\s*\^?({_NUMBERS}(?:{_JOINED}{_NUMBERS})*)\s*[\]】］]", re.IGNORECASE)
_LONGEST_RANGE = 50
_NUMBER = re.compile(r"\d+")
_SPACE_BEFORE_END = re.compile(r"[ \t]+(?=[.,;:!?。，；：！？]|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A model's text with only real citations left."""

    text: str
    cited: tuple[int, ...]
    """Numbers cited, in order of first use, all between 1 and the number of notes."""
    invented: tuple[int, ...]
    """Numbers that were cited but do not exist, ascending."""


def check_citations(text: str, notes: int) -> CheckedText:
    """Remove citations of notes that do not exist; every remaining one is written `[n]`."""
    cited: dict[int, None] = {}
    invented: set[int] = set()

    def keep(match: re.Match[str]) -> str:
        numbers = _numbers(match.group(1))
        real = [number for number in dict.fromkeys(numbers) if 1 <= number <= notes]
        invented.update(number for number in numbers if number not in real)
        cited.update(dict.fromkeys(real))
        return "".join(f"[{number}]" for number in real)

    checked = _MARK.sub(keep, text)
    if invented:
        checked = _SPACE_BEFORE_END.sub("", checked)
    return CheckedText(checked.strip(), tuple(cited), tuple(sorted(invented)))


def _numbers(cited: str) -> list[int]:
    """Return the numbers of one mark, those between the ends of a range among them."""
    numbers: list[int] = []
    for part in re.split(_JOINED, cited, flags=re.IGNORECASE):
        found = [int(number) for number in _NUMBER.findall(part)]
        whole = len(found) == 2 and 0 < found[1] - found[0] < _LONGEST_RANGE
        numbers += range(found[0], found[1] + 1) if whole else found
    return numbers
