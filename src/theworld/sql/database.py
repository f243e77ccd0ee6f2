"""One mapped database: opened and checked once, then asked questions."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from theworld.errors import DatabaseError, SettingsError
from theworld.ontology import Ontology, read_ontology
from theworld.questions import read_question
from theworld.settings import DatabaseSettings
from theworld.sql.checking import check_mapping
from theworld.sql.engines import Engine, open_engine
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import Plan
from theworld.sql.questions.lexicon import Lexicon, Meaning, cue_meanings, entity_meanings, label_meanings
from theworld.sql.questions.signals import QuestionSignals, signals_of
from theworld.sql.questions.understanding import understand
from theworld.sql.results import to_table
from theworld.sql.statements.building import build
from theworld.sql.statements.expressions import column
from theworld.sql.statements.guard import check_statement, parse_statement
from theworld.state import QueryTable, TableColumn
from theworld.text import Language

NAMES_PER_CLASS = 20_000
"""Names of instances that are known to the reader of questions, per class and tenant."""
KEYS_PER_CLASS = 2_000
"""Keys known as names, for classes whose rows have no name."""
TENANTS_KEPT = 16
NAMES_TIMEOUT_MS = 5_000


class Database:
    """Reads questions and runs what they mean, within limits. Thread-safe."""

    def __init__(self, engine: Engine, ontology: Ontology, settings: DatabaseSettings) -> None:
        self.engine, self.settings = engine, settings
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
        if settings.url is None or settings.ontology is None:
            raise SettingsError("needs both an address and an ontology file", where="database.url, database.ontology")
        ontology = read_ontology(settings.ontology)
        mapping = DatabaseMapping(ontology)
        if not mapping:
            remedy = "Give classes a `table`, see docs/sql.md."
            raise DatabaseError("it maps no class to a table", where=str(settings.ontology), remedy=remedy)
        engine = open_engine(settings.url.get_secret_value(), mapping.tables)
        check_mapping(mapping.tables, engine.schema(), where=engine.name)
        return cls(engine, ontology, settings)

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
    ) -> tuple[QueryTable, ...]:
        """Return the tables that answer a question.

        Raises UnclearError when it is not understood for certain, DatabaseError and StatementRefusedError from running.
        """
        plans = understand(
            question, now=self.now(now), lexicon=self.lexicon(tenant), mapping=self.mapping, language=language
        )
        return tuple(self.run(plan, language=language, tenant=tenant, timeout_ms=timeout_ms) for plan in plans)

    def run(self, plan: Plan, *, language: Language, tenant: str, timeout_ms: float | None = None) -> QueryTable:
        """Return the table of one plan."""
        begun = time.perf_counter()
        tree, parameters = build(plan, self.mapping, language)
        statement = check_statement(
            tree,
            self.mapping.tables,
            dialect=self.engine.dialect,
            tenant=tenant,
            max_rows=self.settings.max_rows,
            parameters=parameters,
        )
        rows = self.engine.read(
            statement.sql, statement.parameters, max_rows=self.settings.max_rows, timeout_ms=self._within(timeout_ms)
        )
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
        return entity_meanings(row for class_id in self.mapping.classes for row in self._names_of(class_id, tenant))

    def _names_of(self, class_id: str, tenant: str) -> Iterator[tuple[str, Any, list[str]]]:
        table = self.mapping.classes[class_id]
        labels = [label for label in dict.fromkeys((table.label.zh, table.label.en)) if label]
        most = NAMES_PER_CLASS if labels else KEYS_PER_CLASS
        *schema, name = table.name.split(".")
        source = exp.table_(exp.to_identifier(name, quoted=True), db=schema[0] if schema else None, alias="t")
        select = exp.select(*(column("t", c) for c in (table.key, *labels))).from_(source)
        select = select.order_by(column("t", table.key))  # where there are too many, always the same are known
        statement = check_statement(
            select, self.mapping.tables, dialect=self.engine.dialect, tenant=tenant, max_rows=most
        )
        rows = self.engine.read(statement.sql, statement.parameters, max_rows=most, timeout_ms=NAMES_TIMEOUT_MS)
        if rows.truncated and not labels:
            return
        for key, *names in rows.rows:
            yield class_id, key, [str(n) for n in names if n] if labels else [str(key)]
