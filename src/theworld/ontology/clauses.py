"""Where a question describes something by a relation to something named, in Chinese and in English.

A clause is a relation's name, a named sample and the side of the relation it is on: "the guarantor of X",
"X 的担保人", "the company that guarantees X", "为 X 担保的企业", "由谁控股". Which end of the relation is meant follows
from the name: a role is the end itself; of a verb the subject is the source and the object the target, of an inverse
the other way round.

Beside clauses: names right before or after a class, the words of its kind, and whether anything else is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from theworld.packages import load_table
from theworld.questions import read_question
from theworld.text import Language
from theworld.text.phrases import units

description_words = partial(load_table, "theworld.ontology", "data/descriptions.yaml")
"""Words by which descriptions are recognised, by language; read when first called."""


class Span(NamedTuple):
    """A place in a question with what is named there."""

    start: int
    end: int
    ids: tuple[str, ...]
    """Samples, classes, or relations as `kind:id`."""


class Clause(NamedTuple):
    """A description found by its form."""

    start: int
    end: int
    relation: Span
    other: Span
    """The named sample."""
    side: str
    """What the named one is: `owner` of a role, `subject` or `object` of a verb."""
    head: Span | None
    """The class of what is described, where it is said."""
    modifier: str
    """Words in between that may narrow it."""
    asked: bool
    """Whether it is what the question asks for."""


def clauses(
    text: str, language: Language, relations: Sequence[Span], samples: Sequence[Span], classes: Sequence[Span]
) -> Iterator[Clause]:
    """Yield every reading of every relation with every sample near it."""
    find = _chinese if language == "zh" else _english
    for relation, sample in product(relations, samples):
        for start, end, side, head, modifier, asked in find(text, relation, sample, classes):
            yield Clause(start, end, relation, sample, side, head, modifier, asked)


_Form = tuple[int, int, str, Span | None, str, bool]
"""Start, end, side, head, modifier, asked of a clause."""
_ZH_GAP = re.compile(r"[^，。；？,?谁哪]{0,10}")
_ZH_ROLE_GAP = re.compile(r"的[^，。；？,?的]{0,8}|")
_ZH_HEAD = re.compile(r"[^，。；？,?的]{0,8}的([^，。；？,?的]{0,8})")


def _chinese(text: str, relation: Span, sample: Span, classes: Sequence[Span]) -> Iterator[_Form]:
    words = description_words()["zh"]
    which, before = words["which"], text[sample.start - 1 : sample.start]
    asks_for = rf"{which}[^的，。？]{{0,4}}"
    toward, agent = (before != "" and before in words[kind] for kind in ("toward", "agent"))
    start = sample.start - (toward or agent)
    if sample.end <= relation.start:
        gap, rest = text[sample.end : relation.start], text[relation.end :]
        if _ZH_ROLE_GAP.fullmatch(gap):
            yield sample.start, relation.end, "owner", None, gap.removeprefix("的"), False
        if re.fullmatch(rf"[{words['agent']}]{asks_for}", gap):
            head = next((one for one in classes if 0 <= one.start - sample.end <= 5), None)
            yield sample.start, relation.end, "object", head, "", True
        elif _ZH_GAP.fullmatch(gap):
            side = "object" if toward else "subject"
            head = _zh_head(text, relation.end, classes)
            if head is not None:
                yield start, head.end, side, head, text[sample.end : head.start], False
            if toward and re.search(rf"{asks_for}$", text[:start]):
                yield start, relation.end, "object", None, gap, True
            if not toward and re.match(rf"了?{which}", rest):
                head = next((one for one in classes if 0 <= one.start - relation.end <= 5), None)
                yield start, relation.end, "subject", head, "", True
    elif text[relation.end : sample.start] in {"", "了", "过", "着"}:
        head = _zh_head(text, sample.end, classes)
        if head is not None:
            yield relation.start, head.end, "object", head, text[sample.end : head.start], False
        if re.search(rf"{asks_for}$", text[: relation.start]):
            yield relation.start, sample.end, "object", None, "", True


def _zh_head(text: str, begin: int, classes: Sequence[Span]) -> Span | None:
    """Return the class after `...的`, with at most a few words before it."""
    return next((c for c in classes if _ZH_HEAD.fullmatch(text[begin : c.start])), None)


_EN_MODIFIERS = r"(?:(?!(?:of|the|a|an|and|or|in|on|to|is|was|did|does)\b)[\w&-]+ ){0,3}"
_EN_OF = re.compile(r" (?:of|for|to) (?:the )?")
_EN_OWN = re.compile(rf"['’]s? ({_EN_MODIFIERS})")
_EN_OBJECT = re.compile(r" (?:by |to |from |with )?(?:(?!that\b|which\b|who\b)[\w-]+ ){0,4}")
_EN_RELATIVE = re.compile(r" (?:(?:that|which|who) (?:\w+ ){0,1})")
_EN_RELATIVE_OBJECT = re.compile(r" (?:(?:in|of|to|from|for|with|by) )?(?:(?:that|which|whom|whose) (?:\w+ ){0,1})?")
_EN_THE = re.compile(rf"(?:^|(?<=\W))(?:the|a|an|its) ({_EN_MODIFIERS})$", re.IGNORECASE)


def _english(text: str, relation: Span, sample: Span, classes: Sequence[Span]) -> Iterator[_Form]:
    asks = re.compile(rf"\b{description_words()['en']['which']} {_EN_MODIFIERS}$", re.IGNORECASE)
    first, second = (relation, sample) if relation.start < sample.start else (sample, relation)
    gap = text[first.end : second.start]
    said = _EN_THE.search(text[: relation.start])
    start, modifier = (said.start(), said.group(1)) if said else (relation.start, "")
    if first is sample:
        if own := _EN_OWN.fullmatch(gap):
            yield sample.start, relation.end, "owner", None, own.group(1), False
        for head in classes if re.fullmatch(r" (?:\w+ ){0,2}", gap) else ():
            if _EN_RELATIVE_OBJECT.fullmatch(text[head.end : sample.start]):
                begin, words = _en_start(text, head)
                yield begin, relation.end, "subject", head, words, False
        return
    if _EN_OF.fullmatch(gap):
        yield start, sample.end, "owner", None, modifier, not said and bool(asks.search(text[: relation.start]))
    if _EN_OBJECT.fullmatch(gap):
        side = "subject" if gap.startswith(" by ") else "object"
        for head in classes:
            between = text[head.end : relation.start]
            begin, words = _en_start(text, head)
            which = bool(asks.search(text[: head.start])) and not words.startswith("the ")
            if _EN_RELATIVE.fullmatch(between) or between == " ":
                yield begin, sample.end, side, head, words + gap, which
        if re.search(r"\bwho (?:\w+ )?$", text[: relation.start], re.IGNORECASE):
            yield relation.start, sample.end, side, None, gap, True


def opening(text: str, start: int) -> int:
    """Return where the article before a place in a text begins, at most three words before; else the place."""
    match = _EN_THE.search(text[:start])
    return match.start() if match else start


def _en_start(text: str, head: Span) -> tuple[int, str]:
    begin = opening(text, head.start)
    return begin, text[begin : head.start].partition(" ")[2]


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
    function = {unit.value for name in ("function", *more) for word in words[name] for unit in units(word)}
    return all(
        unit.value in function or any(s <= unit.start and unit.end <= e for s, e in parts)
        for unit in read_question(text, language).units
    )
