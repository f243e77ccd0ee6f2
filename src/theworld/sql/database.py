"""One mapped database: opened and checked once, then asked questions."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo

import sqlglot
from sqlglot import exp

from theworld.errors import DatabaseError, SettingsError
from theworld.ontology import Ontology
from theworld.ontology.files.formats import load_ontology
from theworld.questions import read_question
from theworld.settings import DatabaseSettings
from theworld.sql.checking import check_mapping
from theworld.sql.engines import Engine, Rows, open_engine
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import Plan
from theworld.sql.questions.completeness import check_sure
from theworld.sql.questions.lexicon import (
    Lexicon,
    Meaning,
    cue_meanings,
    entity_meanings,
    label_meanings,
    value_meanings,
)
from theworld.sql.questions.signals import QuestionSignals, signals_of
from theworld.sql.questions.understanding import understand
from theworld.sql.results import to_table, words
from theworld.sql.statements.building import build
from theworld.sql.statements.expressions import column, table
from theworld.sql.statements.guard import check_statement, parse_statement
from theworld.state import QueryTable, TableColumn
from theworld.text import Language
from theworld.text.folding import fold_in_place

VALUES_PER_COLUMN = 500
"""Distinct values of a listed column that are known to the reader of questions."""
NAMES_PER_CLASS = 20_000
"""Names of instances that are known to the reader of questions, per class and tenant."""
KEYS_PER_CLASS = 2_000
"""Keys known as names, for classes whose rows have no name."""
TENANTS_KEPT = 16
NAMES_TIMEOUT_MS = 5_000


class Database:
    """Reads questions and runs what they mean, within limits. Thread-safe."""

    def __init__(
        self,
        engine: Engine,
        ontology: Ontology,
        settings: DatabaseSettings,
        confirmed: Mapping[str, str] | None = None,
    ) -> None:
        self.engine, self.settings = engine, settings
        self._confirmed = {fold_in_place(question).strip(): sql for question, sql in (confirmed or {}).items()}
        self.mapping = DatabaseMapping(ontology)
        self.zone: tzinfo = UTC if settings.timezone == "UTC" else ZoneInfo(settings.timezone)
        self._words = (cue_meanings(), label_meanings(self.mapping))
        self._lexicons: OrderedDict[str, Lexicon] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def open(cls, settings: DatabaseSettings) -> Database:
        """Return the database the settings name, its mapping checked against the live schema.

        Raises SettingsError, OntologyError for the ontology file, DatabaseError when it cannot be read or does not fit.
        """
        if settings.url is None:
            raise SettingsError("needs an address", where="database.url")
        ontology, confirmed = _mapping_of(settings)
        mapping = DatabaseMapping(ontology)
        if not mapping:
            remedy = "Give classes a `table`, see docs/sql.md."
            raise DatabaseError("it maps no class to a table", where=str(settings.ontology or "draft"), remedy=remedy)
        engine = open_engine(settings.url.get_secret_value(), mapping.tables)
        check_mapping(mapping, engine.schema(), where=engine.name)
        return cls(engine, ontology, settings, confirmed)

    def close(self) -> None:
        """Give up the connection."""
        self.engine.close()

    def now(self, moment: datetime | None) -> datetime:
        """Return a moment (the clock without one) in the database's time zone; a naive one is taken to be in it."""
        if moment is None:
            return datetime.now(self.zone)
        return moment.replace(tzinfo=self.zone) if moment.tzinfo is None else moment.astimezone(self.zone)

    def signals(self, question: str, *, tenant: str, now: datetime | None = None) -> QuestionSignals:
        """Return how much of a question speaks of this database, for the router; nothing is run."""
        language = read_question(question).language
        return signals_of(question, self.now(now), self.lexicon(tenant), self.mapping, language)

    def ask(
        self,
        question: str,
        *,
        language: Language,
        tenant: str,
        now: datetime | None = None,
        timeout_ms: float | None = None,
        dry_run: bool = False,
    ) -> tuple[QueryTable, ...]:
        """Return the tables that answer a question; with `dry_run` their reading and SQL, and no rows.

        Raises UnclearError when it is not understood for certain, DatabaseError and StatementRefusedError from running.
        """
        known = self._confirmed.get(fold_in_place(question).strip())
        if known is not None and not dry_run:
            table = self.run_text(known, title=question, tenant=tenant, timeout_ms=timeout_ms)
            return (table.model_copy(update={"reading": (str(words(language)["confirmed"]),)}),)
        plans = understand(
            question, now=self.now(now), lexicon=self.lexicon(tenant), mapping=self.mapping, language=language
        )
        check_sure(plans, self.mapping)
        return tuple(
            self.run(plan, language=language, tenant=tenant, timeout_ms=timeout_ms, dry_run=dry_run) for plan in plans
        )

    def near_names(self, unknown: Iterable[str]) -> dict[str, list[str]]:
        """Return the names of the mapping that words which mean nothing come near to, best first."""
        named = {"class", "attribute", "value"}
        known = [word for word, meanings in self._words[1].items() if any(m.kind in named for m in meanings)]
        found: dict[str, list[str]] = {}
        for word in unknown:
            stem = [name for name in known if len(word) > 3 and name.startswith(word[:4])]
            near = dict.fromkeys((*get_close_matches(word, known, n=3, cutoff=0.6), *stem[:3]))
            found |= {word: list(near)} if near else {}
        return found

    def run(
        self,
        plan: Plan,
        *,
        language: Language,
        tenant: str,
        timeout_ms: float | None = None,
        dry_run: bool = False,
    ) -> QueryTable:
        """Return the table of one plan."""
        begun = time.perf_counter()
        one_more = (
            plan.limit + 1 if plan.shape == "top" and plan.limit else plan.limit
        )  # to see who shares the last place
        tree, parameters = build(replace(plan, limit=one_more), self.mapping, language)
        statement = check_statement(
            tree,
            self.mapping.tables,
            dialect=self.engine.dialect,
            tenant=tenant,
            max_rows=self.settings.max_rows,
            parameters=parameters,
        )
        limits = {"max_rows": self.settings.max_rows, "timeout_ms": self._within(timeout_ms)}
        asked = statement.sql, statement.parameters
        rows = Rows((), (), False) if dry_run else self.engine.read(*asked, **limits)  # type: ignore[arg-type]
        if one_more != plan.limit and one_more is not None:
            plan, rows = _without_next(plan, rows, str(words(language)["tied"]))
        elapsed = (time.perf_counter() - begun) * 1000
        return to_table(
            plan,
            statement,
            rows,
            mapping=self.mapping,
            language=language,
            source=self.engine.name,
            elapsed_ms=elapsed,
        )

    def run_text(self, text: str, *, title: str, tenant: str, timeout_ms: float | None = None) -> QueryTable:
        """Return the table of a statement that somebody else wrote; it goes through the same guard and engine."""
        begun = time.perf_counter()
        dialect = self.engine.dialect
        statement = check_statement(
            parse_statement(text, dialect),
            self.mapping.tables,
            dialect=dialect,
            tenant=tenant,
            max_rows=self.settings.max_rows,
        )
        rows = self.engine.read(
            statement.sql, statement.parameters, max_rows=self.settings.max_rows, timeout_ms=self._within(timeout_ms)
        )
        return QueryTable(
            title=title,
            columns=tuple(TableColumn(label=name) for name in rows.columns),
            rows=rows.rows,
            truncated=rows.truncated,
            sql=statement.sql,
            parameters=dict(statement.parameters),
            source=self.engine.name,
            elapsed_ms=(time.perf_counter() - begun) * 1000,
        )

    @property
    def confirmed(self) -> Mapping[str, str]:
        """The statements kept for questions, by question."""
        return self._confirmed

    def written_out(self, table: QueryTable) -> str:
        """Return a table's statement with its parameters written into it, to be kept."""
        tree = sqlglot.parse_one(table.sql, read=self.engine.dialect)

        def literal(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Placeholder):
                return node
            return exp.convert(table.parameters[node.name])

        return tree.transform(literal).sql(dialect=self.engine.dialect)

    def lexicon(self, tenant: str) -> Lexicon:
        """Return the words of a tenant: labels, cues, and the names in its rows, read once."""
        with self._lock:
            if tenant in self._lexicons:
                self._lexicons.move_to_end(tenant)
                return self._lexicons[tenant]
        made = Lexicon(*self._words, self._names(tenant))
        with self._lock:
            self._lexicons[tenant] = made
            while len(self._lexicons) > TENANTS_KEPT:
                self._lexicons.popitem(last=False)
        return made

    def refresh(self) -> None:
        """Forget the names of rows; they are read again with the next question."""
        with self._lock:
            self._lexicons.clear()

    def _within(self, timeout_ms: float | None) -> float:
        limit = float(self.settings.timeout_ms)
        return limit if timeout_ms is None else max(1.0, min(limit, timeout_ms))

    def _names(self, tenant: str) -> dict[str, tuple[Meaning, ...]]:
        found = entity_meanings(row for class_id in self.mapping.classes for row in self._names_of(class_id, tenant))
        listed = value_meanings(
            (class_id, attribute.id, value)
            for class_id in self.mapping.classes
            for attribute in self.mapping.attributes(class_id).values()
            if attribute.listed
            for value in self._values_of(class_id, attribute.column or "", tenant)
        )
        return {word: (*found.get(word, ()), *listed.get(word, ())) for word in {**found, **listed}}

    def _values_of(self, class_id: str, column_name: str, tenant: str) -> list[str]:
        """Return the distinct texts of a column, none when there are too many to be names of values."""
        source = table(self.mapping.classes[class_id].name, "t")
        select = exp.select(column("t", column_name)).distinct().from_(source).order_by(column("t", column_name))
        rows = self._read(select, tenant, VALUES_PER_COLUMN)
        return [] if rows.truncated else [str(cell) for (cell,) in rows.rows if cell not in (None, "")]

    def _read(self, select: exp.Select, tenant: str, most: int) -> Rows:
        checked = check_statement(
            select, self.mapping.tables, dialect=self.engine.dialect, tenant=tenant, max_rows=most
        )
        return self.engine.read(checked.sql, checked.parameters, max_rows=most, timeout_ms=NAMES_TIMEOUT_MS)

    def _names_of(self, class_id: str, tenant: str) -> Iterator[tuple[str, Any, list[str]]]:
        own = self.mapping.classes[class_id]
        labels = [label for label in dict.fromkeys((own.label.zh, own.label.en)) if label]
        most = NAMES_PER_CLASS if labels else KEYS_PER_CLASS
        shown = [own.key, *labels, *([own.given] if own.given else [])]
        select = exp.select(*(column("t", c) for c in shown)).from_(table(own.name, "t"))
        rows = self._read(select.order_by(column("t", own.key)), tenant, most)  # too many: always the same are known
        if rows.truncated and not labels:
            return
        for key, *names in rows.rows:
            if own.given:
                last, first = names[0], names[-1]
                yield class_id, key, [f"{first} {last}", f"{last}{first}", str(last)] if last and first else []
            elif labels:
                yield class_id, key, [str(n) for n in names if n]
            elif isinstance(key, str) and not key.isdecimal():  # a bare number is a number
                yield class_id, key, [key]


def _without_next(plan: Plan, rows: Rows, tied: str) -> tuple[Plan, Rows]:
    """Return the first rows without the next one, the reading noting where that one shares the last place."""
    limit = plan.limit or 0
    shares = len(rows.rows) > limit and rows.rows[limit][-1] == rows.rows[limit - 1][-1]
    plan = replace(plan, reading=(*plan.reading, tied)) if shares else plan
    return plan, replace(rows, rows=rows.rows[:limit])


def _mapping_of(settings: DatabaseSettings) -> tuple[Ontology, dict[str, str]]:
    """Return the ontology of the file, or of a mapping with its confirmed questions, or without a file of a draft."""
    from theworld.sql.drafting.file import read_mapping
    from theworld.sql.drafting.ontology import to_ontology
    from theworld.sql.drafting.proposing import draft_mapping

    if settings.ontology is None:
        assert settings.url is not None
        return to_ontology(draft_mapping(settings.url.get_secret_value())), {}
    mapping = read_mapping(settings.ontology)
    if mapping is None:
        return load_ontology(settings.ontology), {}
    return to_ontology(mapping), {one.ask: one.sql for one in mapping.questions}
