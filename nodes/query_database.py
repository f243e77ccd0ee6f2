"""The node: rows of the mapped database as an answer, or why there are none and the other ways answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from langgraph.runtime import Runtime

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.degrading import degrading
from theworld.errors import DatabaseError, StatementRefusedError
from theworld.models.protocols import ChatModel
from theworld.ontology.walking import word_steps
from theworld.retrieval.channel import request_deadline, retrieval_deadline
from theworld.settings import RetrievalSettings
from theworld.sql.database import Database
from theworld.sql.model_statement import Written, write_statement
from theworld.sql.plan import UnclearError
from theworld.sql.results import in_words
from theworld.state import (
    Answer,
    Citation,
    Context,
    Degradation,
    EvidencePath,
    ModelUsage,
    QueryState,
    QueryTable,
    Update,
    context_at,
)
from theworld.text import Language

READ_CONFIDENCE = 0.9
"""Confidence in an answer of which every word was read."""
WRITTEN_CONFIDENCE = 0.5
"""Confidence in an answer whose statement a language model wrote: it is safe, but nobody checked what it means."""


def query_database(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    database: Database,
    settings: RetrievalSettings,
    model: ChatModel | None = None,
) -> Update:
    """Set `tables` and a `result` of kind `computed`, or say why not; it has the time of retrieval.

    In a strict context a database that fails raises RetrievalUnavailableError; one that does not understand does not.
    """
    context = context_at(state, runtime)
    deadline = retrieval_deadline(state, context, settings)
    noted: list[Degradation] = []
    tables: Sequence[QueryTable] | None = None
    failures = (DatabaseError, StatementRefusedError)
    try:
        with degrading("query_database", context, noted, "the database cannot be asked", catching=failures):
            tables = database.ask(
                state.query,
                language=state.language,
                tenant=context.tenant,
                now=context.now,
                timeout_ms=deadline.remaining_ms(),
            )
    except UnclearError as error:
        return _written(state, context, database, model, deadline, reason=str(error))
    if tables is None:
        return {"degradations": noted}
    answer = computed(tables, context.language or state.language)
    return {"tables": list(tables), "result": answer, "paths": evidence_paths(tables)}


def computed(tables: Sequence[QueryTable], language: Language) -> Answer:
    """Return the answer that tables give, one sentence each; nothing to be told is told."""
    marked = [f"{in_words(table, language)} [{number}]" for number, table in enumerate(tables, start=1)]
    return Answer(
        text="\n".join(marked),
        kind="computed",
        confidence=READ_CONFIDENCE,
        citations=tuple(  # the database as document, the statement as quote
            Citation(
                number=number,
                document_id=f"database:{table.source}",
                note_id=f"table:{number}",
                title=table.title,
                source=table.source,
                start=0,
                end=len(table.sql),
                quote=table.sql,
            )
            for number, table in enumerate(tables, start=1)
        ),
        reason=f"read from {len(tables)} statement{'s' if len(tables) > 1 else ''} over the database",
    )


def evidence_paths(tables: Sequence[QueryTable]) -> list[EvidencePath]:
    """Return over which relations the rows of each table were reached; a table is called as its citation is."""
    return [
        EvidencePath(note_id=f"table:{number}", steps=steps, weight=1.0, text=word_steps(steps))
        for number, table in enumerate(tables, start=1)
        for steps in table.paths
    ]


def _written(
    state: QueryState,
    context: Context,
    database: Database,
    model: ChatModel | None,
    deadline: Deadline,
    *,
    reason: str,
) -> Update:
    """Return what a language model's statement gives, where one is configured and allowed, else why there is none."""
    written = Written(None, ModelUsage())
    said = f"the question was not read for certain ({reason}); the other ways answer"
    if model is not None and database.settings.model_sql and context.use_model and state.route.model:
        whole, given = request_deadline(state, context), (model, database, state.query, state.language)
        write = partial(write_statement, *given, reading=reason, context=context, deadline=deadline, whole=whole)
        try:
            written = run_within(whole, write, name="write_statement")
        except DeadlineExceededError as error:
            written = Written(None, ModelUsage(calls=1), f"was too late ({error})")
        said += f"; {model.name}: {written.problem or 'the statement gave no rows'}"
    elif state.route.path != "sql" and context.database is None:  # every way was tried: nothing is missed
        reasons = (*state.route.reasons, f"it is not read for the database ({reason})")
        return {"route": state.route.model_copy(update={"reasons": reasons})}
    update: Update = {"usage": written.usage}
    if model is not None and written.table is not None and written.table.rows:
        note = f"the statement was written by {model.name}; it was checked for safety, not for meaning"
        answer = computed([written.table], context.language or state.language)
        answer = answer.model_copy(update={"confidence": WRITTEN_CONFIDENCE, "reason": note})
        update |= {"tables": [written.table], "result": answer}
        said = f"{reason}; {note}"
    degradation = Degradation(stage="query_database", reason=said, elapsed_ms=deadline.spent_ms())
    return update | {"degradations": [degradation]}
