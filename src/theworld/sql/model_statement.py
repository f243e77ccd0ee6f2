"""What a language model is asked of a database. A statement: it sees the mapped schema only, and its SQL goes through
the same guard. And what to call tables and columns, beside what a draft calls them.

For the latter it sees names alone, never a row. Proposals are not used: a person moves the right ones to `called`. A
name that something has already is left out, since two things of one name make questions unclear."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from pydantic import BaseModel, Field

from theworld.deadline import Deadline
from theworld.errors import DatabaseError, ModelError, StatementRefusedError
from theworld.models.protocols import ChatMessage, ChatModel, usage_of
from theworld.prompts import fill_prompt, load_prompt
from theworld.sql.database import Database
from theworld.sql.drafting.file import ColumnDraft, MappingFile, TableDraft
from theworld.sql.mapping import DatabaseMapping
from theworld.state import Context, ModelUsage, QueryTable
from theworld.structure import extract_json_from_text
from theworld.text import Language, fold

TIMEOUT_S = 20.0
STATEMENT_MS = 2_000.0


class StatementReply(BaseModel):
    """What a model replies."""

    sql: str = Field(description="One SELECT, or nothing")


class Written(NamedTuple):
    """The table of a model's statement, or why there is none."""

    table: QueryTable | None
    usage: ModelUsage
    problem: str = ""


def describe_schema(mapping: DatabaseMapping, language: Language) -> str:
    """Return the mapped tables and columns with what they hold, one table a line."""
    lines = []
    for class_id, table in mapping.classes.items():
        own = mapping.lookup.classes[class_id]
        columns = {table.key: "key", **({table.time: "time"} if table.time else {})}
        columns |= {
            column: f"only rows with {'NULL' if value is None else value} count"
            for column, value in table.counts.items()
        }
        for label in (table.given, table.label.zh, table.label.en):
            columns |= {label: "name"} if label else {}
        for attribute in mapping.attributes[class_id].values():
            unit = f", {attribute.unit.of(language)}" if attribute.unit else ""
            named = (f"{v.in_column} is {v.labels.preferred(language) or v.id}" for v in attribute.values)
            values = f", {', '.join(named)}" if attribute.values else ""
            product = " * ".join(attribute.times)
            less = f" * (1 - {attribute.less})" if attribute.less else ""
            name = f"{attribute.column} * {product}{less}" if product else attribute.column or ""
            name += f" - {attribute.since}" if attribute.since else ""
            kind = attribute.type if attribute.per_second is None else f"{attribute.type} kept as a number"
            columns[name] = f"{attribute.labels.preferred(language)}, {kind}{unit}{values}"
        shown = "; ".join(f"{name} ({what})" for name, what in columns.items())
        lines.append(f"- {table.name} ({own.labels.preferred(language)}): {shown}")
    for relation, join in mapping.relations:
        source, target = (mapping.classes[one].name for one in (relation.source, relation.target))
        way = join.column or f"{join.table}.{join.source_key} -> {join.target_key}"
        lines.append(f"- {relation.labels.preferred(language)}: {source}.{way} -> {target}")
    return "\n".join(lines)


def write_statement(
    model: ChatModel,
    database: Database,
    question: str,
    language: Language,
    *,
    reading: str,
    context: Context,
    deadline: Deadline,
    whole: Deadline | None = None,
) -> Written:
    """Ask a model once for a statement, and run it if it may be run; `reading` is why the rules did not read it.

    Both may take longer than retrieval's `deadline`, but not than the `whole` request's, where it has one.
    """
    prompt = fill_prompt(
        load_prompt("sql", language),
        schema=describe_schema(database.mapping, language),
        dialect="SQLite" if database.engine.dialect == "sqlite" else "PostgreSQL",
        today=database.now(context.now).date().isoformat(),
        question=question,
        reading=reading,
    )
    try:
        completion = model.complete(
            [ChatMessage("user", prompt)],
            timeout_s=Deadline.after(TIMEOUT_S * 1000).ending_with(whole).remaining_ms() / 1000,
        )
    except ModelError as error:
        return Written(None, usage_of(error), f"failed ({error})")
    try:
        reply = StatementReply.model_validate(extract_json_from_text(completion.text))
        granted = Deadline.after(max(STATEMENT_MS, deadline.remaining_ms())).ending_with(whole)
        table = database.run_text(reply.sql, title=question, tenant=context.tenant, timeout_ms=granted.remaining_ms())
    except (ValueError, StatementRefusedError, DatabaseError) as error:
        return Written(None, completion.usage, next(iter(str(error).splitlines()), "no statement"))
    return Written(table, completion.usage)


TABLES_A_CALL = 8
MOST_NAMES = 4
LONGEST_NAME = 40
Drafted = TypeVar("Drafted", TableDraft, ColumnDraft)


class _Table(BaseModel):
    called: list[str] = Field(default_factory=list)
    columns: dict[str, list[str]] = Field(default_factory=dict)


class _Reply(BaseModel):
    tables: dict[str, _Table] = Field(default_factory=dict)


def with_model_labels(draft: MappingFile, model: ChatModel) -> tuple[MappingFile, int]:
    """Return the draft with names that a model proposes, and how many; what has proposals already keeps them.

    Raises ModelError when the model fails, ValueError when its reply is no answer.
    """
    named = [one for table in draft.tables.values() for one in (table, *table.columns.values())]
    taken = {fold(name) for one in named for name in (*one.called, *one.proposed)}
    tables, names = dict(draft.tables), list(draft.tables)
    for start in range(0, len(names), TABLES_A_CALL):
        some = names[start : start + TABLES_A_CALL]
        shown = []
        for name in some:
            named_columns = "; ".join(f"{c} ({', '.join(one.called)})" for c, one in draft.tables[name].columns.items())
            shown.append(f"- {name} ({', '.join(draft.tables[name].called)}): {named_columns}")
        prompt = fill_prompt(load_prompt("labels", "en"), tables="\n".join(shown))
        reply = _Reply.model_validate(extract_json_from_text(model.complete([ChatMessage("user", prompt)]).text))
        for name in some:
            told = reply.tables.get(name, _Table())
            table = _proposed(tables[name], told.called, taken)
            columns = {c: _proposed(one, told.columns.get(c, []), taken) for c, one in table.columns.items()}
            tables[name] = table.model_copy(update={"columns": columns})
    now = [one for table in tables.values() for one in (table, *table.columns.values())]
    added = sum(len(one.proposed) for one in now) - sum(len(one.proposed) for one in named)
    return draft.model_copy(update={"tables": tables}), added


def _proposed(one: Drafted, names: list[str], taken: set[str]) -> Drafted:
    """Return it with the names that nothing has yet, at most four; they are taken then."""
    found: list[str] = []
    for name in [] if one.proposed else (" ".join(name.split()) for name in names):
        usable = name and len(name) <= LONGEST_NAME and name.isprintable() and fold(name) not in taken
        if usable and len(found) < MOST_NAMES:
            found.append(name)
            taken.add(fold(name))
    return one.model_copy(update={"proposed": tuple(found)}) if found else one
