"""Names that are people by what stands beside them, although a tagger took them for something else."""

from __future__ import annotations

import re
from functools import cache

from theworld.nodes.answer_with_entity.question.answer_type import nouns_of
from theworld.state import Candidate, Mention

REACH = 60
"""Characters before a name in which a word says what it is."""
_NEVER = frozenset({"person", "date", "number", "quantity", "event"})
_FULL_NAME = re.compile(
    r"[A-ZÀ-ÖØ-Þ][\w'’-]+(?: (?:[A-ZÀ-ÖØ-Þ]\.|de|da|di|van|von|der|del|la|of|[A-ZÀ-ÖØ-Þ][\w'’-]+)){1,3}"
)
_AFTER = re.compile(r",? (?:who|whom|whose)\b")
_NO_PERSON = re.compile(
    r"\b(?:University|College|School|Institute|Company|Group|Inc|Ltd|Corporation|Museum|Club|City|United|Council|Committee|"
    r"Party|League|Association|Society|Foundation|Bank|Press|Records|Studios?|Church|Court|Army|River|Mount|Lake)\b"
)


def reads_as_person(note: Candidate, mention: Mention) -> bool:
    """Tell whether an English full name stands where a person does: "the architect Ana Lund", "Ana Lund, who".

    The words before it are the nouns for people of answer_types.yaml: "its chief executive since 2016 is Ana Lund".
    """
    name = mention.surface
    if note.language == "zh" or mention.type in _NEVER or not _FULL_NAME.fullmatch(name) or _NO_PERSON.search(name):
        return False
    before = note.text[max(0, mention.start - REACH) : mention.start]
    return bool(_AFTER.match(note.text, mention.end) or _before().search(before))


@cache
def _before() -> re.Pattern[str]:
    nouns = "|".join(sorted(map(re.escape, nouns_of("person")), key=lambda noun: (-len(noun), noun)))
    return re.compile(
        rf"\b(?:{nouns})(?:,? | (?:named|called) |\b[^.;,:]{{0,30}}? (?:is|was|are|were) )$|"
        r"\b(?:[Mm]r|[Mm]rs|[Mm]s|[Dd]r|[Ss]ir|[Ll]ady|[Ll]ord|[Cc]ount|[Pp]rof)\.? $"
    )
