"""Who holds an office: 宁波市长是谁 is answered by a person of whom a note says so, by nobody else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.answer_with_entity.spans.typed_spans import whole_name
from theworld.state import Candidate, Mention
from theworld.text import entity_key
from theworld.text.folding import simplified

REACH = 14
"""Characters between a person and the office in one clause: 由林鸣担任港珠澳大桥岛隧工程总工程师."""
_WHO = r"(?<!被)(?:谁|何人|哪(?:一)?位|哪(?:一)?个人|什么人|什么名字)"
_HOLDS = r"(?:是|为|叫|由|姓)"
_TAKES = r"(?:是|为|担任|出任|就任|接任|继任|当选|曾任|现任|任(?!命)|当(?!作|成))"
_SAYS_NO_UNIT = re.compile(
    r"[\d〇零一二三四五六七八九十]+[年月日]|第[\d一二三四五六七八九十]+[任届]|当时|时任|现任|现在|目前|如今|首任|请问|的?时候|[的是为叫由在，,。？?\s]"
)
_LEAVES = re.compile(r"辞去|辞掉|辞任|辞职|卸任|免去|不再|离任|离职|去职|退任|解除")
_TAKES_OVER = re.compile(r"[^，。；]{0,6}(?:接任|继任|接替|接掌|继位|补任)")
_IS_SUCCEEDED = re.compile(r"(?:接替|取代|代替|接任|继任者?)$")
LONGEST_UNIT = 5
"""Characters of a unit's name; more are a description."""
SHORTEST_UNIT = 3
_CLAUSE = re.compile(r"[，,。；;：:！？!?\n]")
_NAME = re.compile(r"[A-Za-z·•‧・]")
"""What a name untyped has that may be a person's."""
_UNIT_WORD = re.compile(r"[^\W\d_A-Za-z][馆会局院所校处社厅部厂店站台区县市省州镇乡村系司行团队学委]$")
"""The end of what an untagged unit is called: 文化馆 before 馆长."""
_UNITS = frozenset({"organization", "place"})

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AskedOffice:
    """An office whose holder a question asks for."""

    forms: re.Pattern[str]
    """Its names, in simplified characters."""
    said: str
    """The question, in simplified characters."""
    unit: str
    """What it says it is an office of, empty for 当时的总统是谁."""

    def holders(self, note: Candidate) -> list[Span]:
        """Return the people that a note says hold it, by position, as offsets in its text."""
        text = simplified(note.text)
        found: set[Span] = set()
        if not _tells_of(self.unit, simplified(f"{note.title}\n{note.text}")):
            return []
        for match in self.forms.finditer(text):
            begin = max((m.end() for m in _CLAUSE.finditer(text, 0, match.start())), default=0)
            stop = _CLAUSE.search(text, match.end())
            clause = (begin, stop.start() if stop else len(text))
            if not self._is_other(text[clause[0] : match.start()], note.mentions, match.start()):
                found |= {whole_name(note.text, *one) for one in _beside(match.span(), clause, note.mentions, text)}
        return sorted(found)

    def _is_other(self, before: str, mentions: Sequence[Mention], at: int) -> bool:
        """Tell whether the office is another one: 副市长, or that of something that the question does not name."""
        qualifier = next((word for word in _others() if before.endswith(word)), None)
        if qualifier and qualifier not in self.said:
            return True
        unit = next((m for m in mentions if m.end == at and m.type in _UNITS), None)
        if unit is not None:
            return bool(self.unit) and not _same_unit(unit.surface, self.said)
        word = _UNIT_WORD.search(before)
        foreign = word is not None and word.group() not in self.said and not before.endswith(_own_words())
        return bool(self.unit) and foreign


def asked_office(question: str) -> AskedOffice | None:
    """Return the office that a Chinese question asks the holder of, None where it asks something else."""
    plain = simplified(question)
    for forms in _offices():
        either = "|".join(re.escape(form) for form in forms)
        asks = (
            rf"(?:{either})(?:的名字)?{_HOLDS}?{_WHO}[？?]?\s*$|"
            rf"{_WHO}{_TAKES}(?:了|过)?[^，。？?]{{0,24}}?(?:{either})[？?]?\s*$"
        )
        if re.search(asks, plain, re.IGNORECASE):
            before = re.split(either, plain, maxsplit=1, flags=re.IGNORECASE)[0]
            qualifier = next((word for word in _others() if before.endswith(word)), "")
            unit = _SAYS_NO_UNIT.sub("", re.sub(rf"{_WHO}{_TAKES}?(?:了|过)?", "", before.removesuffix(qualifier)))
            return AskedOffice(re.compile(f"{qualifier}(?:{either})", re.IGNORECASE), plain, unit)
    return None


def _tells_of(unit: str, text: str) -> bool:
    """Tell whether a text names an office's unit: most of a name in one piece, half of a longer description."""
    if len(unit) > LONGEST_UNIT:
        pairs = {unit[place : place + 2] for place in range(len(unit) - 1)}
        return 2 * sum(pair in text for pair in pairs) >= len(pairs)
    least = max(2, round(len(unit) * 0.7))
    return not unit or any(unit[place : place + least] in text for place in range(max(len(unit) - least, 0) + 1))


def _beside(office: Span, clause: Span, mentions: Sequence[Mention], text: str) -> list[Span]:
    """Return the person right before or behind an office in its clause, or who takes it over in the next one."""
    named = [m for m in mentions if _may_be_person(m)]
    if _LEAVES.search(text, *clause):
        after = [m for m in named if clause[1] <= m.start <= clause[1] + REACH and _TAKES_OVER.match(text, m.end)]
        return [(after[0].start, after[0].end)] if after else []
    people = [
        m for m in named if clause[0] <= m.start and m.end <= clause[1] and not _IS_SUCCEEDED.search(text[: m.start])
    ]
    before = [m for m in people if m.end <= office[0] and office[0] - m.end <= REACH]
    behind = [m for m in people if m.start >= office[1] and m.start - office[1] <= REACH]
    if behind and (not before or behind[0].start - office[1] <= office[0] - before[-1].end):
        return [(behind[0].start, behind[0].end)]
    return [(before[-1].start, before[-1].end)] if before else []


def _may_be_person(mention: Mention) -> bool:
    return mention.type == "person" or (mention.type == "other" and bool(_NAME.search(mention.surface)))


def _same_unit(unit: str, question: str) -> bool:
    """Tell whether a question names a unit, or all but its first character: 建设局 of 区建设局."""
    named = names_in(question)
    return named(entity_key(unit)) or (len(unit) > SHORTEST_UNIT and named(entity_key(unit[1:])))


@cache
def _table() -> dict[str, list[str] | str]:
    file = resources.files("theworld.nodes.answer_with_entity.spans").joinpath("offices.yaml")
    table: dict[str, list[str] | str] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return table


@cache
def _offices() -> tuple[tuple[str, ...], ...]:
    """Return the names of each office in simplified characters, those of the longest first name first."""
    rows = [tuple(dict.fromkeys(simplified(name) for name in row.split())) for row in _table()["offices"]]
    return tuple(sorted(rows, key=lambda row: -max(map(len, row))))


@cache
def _own_words() -> tuple[str, ...]:
    return tuple(simplified(word) for word in str(_table()["own"]).split())


@cache
def _others() -> tuple[str, ...]:
    return tuple(sorted({simplified(word) for word in str(_table()["other"]).split()}, key=lambda word: -len(word)))
