"""A statement by a language model: it sees the mapped schema only, and its SQL goes through the same guard."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, Field

from theworld.deadline import Deadline
from theworld.errors import DatabaseError, ModelError, StatementRefusedError
from theworld.models.protocols import ChatMessage, ChatModel, usage_of
from theworld.prompts import fill_prompt, load_prompt
from theworld.sql.database import Database
from theworld.sql.mapping import DatabaseMapping
from theworld.state import Context, ModelUsage, QueryTable
from theworld.structure import extract_json_from_text
from theworld.text import Language

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
        columns |= {column: f"only rows with {value} count" for column, value in table.counts.items()}
        for label in (table.given, table.label.zh, table.label.en):
            columns |= {label: "name"} if label else {}
        for attribute in mapping.attributes[class_id].values():
            unit = f", {attribute.unit.of(language)}" if attribute.unit else ""
            named = (f"{v.in_column} is {v.labels.preferred(language) or v.id}" for v in attribute.values)
            values = f", {', '.join(named)}" if attribute.values else ""
            product = " * ".join(attribute.times)
            less = f" * (1 - {attribute.less})" if attribute.less else ""
            name = f"{attribute.column} * {product}{less}" if product else attribute.column or ""
            columns[name] = f"{attribute.labels.preferred(language)}, {attribute.type}{unit}{values}"
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
    language: str,
    *,
    reading: str,
    context: Context,
    deadline: Deadline,
    whole: Deadline | None = None,
) -> Written:
    """Ask a model once for a statement, and run it if it may be run; `reading` is why the rules did not read it.

    Both may take longer than retrieval's `deadline`, but not than the `whole` request's, where it has one.
    """
    spoken: Language = "zh" if language == "zh" else "en"
    prompt = fill_prompt(
        load_prompt("sql", spoken),
        schema=describe_schema(database.mapping, spoken),
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
