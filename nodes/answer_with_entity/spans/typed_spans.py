"""Spans of a note that are of the type a question expects: dates, numbers, mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from theworld.nodes.answer_with_entity.question.answer_type import AnswerType
from theworld.nodes.answer_with_entity.question.counted import Counted
from theworld.nodes.answer_with_entity.spans.persons import reads_as_person
from theworld.nodes.answer_with_entity.values.dates import find_dates
from theworld.state import Candidate, Mention
from theworld.text import entity_key

_NUMBER_EN = re.compile(
    r"(?<![\w.])(?:\$|£|€)?\d[\d,.]*\d?(?:\s?(?:%|percent|million|billion|km|miles?|metres?|meters?|feet|ft|people))?|"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|twenty|thirty|forty|fifty|hundred)\b",
    re.IGNORECASE,
)
_NUMBER_ZH = re.compile(
    r"[百千]分之[\d.零〇一二三四五六七八九十]+|(?:\d[\d,.]*(?:[至到~～–-]\d[\d,.]*)?|[零〇一二三四五六七八九十百千兩两]+)(?:多|餘|余)?[萬万億亿千百]?(?:多|餘|余)?"
    r"(?:%|％|個百分點|平方公里|平方公尺|平方千?米|公里|公尺|公分|公頃|公顷|公斤|英里|英尺|海里|[千厘毫]?米|千克|人次|小時|小时|分鐘|分钟|[美歐欧日港]元|英[鎊镑]|個月|个月|[攝摄]氏度|分[貝贝]|千?瓦[時时]?|赫[茲兹]|毫[升安]|[個个]工作日|"
    r"[個个名位次座條条種种年天歲岁人所家場场部顆颗層层元噸吨票間间處处艘架台輛辆隻只株頭头度倍期屆届支枚本首集卷冊册套類类節节棵張张件項项篇頁页升瓦伏週周步戶户州省縣县國国口])?"
)
_ZH_DATE = re.compile(
    r"(?:西元前|公元前|前|西元|公元)?\d{1,4}(?:年代|世[紀纪])(?:初期?|末期?|中[期葉叶]?|晚期|早期|[前後后]期|上半葉|下半葉)?|[一二三四五六七八九十]+世[紀纪](?:初|末|中葉|晚期)?|\d{1,2}月\d{1,2}日|[明清宋元唐漢汉隋秦晉晋]朝?[初末代](?:期|年)?"
)


def typed_spans(
    note: Candidate,
    expected: AnswerType,
    counted: Counted = Counted(),  # noqa: B008 - frozen
) -> Iterator[tuple[int, int]]:
    """Yield the spans of a note that are of the expected type; overlapping ones once, the longer first found.

    Numbers of a Chinese note only where they may be what is `counted`.
    """
    types = expected.types or frozenset()
    found: list[tuple[int, int]] = []
    if "date" in types:
        found += [(date.start, date.end) for date in find_dates(note.text)]
        if note.language == "zh":
            found += [match.span() for match in _ZH_DATE.finditer(note.text)]
    if types & {"number", "quantity"}:
        if note.language == "zh":
            numbers = (match.span() for match in _NUMBER_ZH.finditer(note.text))
            found += [counted.whole(note.text, *span) for span in numbers if counted.fits(note.text, *span)]
        else:
            found += [match.span() for match in _NUMBER_EN.finditer(note.text)]
    if not types <= {"number", "quantity"}:
        personal = "person" in types
        found += [
            whole_name(note.text, m.start, m.end)
            for m in note.mentions
            if (m.type in types or (personal and reads_as_person(note, m))) and _is_firm(m, note.text)
        ]
    if expected.name == "year" and note.language == "zh":
        found = [span for span in found if _TELLS_YEAR.search(note.text, *span)]
    found.sort(key=lambda span: (span[0], -span[1]))
    last = -1
    for start, end in found:
        if start >= last and end > start:
            last = end
            yield _just_year(note.text, start, end) if expected.name == "year" else (start, end)


_TELLS_YEAR = re.compile(r"年|世[紀纪]|代|朝|[明清宋元唐漢汉隋秦晉晋][初末]|(?<!\d)[12]\d{3}(?!\d)")
"""7月 tells no year."""
_OF_ERA = re.compile("年[间間]|[元一二三四五六七八九十]{1,3}年(?![前后後])")
"""Behind an era: 贞观年间, 万历三年."""
_VAGUE = re.compile(
    r"^(同[年日月時时]|當[年時时日]|当[年时日]|[隔次翌去今明前後后近]年|[早中晚初末][期年]|後來|后来|目前|現在|现在|現今|如今|今[天日]|之[前後后]|"
    r"以[前後后]|平[時时]|[最起]初|[當当]今|近[代來来]|此[時时後后]|最[後后近]|一[時时])起?"
)


def _is_firm(mention: Mention, text: str) -> bool:
    """Tell whether a mention names something by itself: not "that year", not an era taken for a name."""
    vague = _VAGUE.match(mention.surface) if mention.type == "date" else _OF_ERA.match(text, mention.end)
    return len(mention.surface) > 1 and not vague


_FURTHER_PART = re.compile(r"[·•‧・][\u4e00-\u9fff]{1,5}")
_AFTER_NAME = re.compile("[的是在和與与及於于發发曾被將将為为認认等所對对從从]")
_EARLIER_PART = re.compile(
    r"(?:[^\u4e00-\u9fff]|[的是在和與与由及於于之為为被將将對对從从以向稱称])"
    r"(?P<part>(?:(?![的是在和與与由及於于之為为被將将對对從从以向稱称])[\u4e00-\u9fff]){1,5})[·•‧・]$"
)
_MONARCH = re.compile("[一二三四五六七八九十]{1,3}世(?![紀纪])")


def whole_name(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a transliterated name with the parts that its dots join to it."""
    while (match := _FURTHER_PART.match(text, end)) is not None:
        end = match.start() + 1 + len(_AFTER_NAME.split(match.group()[1:])[0])
    while (match := _EARLIER_PART.search(text[:start])) is not None:
        start = match.start("part")
    ordinal = _MONARCH.match(text, end)
    return start, ordinal.end() if ordinal else end


_YEAR = re.compile(
    r"(?:民國|民国|西元前|公元前|前)?\d{1,4}\s?年(?!代)|\b[12]\d{3}\b|(?:民國|民国|[^\W\d_a-zA-Z一二三四五六七八九十]{2})?[一二三四五六七八九十元]+年"
)


def _just_year(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the year inside a date, the date as it is when it has none."""
    match = _YEAR.search(text, start, end)
    return match.span() if match else (start, end)


def open_spans(
    note: Candidate,
    expected: AnswerType,
    asked: Callable[[str], bool],
    counted: Counted = Counted(),  # noqa: B008 - frozen
) -> list[tuple[int, int]]:
    """Return the spans of the expected type that the question does not name; `asked` tells which keys it names."""
    if not expected.types:
        return []
    keyed = ((start, end, entity_key(note.text[start:end])) for start, end in typed_spans(note, expected, counted))
    return [(start, end) for start, end, key in keyed if key and not asked(key)]
