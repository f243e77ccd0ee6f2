"""What a language model proposes to call tables and columns, beside what a draft calls them.

It sees names alone, never a row. Proposals are not used: a person moves the right ones to `called`. A name that
something has already is left out, since two things of one name make questions unclear.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, Field

from theworld.models.protocols import ChatMessage, ChatModel
from theworld.prompts import fill_prompt, load_prompt
from theworld.sql.drafting.file import ColumnDraft, MappingFile, TableDraft
from theworld.structure import extract_json_from_text
from theworld.text import fold

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
