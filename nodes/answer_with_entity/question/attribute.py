"""The attribute a Chinese question asks the value of: 功率 of 热水器的功率是多少."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.nodes.answer_with_entity.one_entity import names_in, without_names
from theworld.state import Candidate
from theworld.text import entity_key
from theworld.text.folding import simplified

_COUNTED = frozenset({"date", "number", "quantity"})
_ATTRIBUTE = re.compile(
    r"(?:^|[的\s])(?P<noun>(?:(?!的)[\u4e00-\u9fff]){2,4}?)(?:一般|大[约概])?(?:(?:是|有|为|叫)?(?:谁(?!的)|多[少长久])|(?:是|叫)什么[？?]?$)|"
    r"有(?:多少|几)[个位名条家间座所]?(?P<counted>[\u4e00-\u9fff]{2,4}?)[？?]?$"
)
_NO_ATTRIBUTE = re.compile(
    r"[的了着过在和与及或把被将由从向到于是不最有位中共总约需要花费]|主要|核心|结果|意义|功能|作品|作者|时|[之以]前|目的|原因|特点|方式|名|称|语|人$|者$|地区?$"
)
"""Words that ask without being said in an answer, and pieces of a clause."""


def names_of(evidence: Sequence[Candidate]) -> set[str]:
    """Return the identity keys of the titles and of what the notes mention by name."""
    return {
        entity_key(name)
        for note in evidence
        for name in (note.title, *(m.surface for m in note.mentions if m.type not in _COUNTED))
    }


def asked_attribute(question: str, evidence: Sequence[Candidate]) -> str:
    """Return the noun a question asks the value of, beside the names it has; empty where it asks otherwise."""
    left = without_names(question, (key for key in names_of(evidence) if len(key) > 1))
    match = _ATTRIBUTE.search(left)
    noun = (match["noun"] or match["counted"]) if match else ""
    return "" if _NO_ATTRIBUTE.search(noun) else noun


def is_of_other(noun: str, question: str, note: Candidate, at: int) -> bool:
    """Tell whether the noun before an offset is of something named right before it, not in the question.

    西山公园门票为30元 says nothing of the price of another ticket.
    """
    place = simplified(note.text).rfind(noun, 0, at)
    owner = next((m for m in note.mentions if m.end in {place, place - 1} and m.type not in _COUNTED), None)
    apart = note.text[owner.end : place] if owner else ""
    return owner is not None and apart in {"", "的"} and not names_in(question)(owner.key)
