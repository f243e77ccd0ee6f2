"""One mapped database: opened and checked once, then asked questions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

import sqlglot
from sqlglot import exp

from theworld.errors import DatabaseError, SettingsError, TheWorldError
from theworld.ontology import ClassTable
from theworld.ontology.files import load_ontology
from theworld.questions import read_question
from theworld.routing import DatabaseView
from theworld.settings import DatabaseSettings
from theworld.sql.building import BASE, build, column, table
from theworld.sql.drafting.file import read_mapping, to_ontology
from theworld.sql.drafting.proposing import draft_mapping, labels_for
from theworld.sql.engines import Engine, Rows, open_engine
from theworld.sql.guard import check_statement, open_to_all, parse_statement
from theworld.sql.mapping import DatabaseMapping, Path
from theworld.sql.plan import Filter, Plan, UnclearError
from theworld.sql.questions.completeness import check_sure
from theworld.sql.questions.cutting import cut_question
from theworld.sql.questions.lexicon import Lexicon, Meaning, Named, cue_meanings, forms_of, label_meanings
from theworld.sql.questions.understanding import plan_terms
from theworld.sql.results import WORDS, to_table
from theworld.state import Context, QueryTable, TableColumn
from theworld.state.tables import Cell
from theworld.text import Language
from theworld.text.sentences import in_frame
from theworld.text.tokens import fold_in_place, has_ideographs

VALUES_PER_COLUMN = 500
"""Distinct values of a listed column that are known to the reader of questions."""
NAMES_PER_CLASS = 20_000
"""Names of instances that are known to the reader of questions, per class and tenant."""
KEYS_PER_CLASS = 2_000
"""Keys known as names, for classes whose rows have no name."""
TENANTS_KEPT = 16
MOST_TIED = 20
"""Rows shown beside the first one where they share its figure."""
NAMES_TIMEOUT_MS = 5_000


class Database:
    """Reads questions and runs what they mean, within limits. Thread-safe."""

    def __init__(
        self,
        engine: Engine,
        mapping: DatabaseMapping,
        settings: DatabaseSettings,
        confirmed: Mapping[str, str] | None = None,
        unguarded: tuple[str, ...] = (),
    ) -> None:
        self.engine, self.mapping, self.settings = engine, mapping, settings
        self.confirmed = {fold_in_place(question).strip(): sql for question, sql in (confirmed or {}).items()}
        """The statements kept for questions, by question."""
        self.unguarded = unguarded
        """Columns that seem to say whose a row is, of a draft that no file has: a tenant that is named is refused."""
        self.zone: tzinfo = UTC if settings.timezone == "UTC" else ZoneInfo(settings.timezone)
        self._labels = list(label_meanings(self.mapping))
        self.lexicon = lru_cache(maxsize=TENANTS_KEPT)(
            lambda tenant: Lexicon(chain(cue_meanings(), self._labels, self._names(tenant), self._values(tenant)))
        )
        """The words of a tenant: labels, cues, and the names in its rows, read once."""

    @classmethod
    def open(cls, settings: DatabaseSettings) -> Database:
        """Return the database the settings name, its mapping checked against the live schema.

        Raises SettingsError, OntologyError for the ontology file, DatabaseError when it cannot be read or does not fit.
        """
        if settings.url is None:
            raise SettingsError("needs an address", where="database.url")
        address, confirmed, unguarded = settings.url.get_secret_value(), dict[str, str](), tuple[str, ...]()
        if settings.ontology is None:
            drafted = draft_mapping(address)
            ontology, unguarded = to_ontology(drafted.for_all()), drafted.tenants
        elif (written := read_mapping(settings.ontology)) is None:
            ontology = load_ontology(settings.ontology)
        else:
            ontology, confirmed = to_ontology(written), {one.ask: one.sql for one in written.questions}
        mapping = DatabaseMapping(ontology)
        if not mapping.classes:
            remedy = "Give classes a `table`, see docs/sql.md."
            raise DatabaseError("it maps no class to a table", where=str(settings.ontology or "draft"), remedy=remedy)
        engine = open_engine(address, mapping.tables)
        mapping.check(engine.schema(), where=engine.name)
        return cls(engine, mapping, settings, confirmed, unguarded)

    def close(self) -> None:
        """Give up the connection."""
        self.engine.close()

    def now(self, moment: datetime | None) -> datetime:
        """Return a moment (the clock without one) in the database's time zone; a naive one is taken to be in it."""
        if moment is None:
            return datetime.now(self.zone)
        return moment.replace(tzinfo=self.zone) if moment.tzinfo is None else moment.astimezone(self.zone)

    def view(self, question: str, context: Context) -> DatabaseView:
        """Return how much of a question speaks of this database, for the router; nothing is run, nothing raised."""
        try:
            terms, unknown = cut_question(question, self.now(context.now), self.lexicon(context.tenant))
        except TheWorldError:  # the names of its rows cannot be read
            return DatabaseView(available=True)
        try:
            language = read_question(question).language
            kept = fold_in_place(question).strip() in self.confirmed
            understood = kept or bool(plan_terms(terms, unknown, mapping=self.mapping, language=language))
        except UnclearError:
            understood = False
        counting = "aggregate", "superlative", "top", "each", "compared", "unit_of_time"
        size = max(1, sum(not c.isspace() for c in question))
        return DatabaseView(
            available=True,
            understood=understood,
            fields=sum(bool(t.of("class", "attribute")) for t in terms),
            values=sum(bool(t.of("value")) and not t.of("entity") for t in terms),
            entities=sum(bool(t.of("entity")) for t in terms),
            measures=sum(any(m.kind in counting for m in t.meanings) for t in terms),
            periods=sum(bool(t.of("period")) for t in terms),
            unknown=min(1.0, sum(len(piece.replace(" ", "")) for piece in unknown) / size),
        )

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
        if known := self.confirmed.get(fold_in_place(question).strip()):
            table = self.run_text(known, title=question, tenant=tenant, timeout_ms=timeout_ms, dry_run=dry_run)
            return (table.model_copy(update={"reading": (str(WORDS[language]["confirmed"]),)}),)
        terms, unknown = cut_question(question, self.now(now), self.lexicon(tenant))
        plans = plan_terms(terms, unknown, mapping=self.mapping, language=language)
        check_sure(plans, self.mapping)
        tables = []
        for plan in plans:
            ranked = plan.limit if plan.shape == "top" else None  # more rows show who shares the last place
            wanted = replace(plan, limit=ranked + MOST_TIED) if ranked else plan
            tree, parameters = build(wanted, self.mapping, language)
            rows, how = self._run(tree, tenant=tenant, parameters=parameters, timeout_ms=timeout_ms, dry_run=dry_run)
            told = plan.reading
            if ranked and len(rows.rows) > ranked:
                tied = sum(row[-1] == rows.rows[ranked - 1][-1] for row in rows.rows[ranked:])
                shown = ranked + tied * (ranked == 1)  # who is first: all who are
                if tied and (ranked > 1 or tied == MOST_TIED):
                    told = (*told, str(WORDS[language]["tied"]))
                rows = replace(rows, rows=rows.rows[:shown])
            if not dry_run:
                if in_frame(question)[1] and not any(map(any, rows.rows)):
                    _check_met(plan)
                told += self._other_times(plan, rows, language, tenant=tenant, timeout_ms=timeout_ms)
            table = to_table(replace(plan, reading=told), rows, mapping=self.mapping, language=language)
            tables.append(table.model_copy(update=how))
        return tuple(tables)

    def _other_times(
        self, plan: Plan, rows: Rows, language: Language, *, tenant: str, timeout_ms: float | None
    ) -> tuple[str, ...]:
        """Return in words of when there are rows, where nothing was found in a period before or after all of them."""
        if plan.period is None or plan.time_column is None or any(row[-1] not in {0, None} for row in rows.rows):
            return ()
        owner = plan.time_path[-1].target if plan.time_path else plan.base
        select = exp.select().from_(table(self.mapping.classes[owner].name, BASE))
        for name, function in (("first", exp.Min), ("last", exp.Max)):
            select = select.select(exp.alias_(function(this=column(BASE, plan.time_column)), name))
        try:
            found, _ = self._run(select, tenant=tenant, timeout_ms=timeout_ms)
        except DatabaseError:  # the answer stands without it
            return ()
        first, last = (str(cell or "")[:10] for cell in found.rows[0])
        start, end = (str(moment.date()) if moment else None for moment in (plan.period.start, plan.period.end))
        outside = first and ((end and end <= first) or (start and start > last))
        return (str(WORDS[language]["other_times"]).format(first, last),) if outside else ()

    def near_names(self, unknown: Iterable[str]) -> dict[str, list[str]]:
        """Return the names of the mapping that words which mean nothing come near to, best first."""
        named = {"class", "attribute", "value"}
        known = list(dict.fromkeys(word for word, meaning in self._labels if meaning.kind in named))
        found: dict[str, list[str]] = {}
        for word in unknown:
            stem = [name for name in known if len(word) > 3 and name.startswith(word[:4])]
            near = dict.fromkeys((*get_close_matches(word, known, n=3, cutoff=0.7), *stem[:3]))
            found |= {word: list(near)} if near else {}
        return found

    def run_text(
        self, text: str, *, title: str, tenant: str, timeout_ms: float | None = None, dry_run: bool = False
    ) -> QueryTable:
        """Return the table of a statement that somebody else wrote; it goes through the same guard and engine."""
        tree = parse_statement(text, self.engine.dialect)
        rows, how = self._run(tree, tenant=tenant, timeout_ms=timeout_ms, dry_run=dry_run)
        columns = tuple(TableColumn(label=name) for name in rows.columns)
        return QueryTable(title=title, columns=columns, rows=rows.rows, truncated=rows.truncated, **how)

    def _run(
        self,
        tree: exp.Expr,
        *,
        tenant: str,
        parameters: Mapping[str, Cell] | None = None,
        timeout_ms: float | None = None,
        dry_run: bool = False,
        names: int = 0,
    ) -> tuple[Rows, dict[str, Any]]:
        """Check a statement and run it; return the rows, and what a table says of how. `names` reads as many names."""
        if self.unguarded and tenant != "default":
            remedy = (
                "Write a mapping (`theworld database draft --out FILE`), set database.ontology: it keeps them apart."
            )
            said = f"its rows are of several tenants ({', '.join(self.unguarded)}), and nothing keeps them apart"
            raise DatabaseError(said, where=self.engine.name, remedy=remedy)
        begun, most = time.perf_counter(), names or self.settings.max_rows
        tables, dialect = self.mapping.tables, self.engine.dialect
        statement = check_statement(tree, tables, dialect=dialect, tenant=tenant, max_rows=most, parameters=parameters)
        own = float(NAMES_TIMEOUT_MS if names else self.settings.timeout_ms)
        limit = own if timeout_ms is None else max(1.0, min(own, timeout_ms))
        rows = Rows((), (), False)
        if not dry_run:
            rows = self.engine.read(statement.sql, statement.parameters, max_rows=most, timeout_ms=limit)
        how = {"sql": statement.sql, "parameters": dict(statement.parameters), "source": self.engine.name}
        return rows, {**how, "elapsed_ms": (time.perf_counter() - begun) * 1000}

    def written_out(self, table: QueryTable) -> str:
        """Return a table's statement with its parameters written into it, to be kept, for whatever tenant runs it."""
        tree = open_to_all(sqlglot.parse_one(table.sql, read=self.engine.dialect))
        return exp.replace_placeholders(tree, **table.parameters).sql(dialect=self.engine.dialect)

    def refresh(self) -> None:
        """Forget the names of rows; they are read again with the next question."""
        self.lexicon.cache_clear()

    def _names(self, tenant: str) -> Named:
        """Yield the names of rows, each with the row it means."""
        for class_id, own in self.mapping.classes.items():
            labels = [label for label in dict.fromkeys((own.label.zh, own.label.en)) if label]
            shown = [own.key, *labels, *([own.given] if own.given else [])]
            select = exp.select(*(column("t", c) for c in shown)).from_(table(own.name, "t"))
            ordered = select.order_by(column("t", own.key))  # with too many rows always the same are known
            named, _ = self._run(ordered, tenant=tenant, names=NAMES_PER_CLASS if labels else KEYS_PER_CLASS)
            rows = () if named.truncated and not labels else named.rows
            said = [(key, name) for key, *names in rows for name in _said(key, names, own)]
            for key, name in said:
                if len(folded := fold_in_place(name).strip()) > 1:
                    yield from ((form, Meaning("entity", f"{class_id}={key}", key)) for form in forms_of(folded))
            if class_id in self.mapping.people and not named.truncated:
                yield from _first_names(class_id, said)

    def _values(self, tenant: str) -> Named:
        """Yield the values of listed columns with their translations; of more than are known none is a name."""
        for class_id, own in self.mapping.classes.items():
            for attribute in self.mapping.attributes[class_id].values():
                if not attribute.listed:
                    continue
                cell = column("t", attribute.column or "")
                select = exp.select(cell).distinct().from_(table(own.name, "t")).order_by(cell.copy())
                rows, _ = self._run(select, tenant=tenant, names=VALUES_PER_COLUMN)
                for value in () if rows.truncated else (str(v) for (v,) in rows.rows if v not in (None, "")):
                    meaning = Meaning("value", f"{class_id}.{attribute.id}={value}", value)
                    for said in labels_for(fold_in_place(value).strip(), sections=("values",)):
                        if len(said) > 1:
                            yield from ((form, meaning) for form in forms_of(said))
                        elif has_ideographs(value) or (value.isascii() and value.isupper() and value != "I"):  # an A
                            yield said, meaning


def _check_met(plan: Plan) -> None:
    """Raise UnclearError where what is asked in a context may stand in place of a value there: Siamese, after dogs."""
    places: dict[tuple[Path, str], Filter] = {}
    for one in (item for item in plan.filters if item.operator == "in" and not item.negated):
        other = places.setdefault((one.path, one.class_id), one)
        if other.column != one.column:
            said = f"nothing is both {one.label!r} and {other.label!r}"
            raise UnclearError(f"{said}; it is not clear whether the one is asked for in place of the other")


def _said(key: Cell, names: Sequence[Cell], table: ClassTable) -> list[str]:
    """Return what a row is called: by its names, else by its key where this is no bare number."""
    if table.given:
        last, first = names[0], names[-1]
        return [f"{first} {last}", f"{last}{first}", str(last)] if last and first else []
    if table.label.zh or table.label.en:
        return [str(name) for name in names if name]
    return [key] if isinstance(key, str) and not key.isdecimal() else []


def _first_names(class_id: str, said: Iterable[tuple[Cell, str]]) -> Named:
    """Yield the first names of people: of the one who has it, or of several, who then have to be told apart."""
    known: dict[str, dict[Cell, str]] = {}
    for key, name in said:
        first, *last = fold_in_place(name).split()
        if len(last) == 1 and first.isalpha():
            known.setdefault(first, {})[key] = name
    for first, whole in known.items():
        if len(whole) > 1:
            yield first, Meaning("several", class_id, tuple(whole.values()))
        else:
            yield from ((first, Meaning("first_name", f"{class_id}={key}", key)) for key in whole)
