"""What the router is told of a question by the database."""

from __future__ import annotations

from theworld.errors import TheWorldError
from theworld.routing import DatabaseReader, DatabaseView
from theworld.sql.database import Database
from theworld.state import Context


def database_reader(database: Database) -> DatabaseReader:
    """Return a reader over an open database; when its names cannot be read, nothing is known of the question."""

    def read(question: str, context: Context) -> DatabaseView:
        try:
            found = database.signals(question, tenant=context.tenant, now=context.now)
        except TheWorldError:
            return DatabaseView(available=True)
        return DatabaseView(available=True, **found._asdict())

    return read
