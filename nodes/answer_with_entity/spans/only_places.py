"""Names that are places and nothing else, although a tagger took them for people: the Rhône, Lundy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from theworld.state import Candidate, Mention

_UNNAMED = frozenset({"date", "number", "quantity"})
REACH = 24
"""Characters before a name in which a word says what it is."""
_BEFORE_EN = re.compile(
    r"\b(?:in|at|near|on|over|across|along|through|into|towards?|outside|inside|off|(?:north|south|east|west) of|"
    r"(?:rivers?|lakes?|mounts?|isles?|islands?|city|town|village|county|port)(?: of)?)\s(?:the )?$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\bthe $", re.IGNORECASE)
"""Before a single word: people are not called "the Danube"; organisations are called "the Admiralty"."""
_AFTER_EN = re.compile(
    r"\s(?:River|Lake|Sea|Bay|Ocean|Valley|Island|Islands|Mountains?|Hills?|Desert|Peninsula|Canal|Street|Square|"
    r"Bridge|County|District|Province|Region)\b"
)
_BEFORE_ZH = re.compile(r"(?:位[于於]|坐落[于於]|前往|[来來]到|抵[达達]|途[经經]|流[经經]|[毗]?[邻鄰]近)$")
_AFTER_ZH = re.compile(r"^(?:[省市县縣区區镇鎮乡鄉村州]|河流域|山脉|山脈|[岛島]上|境[内內]|地[区區]|沿岸)")


def only_places(evidence: Sequence[Candidate], types: Mapping[str, str]) -> frozenset[str]:
    """Return the identity keys of such names in the evidence.

    `types` are what the one entry of a name is said to be; of other names, more mentions must look like a place than
    are tagged as something else.
    """
    places, others = Counter[str](), Counter[str]()
    for note in evidence:
        for mention in note.mentions:
            if mention.key and mention.type not in _UNNAMED:
                (places if _looks_like_place(note, mention) else others)[mention.key] += 1
    known = {key for key, said in types.items() if said == "place"}
    return frozenset(known | {key for key, count in places.items() if count > others[key] and key not in types})


def _looks_like_place(note: Candidate, mention: Mention) -> bool:
    if mention.type == "place":
        return True
    before, after = (
        note.text[max(0, mention.start - REACH) : mention.start],
        note.text[mention.end : mention.end + REACH],
    )
    if note.language == "zh":
        return bool(_BEFORE_ZH.search(before) or _AFTER_ZH.match(after))
    person = mention.type != "organization" and " " not in mention.surface.strip()
    return bool(_BEFORE_EN.search(before) or _AFTER_EN.match(after) or (person and _ARTICLE.search(before)))
