"""An entry of Wikidata as we use it, read from the JSON of dumps and of `wbgetentities`, which is the same.

Entries by their exact names, from a source that answers at once: on this machine, never over a network.

Wikidata's points in time as words: eras, and no more precision than was stated.

A value looks like `+1912-06-23T00:00:00Z` with a precision: 11 day, 10 month, 9 year, 8 decade, 7 century,
6 millennium, less: thousands of years and more. `-0044` is 44 BC; there is no year 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

from theworld.packages import load_table

CHAINS: Mapping[str, tuple[str, ...]] = {
    "zh": ("zh-hans", "zh", "zh-cn", "zh-sg", "zh-my", "zh-hant", "zh-tw", "zh-hk", "zh-mo"),
    "en": ("en", "mul", "en-gb", "en-ca"),
}
"""Our language -> the codes of Wikidata that count as it, the preferred first."""
CODES = tuple(code for chain in CHAINS.values() for code in chain)
MAX_NAME = 400
"""Characters of a name or description; Wikidata itself allows 250."""
MAX_ALIASES = 50
MAX_VALUES = 3
"""Values shown per property."""
KNOWN_TYPE = "P31"

QID = re.compile(r"Q[1-9]\d{0,17}")
_Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Item:
    """One entry, its texts by our languages ("zh", "en")."""

    id: str
    """The QID."""
    labels: Mapping[str, str]
    descriptions: Mapping[str, str]
    aliases: _Values
    """Other names, variants of the label among them."""
    facts: _Values
    """Property -> QIDs, or times as `TIME/PRECISION`."""
    sitelinks: int
    """Pages about it in Wikimedia's projects: how well known it is."""

    def names(self) -> Iterator[str]:
        """Yield every name, labels first."""
        yield from self.labels.values()
        for names in self.aliases.values():
            yield from names

    def entry(self) -> NamedEntry:
        """Return everything it is called, and its descriptions."""
        return NamedEntry(self.id, tuple(dict.fromkeys(self.names())), "; ".join(self.descriptions.values()))

    def text(self, texts: Mapping[str, str], language: str) -> str | None:
        """Return a text in `language` ("zh", else English), or in the other one."""
        order = ("zh", "en") if language == "zh" else ("en", "zh")
        return next((texts[code] for code in order if code in texts), None)


key_properties = partial(load_table, "theworld.wikidata", "data/properties.yaml")
"""Property -> language -> name, in the order they are shown; read when first called."""


def read_item(entity: Any) -> Item:
    """Return the item of an entity's JSON; missing or odd parts are left out.

    Raises ValueError when it is no entity of the kind "item".
    """
    if not isinstance(entity, Mapping):
        raise ValueError("no JSON object")
    qid = entity.get("id")
    if not isinstance(qid, str) or not QID.fullmatch(qid):
        raise ValueError(f"the id is {str(qid)[:40]!r}, which is no QID")
    labels: dict[str, str] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    for language, chain in CHAINS.items():
        labelled = list(_texts(entity.get("labels"), chain))
        names = list(dict.fromkeys([*labelled, *_texts(entity.get("aliases"), chain)]))
        if labelled:
            labels[language] = names.pop(0)
        if names:
            aliases[language] = tuple(names[:MAX_ALIASES])
    described = {language: next(_texts(entity.get("descriptions"), chain), "") for language, chain in CHAINS.items()}
    sitelinks = entity.get("sitelinks")
    return Item(
        id=qid,
        labels=labels,
        descriptions={language: text for language, text in described.items() if text},
        aliases=aliases,
        facts=_facts(entity.get("claims")),
        sitelinks=len(sitelinks) if isinstance(sitelinks, Mapping) else 0,
    )


def as_candidate(item: Item, language: str, labels_of: Callable[[Sequence[str]], Mapping[str, str]]) -> dict[str, Any]:
    """Return the item in the shape of a `wbsearchentities` item with its aliases, key facts in words and sitelinks.

    `labels_of` names QIDs in `language`; those it does not know are left out of the facts.
    """
    label, facts = item.text(item.labels, language), []
    named = dict.fromkeys(value for values in item.facts.values() for value in values if QID.fullmatch(value))
    labels = labels_of(list(named))
    for code, called in key_properties().items():
        words: dict[str, None] = {}
        for value in item.facts.get(code, ()):
            time, _, precision = value.rpartition("/")
            word = labels.get(value) if QID.fullmatch(value) else date_in_words(time, int(precision), language)
            words |= {word: None} if word else {}
        if words:
            facts.append(f"{called['zh' if language == 'zh' else 'en']}: {', '.join(words)}")
    names = [*item.aliases.get(language, ()), *item.labels.values(), *item.names()]
    return {
        "id": item.id,
        "label": label,
        "description": item.text(item.descriptions, language),
        "aliases": [name for name in dict.fromkeys(names) if name != label],
        "key_props_excerpt": "; ".join(facts),
        "sitelinks": item.sitelinks,
    }


def _texts(texts: Any, chain: Sequence[str]) -> Iterator[str]:
    """Yield the texts of `{code: {value}}` or `{code: [{value}, ...]}` in the order of the chain."""
    if not isinstance(texts, Mapping):
        return
    for code in chain:
        entries = texts.get(code)
        for entry in entries if isinstance(entries, list) else [entries]:
            value = entry.get("value") if isinstance(entry, Mapping) else None
            if isinstance(value, str) and (text := value[:MAX_NAME].strip()):
                yield text


def _facts(claims: Any) -> dict[str, tuple[str, ...]]:
    """Return the values by property: the preferred ones where there are any, never deprecated ones."""
    facts: dict[str, tuple[str, ...]] = {}
    for code in key_properties() if isinstance(claims, Mapping) else ():
        statements = claims.get(code)
        usable = [s for s in statements if isinstance(s, Mapping)] if isinstance(statements, list) else []
        preferred = [statement for statement in usable if statement.get("rank") == "preferred"]
        chosen = preferred or [statement for statement in usable if statement.get("rank") != "deprecated"]
        values = dict.fromkeys(value for statement in chosen if (value := _value(statement.get("mainsnak"))))
        facts |= {code: tuple(values)[:MAX_VALUES]} if values else {}
    return facts


def _value(snak: Any) -> str | None:
    """Return the QID or `TIME/PRECISION` a snak states; None for unknown, none, and other kinds of values."""
    data = snak.get("datavalue") if isinstance(snak, Mapping) and snak.get("snaktype") == "value" else None
    value = data.get("value") if isinstance(data, Mapping) else None
    if not isinstance(value, Mapping):
        return None
    qid, time, precision = value.get("id"), value.get("time"), value.get("precision")
    if isinstance(qid, str) and QID.fullmatch(qid):
        return qid
    if isinstance(time, str) and len(time) < MAX_NAME and type(precision) is int:  # True would be one too
        return f"{time}/{precision}"
    return None


class NamedEntry(NamedTuple):
    """One entry and everything it is called."""

    id: str
    """The QID."""
    names: tuple[str, ...]
    """Labels and aliases in all languages, each once."""
    said: str = ""
    """Its descriptions, by which its type is known."""


@runtime_checkable
class EntriesByName(Protocol):
    """A source of entries by exact name."""

    def entries_named(self, keys: Sequence[str]) -> Mapping[str, Sequence[NamedEntry]]:
        """Return identity key -> every entry with exactly that name; keys without an entry are left out."""


_TIME = re.compile(r"([+-])(\d{1,16})-(\d{2})-(\d{2})T")
DAY, MONTH, YEAR, DECADE, CENTURY, MILLENNIUM = 11, 10, 9, 8, 7, 6
_ROUGH = {
    "zh": {DECADE: "{era}{n}年代", CENTURY: "{era}{n}世纪", MILLENNIUM: "{era}第{n}个千年"},
    "en": {DECADE: "{n}s{era}", CENTURY: "{nth} century{era}", MILLENNIUM: "{nth} millennium{era}"},
}
"""Points in time less precise than a year."""


def date_in_words(time: str, precision: int, language: str) -> str | None:
    """Return the point in time in `language` ("zh", else English), None when it is not one."""
    match = _TIME.match(time)
    if match is None or not int(match[2]):
        return None
    year, month, day = (int(part) for part in match.groups()[1:])
    zh = language == "zh"
    era = ("公元前" if zh else " BC") if match[1] == "-" else ""
    if precision < YEAR:
        rough = {DECADE: year // 10 * 10, CENTURY: (year - 1) // 100 + 1, MILLENNIUM: (year - 1) // 1000 + 1}
        form = _ROUGH["zh" if zh else "en"].get(precision, "约{era}{n}年" if zh else "about {n}{era}")
        n = rough.get(precision, year)
        ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
        return form.format(era=era, n=n, nth=f"{n}{ending}")
    told = 1 if precision == YEAR or not month else 2 if precision == MONTH or not day else 3
    if zh:
        return era + "".join(f"{n}{unit}" for n, unit in list(zip((year, month, day), "年月日", strict=True))[:told])
    first = f"{year:04d}" if told > 1 and not era else f"{year}"
    return "-".join([first, f"{month:02d}", f"{day:02d}"][:told]) + era
