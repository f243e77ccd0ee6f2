"""What each table of a mapping will answer, shown by questions that are asked, and what is odd about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from theworld.errors import TheWorldError
from theworld.ontology import Labels
from theworld.sql.database import Database
from theworld.sql.drafting.inspection import TableFacts
from theworld.sql.drafting.proposing import composite_keys
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import UnclearError
from theworld.sql.questions.completeness import LEAST_SURE
from theworld.sql.questions.lexicon import forms_of
from theworld.state import QueryTable
from theworld.text import Language, detect_language
from theworld.text.tokens import has_ideographs

EXAMPLES = 3


@dataclass(frozen=True)
class Look:
    """One table looked at."""

    table: str
    called: tuple[str, ...]
    examples: tuple[tuple[str, QueryTable | str], ...]
    """Questions with the answer, or with why there is none."""
    odd: tuple[str, ...]
    date: str | None = None  # what a period is compared with, unless a question names another


def look_at(database: Database, facts: Mapping[str, TableFacts], tenant: str = "default") -> Iterator[Look]:
    """Yield every mapped table with example questions that a tenant asks of it."""
    mapping = database.mapping
    tables_called = Counter(
        label for class_id in mapping.classes for label in mapping.lookup.classes[class_id].labels.all()
    )
    for class_id, table in mapping.classes.items():
        own = mapping.lookup.classes[class_id]
        asked = [(q, asked_of(database, q, tenant)) for q in _questions(database, class_id)[:EXAMPLES]]
        odd = [f"{label!r} is a name of several tables" for label in own.labels.all() if tables_called[label] > 1]
        live = facts.get(table.name)
        odd += [*_guessed(mapping, class_id), *_unnamed(own.labels, live)]
        if live is not None and live.sample:
            odd += [f"column {c.name} is empty throughout" for c in live.columns.values() if not c.values]
        elif live is not None:
            odd.append("it has no rows")
        keys = composite_keys(live) if live is not None else {}
        several = "is a key of {} in several columns: it is not followed, questions over it are declined"
        odd += [f"({', '.join(own)}) {several.format(other)}" for own, other in keys.items()]
        if live is not None and len(live.key) > 1 and table.key in live.key and table.key != table.tenant:
            odd.append(f"its key is ({', '.join(live.key)}): {table.key} alone does not tell its rows apart")
        odd += [f"only rows with {those} are counted" for those in table.counted_rows]
        odd += [f"rows are shown only to the tenant named in {table.tenant}"] if table.tenant else []
        yield Look(table.name, own.labels.all(), tuple(asked), tuple(odd), table.time)


def _guessed(mapping: DatabaseMapping, class_id: str) -> list[str]:
    """Return what of a table is only guessed, so that questions by it are declined until somebody confirms it."""
    parts = [("what it is called", mapping.lookup.classes[class_id].confidence)]
    parts += [(f"column {one.column}", one.confidence) for one in mapping.attributes[class_id].values()]
    told = "is a guess (sure {:g}): questions by it are declined"
    return [f"{part} {told.format(sure)}" for part, sure in parts if 0 < sure < LEAST_SURE]


def _unnamed(labels: Labels, live: TableFacts | None) -> list[str]:
    """Return that a table lacks a name where the comments of its columns are Chinese and nothing calls it so."""
    commented = live is not None and any(has_ideographs(column.comment) for column in live.columns.values())
    return ["it has no name in Chinese, as its columns have"] if commented and not labels.zh else []


def _questions(database: Database, class_id: str) -> list[str]:
    """Return questions that a table should answer: how many, by what it belongs to, by month, and its measures."""
    mapping = database.mapping
    zh = not mapping.lookup.classes[class_id].labels.en
    language: Language = "zh" if zh else "en"
    own = mapping.name(class_id, language)
    many = forms_of(own)[-1]
    found = [f"一共有多少{own}？" if zh else f"How many {many} are there?"]
    others = (mapping.name(j.target, language) for j in mapping.steps(class_id) if j.single and j.target != class_id)
    found += [f"每个{other}有多少{own}？" if zh else f"number of {many} by {other}" for other in islice(others, 1)]
    if mapping.classes[class_id].time:
        found.append(f"按月的{own}数量" if zh else f"number of {many} per month")
    named = (measure.labels.preferred(language) for measure in mapping.measures[class_id])
    return [*found, *(f"{own}的平均{name}是多少？" if zh else f"average {name} of {own}" for name in named)]


def asked_of(database: Database, question: str, tenant: str = "default") -> QueryTable | str:
    """Return the table that answers a question, or why there is none."""
    try:
        return database.ask(question, language=detect_language(question), tenant=tenant)[0]
    except (UnclearError, TheWorldError) as error:
        return str(error)
