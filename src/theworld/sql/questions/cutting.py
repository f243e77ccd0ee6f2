"""A question cut into the terms that mean something to the database: words, periods, numbers and rankings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from theworld.questions import Question, read_question
from theworld.sql.questions.lexicon import Lexicon, Meaning, Term, cues, segment
from theworld.text.calendar_units import unit_of as calendar_unit_of
from theworld.text.folding import fold_in_place
from theworld.text.quantities import ENGLISH_NUMBERS, Quantity, read_numeral, unit_of
from theworld.text.time_ranges import TimeRange


class Ranking(NamedTuple):
    """How many of the first or the last."""

    size: int
    highest: bool


_N = r"(?P<n>\d{1,3}|[一二两三四五六七八九十]{1,3})"
_COUNTED = r"(?:名|家|个|大|位|笔|项|条|份|起)?"
_NUMBERS = "|".join(word for word, n in ENGLISH_NUMBERS.items() if n > 1)
_N_EN = rf"(?P<n>\d{{1,3}}|{_NUMBERS})"


def _superlative(name: str, language: str) -> str:
    return "|".join(re.escape(w) for w in sorted(cues()["superlatives"][name][language], key=len, reverse=True))


def _patterns() -> list[tuple[re.Pattern[str], bool | None]]:
    found: list[tuple[re.Pattern[str], bool | None]] = [
        (re.compile(rf"(?:排名)?前\s*{_N}\s*{_COUNTED}的?"), None),
        (re.compile(rf"哪\s*{_N}\s*(?:{'|'.join(cues()['classifiers'])})"), None),
        (re.compile(rf"(?<![a-z])(?:the\s+)?top[\s-]+{_N_EN}(?![a-z0-9])"), None),
    ]
    for name, highest in (("highest", True), ("lowest", False)):
        zh, en = _superlative(name, "zh"), _superlative(name, "en")
        found.append((re.compile(rf"(?:{zh})的?\s*{_N}\s*(?:名|家|个|大|位|笔|项|条|份|起)"), highest))
        found.append((re.compile(rf"(?<![a-z])(?:the\s+)?{_N_EN}\s+(?:{en})(?![a-z])"), highest))
    return found


_RANKINGS = _patterns()


_ADJECTIVES = [w for both in cues()["adjectives"].values() for words in both.values() for w in words if not w.isascii()]
_AFTER_ADJECTIVE = re.compile(
    rf"(?:{'|'.join(_ADJECTIVES)})的?\s*(?P<all>{_N}\s*(?:{'|'.join(cues()['classifiers'])}))"
)


def find_rankings(folded: str) -> list[Term]:
    """Return "top 5", "最高的3家", ... ; the meaning's value is a Ranking."""
    found = []
    for match in _AFTER_ADJECTIVE.finditer(folded):
        size = Meaning("top", "top", Ranking(read_numeral(match["n"]) or 0, highest=True))
        found.append(Term(match.start("all"), match.end("all"), match["all"], (size,)))
    for pattern, highest in _RANKINGS:
        for match in pattern.finditer(folded):
            ranking = Ranking(read_numeral(match["n"]) or 0, highest is not False)
            meaning = Meaning("top", "top" if highest is None else "superlative", ranking)
            found.append(Term(match.start(), match.end(), match.group(), (meaning,)))
    return found


def find_numbers(folded: str, amounts: Iterable[Quantity]) -> list[Term]:
    """Return the amounts of a text as terms; the meaning's value is a Quantity. Words of what is counted stay apart."""
    found = []
    for quantity in amounts:
        end = quantity.end - (len(quantity.unit) if unit_of(quantity.unit).base == "1" else 0)
        written = folded[quantity.start : end].rstrip()
        end = quantity.start + len(written)
        found.append(Term(quantity.start, end, written, (Meaning("number", "", quantity),)))
    return found


_PERIOD = re.compile(r"[上下前去本这那当今明昨]一?个?$")


def cut_question(question: str, now: datetime, lexicon: Lexicon) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """Return the terms of a question, without those that change nothing, and the stretches that mean nothing here.

    The router and the database ask for the same: a question is cut once for each lexicon and moment.
    """
    asked = read_question(question)
    return asked.once((lexicon, now.isoformat(), str(now.tzinfo)), lambda: _cut(asked, now, lexicon))


def _cut(question: Question, now: datetime, lexicon: Lexicon) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    folded = fold_in_place(question.text)
    periods = [
        Term(*found.place, folded[slice(*found.place)], (Meaning("period", "", found),))
        for found in question.times(now)
    ]
    numbers = [_year_alone(term, folded, now) for term in find_numbers(folded, question.amounts)]
    terms, unknown = segment(folded, [*lexicon.find(folded), *periods, *find_rankings(folded), *numbers])
    units = [(t, _PERIOD.search(folded[: t.start])) for t in terms if t.of("unit_of_time")]
    loose = tuple(folded[before.start() : t.end] for t, before in units if before)
    unknown += loose  # 下个月, which no period was read of: never every month
    meant = _after_by([_as_written(term, question.text) for term in terms])
    return tuple(term for term in meant if any(m.kind != "empty" for m in term.meanings)), unknown


def _year_alone(term: Term, folded: str, now: datetime) -> Term:
    """Return four digits that nothing is compared with as the year they are: 2025 revenue."""
    said = [
        w
        for kind in ("compared", "compared_after")
        for both in cues()[kind].values()
        for w in (*both["zh"], *both["en"])
    ]
    behind = folded[term.end :].lstrip().startswith(tuple(said))
    before = re.search(rf"(?:{'|'.join(map(re.escape, said))})\s*$", folded[: term.start])
    if before or behind or not re.fullmatch(r"(?:19|20)\d\d", term.text):
        return term
    first = now.replace(year=int(term.text), month=1, day=1)
    year = TimeRange(*calendar_unit_of(first, "year"), "year", 1, (term.start, term.end))
    return term._replace(meanings=(Meaning("period", "", year),))


def _after_by(terms: list[Term]) -> list[Term]:
    """Return the terms with "by" before a name as nothing but that: albums by somebody, who is then no album."""
    made = list(terms)
    for i, term in enumerate(terms[:-1]):
        if not term.of("passive") or not term.of("each") or not terms[i + 1].of("entity", "value"):
            continue
        made[i] = term._replace(meanings=(Meaning("empty", term.text),))
        before = next((m.name for t in reversed(terms[:i]) for m in t.of("class")), "")
        others = tuple(m for m in terms[i + 1].meanings if not m.name.startswith(f"{before}="))
        made[i + 1] = terms[i + 1]._replace(meanings=others or terms[i + 1].meanings)
    return made


def _as_written(term: Term, question: str) -> Term:
    """Return a term that is a plain word and a name too ("gone", a song) as what it is written as.

    A value of a column is what is meant ("received", a status) unless it is a letter or two ("a", the grade A), which
    has to be in capitals; a name of a row has to be written with a capital letter.
    """
    plain = term.of("empty", "traded", "unreadable", "not", "or", "each", "which", "joined")
    names = term.of("value", "entity")
    written = question[term.start : term.end]
    if not plain and term.of("entity") and term.of("class", "attribute") and not (term.start and written[0].isupper()):
        return term._replace(
            meanings=tuple(m for m in term.meanings if m.kind != "entity")
        )  # money, not a song "Money"
    if not plain or not names:
        return term
    said = names if written == written.upper() else term.of("value") if len(written) > 2 else ()
    said = names if not said and term.start and written[0].isupper() else said
    return term._replace(meanings=tuple(m for m in term.meanings if m not in plain) if said else plain)
