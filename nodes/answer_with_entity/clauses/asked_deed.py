"""What an English question asks of a deed: who does it, whom it is done to, or when and where it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from theworld.nodes.answer_with_entity.clauses.verbs import deed_of, is_past

Role = Literal["agent", "patient", "circumstance"]
_ADVERB = r"(?:(?:first|originally|also|later|once|jointly|[a-z]+ly)\s+)?"
_ASKED = r"(?:who|whom|what|which(?:\s+[\w'’-]+){1,3}?)"
_WHEN = (
    r"(?:when|where|(?:in|on|at|during)\s(?:what|which)(?:\s[\w'’-]+){1,2}?|"
    r"how\smany(?:\s[\w'’-]+){1,3}?|how\smuch(?:\s\w+)?|what\syear)"
)
_BY_WHOM = r"by\s(?:whom|what|which\s\w+)"
_IS = r"(?:was|were|is|are)"
_THING = r"(?P<thing>.+?)"
_NAMED = r"[\"“]?[A-ZÀ-ÖØ-Þ\d][^\s?]*"
_NAME_FIRST = (
    rf"(?P<thing>(?:the\s|his\s|her\s|its\s|an?\s)?{_NAMED}(?:\s(?:(?:of|the|de|van|von|and|del|la|in)\s){{0,2}}{_NAMED})*|"
    rf"(?:the|his|her|its|an?)\s[\w'’-]+(?:\s(?:of|in)\s(?:the\s)?{_NAMED}(?:\s{_NAMED})*)?)"
)
_VERB = r"(?P<verb>[a-z]+(?:-[a-z]+)?)"
_REST = r"(?P<rest>\s.*)?$"
_FORMS: tuple[tuple[Role, bool, str], ...] = (
    ("patient", True, rf"^(?i:{_ASKED})\s{_IS}\s{_ADVERB}{_VERB}\sby\s{_THING}$"),
    (
        "agent",
        True,
        rf"^(?i:{_BY_WHOM})\s{_IS}\s{_NAME_FIRST}\s{_ADVERB}{_VERB}{_REST}",
    ),
    ("agent", True, rf"^(?i:{_ASKED})\s{_IS}\s{_THING}\s{_ADVERB}{_VERB}\sby$"),
    ("patient", False, rf"^(?i:{_ASKED})\s(?:did|does|do)\s{_NAME_FIRST}\s{_ADVERB}{_VERB}{_REST}"),
    ("circumstance", True, rf"^(?i:{_WHEN})\s{_IS}\s{_NAME_FIRST}\s{_ADVERB}{_VERB}{_REST}"),
    ("circumstance", False, rf"^(?i:{_WHEN})\s(?:did|does|do)\s{_NAME_FIRST}\s{_ADVERB}{_VERB}{_REST}"),
    ("agent", False, rf"^(?i:{_ASKED})\s{_ADVERB}{_VERB}\s{_THING}$"),
)
"""What is asked for, whether the verb is passive, and the form of the question; the first that fits counts."""
_PATTERNS = tuple((role, passive, re.compile(form)) for role, passive, form in _FORMS)
_NO_VERB = frozenset(
    (
        "is are was were be been do does did has have had can could will would should may might must the a an of in on "
        "at by for from to with that and or as its his"
    ).split()
)
_PARTS = re.compile(r"\s(?:of|for|in|at|on|from|to|with|by|during|after|before|against|as)\s")


@dataclass(frozen=True, slots=True)
class AskedDeed:
    """A question for a part of a deed."""

    verb: str
    """As `verbs.deed_of` has it."""
    role: Role
    """What it asks for."""
    thing: str
    """The head of the part that the question names: the patient when the agent is asked for, else the agent."""
    rest: str
    """What else the question says."""
    thing_is_patient: bool


def asked_deed(question: str) -> AskedDeed | None:
    """Return what part of a deed a question asks for, None when it is of another form."""
    text = question.strip().rstrip("?. ")
    for role, passive, pattern in _PATTERNS:
        match = pattern.match(text)
        if match is None:
            continue
        word = match["verb"]
        if word in _NO_VERB or not _fits(role, passive, word):
            continue
        thing, rest = match["thing"].strip(), (match.groupdict().get("rest") or "").strip()
        if role != "circumstance" or passive:
            cut = _PARTS.search(thing)
            tail = thing[cut.start() :].strip() if cut and not _is_name(thing, cut) else ""
            thing, rest = (thing[: cut.start()] if tail and cut else thing), f"{tail} {rest}".strip()
        base = not passive and role != "agent"
        patient = role == "agent" or (role == "circumstance" and passive)
        return AskedDeed(deed_of(word, base=base), role, thing, rest, patient)
    return None


def _fits(role: str, passive: bool, word: str) -> bool:
    if passive:
        return is_past(word)
    return role != "agent" or is_past(word) or (word.endswith("s") and not word.endswith("ss"))


def _is_name(thing: str, cut: re.Match[str]) -> bool:
    """Tell whether a preposition stands inside a name: "University of Lowmere"."""
    before = thing[: cut.start()].rsplit(maxsplit=1)[-1]
    return (
        cut.group().strip() in {"of", "for", "in", "at", "on"}
        and before[:1].isupper()
        and thing[cut.end() :][:1].isupper()
    )
