"""Citations in a model's text, checked against the notes it was shown."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = re.compile(
    r"[\[【［]\s*(?:note\s*|笔记\s*|注\s*)?(\d{1,4}(?:\s*[,，、;；]\s*\d{1,4})*)\s*[\]】］]", re.IGNORECASE
)
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
        numbers = [int(number) for number in _NUMBER.findall(match.group(1))]
        real = [number for number in dict.fromkeys(numbers) if 1 <= number <= notes]
        invented.update(number for number in numbers if number not in real)
        cited.update(dict.fromkeys(real))
        return "".join(f"[{number}]" for number in real)

    checked = _MARK.sub(keep, text)
    if invented:
        checked = _SPACE_BEFORE_END.sub("", checked)
    return CheckedText(checked.strip(), tuple(cited), tuple(sorted(invented)))
