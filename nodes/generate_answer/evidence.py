"""Evidence as numbered, delimited notes within a token budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theworld.prompts import harmless
from theworld.state import Candidate
from theworld.text import cjk_share, split_sentences

LATIN_CHARACTERS_PER_TOKEN = 3.5
"""Estimate for Latin text, on the safe side of the usual four."""
CJK_TOKENS_PER_CHARACTER = 1.2
"""Estimate for Chinese text; common tokenizers need 0.6 to 1.5."""
NOTE_OVERHEAD = 16
"""Tokens for a note's delimiters and title mark-up."""

_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    r"\U000e0000-\U000e01ef]"
)
LONGEST_TITLE = 200
"""Characters of a title that are shown."""


@dataclass(frozen=True, slots=True)
class PackedEvidence:
    """The notes as the model sees them."""

    text: str
    shown: tuple[int, ...]
    """Indexes into the evidence; the note numbered n is shown[n - 1]."""
    tokens: int
    """Estimated tokens of `text`."""


def estimate_tokens(text: str) -> int:
    """Return a stated estimate of a model's tokens: 1.2 per CJK character, one per 3.5 other characters."""
    characters = len(text)
    chinese = cjk_share(text) * len("".join(text.split()))
    return int(chinese * CJK_TOKENS_PER_CHARACTER + (characters - chinese) / LATIN_CHARACTERS_PER_TOKEN) + 1


def pack_evidence(evidence: Sequence[Candidate], budget: int) -> PackedEvidence:
    """Return the notes in their order, whole while they fit; the note that does not is cut after a sentence.

    A note of which not even one sentence fits leaves its room to the next.
    """
    blocks: list[str] = []
    shown: list[int] = []
    used = 0
    for index, note in enumerate(evidence):
        title = _attribute(note.title)
        body = _within(clean(note.text), budget - used - NOTE_OVERHEAD - estimate_tokens(title))
        if not body:
            continue
        block = f'<note number="{len(shown) + 1}" title="{title}">\n{body}\n</note>'
        blocks.append(block)
        shown.append(index)
        used += estimate_tokens(block)
    return PackedEvidence("\n".join(blocks), tuple(shown), used)


def clean(text: str) -> str:
    """Return a note's text without control, bidirectional and tag characters, its own `<note` marks made harmless."""
    return harmless(_CONTROL.sub("", _LINE_END.sub("\n", text)), "note").strip()


def _attribute(title: str) -> str:
    return clean(title[:LONGEST_TITLE]).replace('"', "'").replace("\n", " ").replace(">", "›")


def _within(text: str, budget: int) -> str:
    if estimate_tokens(text) <= budget:
        return text
    kept = ""
    for sentence in split_sentences(text):
        longer = text[: sentence.end]
        if estimate_tokens(longer) > budget:
            break
        kept = longer
    return kept
