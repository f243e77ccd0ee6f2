"""PostgreSQL's errors in our own words, by their SQLSTATE codes."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from theworld.errors import EngineUnavailableError, StoreError

_UNAVAILABLE = ("08", "57", "53", "58", "XX", "28", "3D", "25P03", "55P03", "40")
"""Connection lost, server stopping, out of something or broken, not let in, no such database, limits, deadlock."""
_TABLES = (
    "Make the tables: `theworld ledger migrate --create`. Where they are, this role lacks USAGE on their schema "
    "(docs/postgresql.md)."
)
_NOT_LET_IN = (
    "The server runs, and does not let this role in: check ledger.username and ledger.password (or password_file), "
    "that the role may log in and has CONNECT on the database (docs/postgresql.md), and the server's pg_hba.conf."
)
_REMEDIES = {
    "28": _NOT_LET_IN,
    "3D": "Make the database, or check ledger.url.",
    "3F": _TABLES,
    "42P01": _TABLES,
    "42501": "Give the role the rights that docs/postgresql.md lists.",
    "25006": "This server only reads, as a standby does: name the primary in ledger.url.",
    "53100": "Free some space on the server; nothing of the last batch was kept.",
    "54000": "A name (tenant, id, title or alias) is longer than PostgreSQL can index, about 2,700 bytes: shorten it.",
}


def explained(error: DBAPIError, where: str, *, late: str = "") -> StoreError:
    """Return what to raise for an error of the driver; `late` says that we cut the connection ourselves."""
    code = getattr(error.orig, "sqlstate", None)
    lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
    said = late or " ".join(lines[:2]) or type(error.orig).__name__
    if late or code is None or code.startswith(_UNAVAILABLE):
        # What refuses a connection comes without a code.
        refused = code is None and not late and "FATAL:" in said
        remedy = _remedy(code) or (_NOT_LET_IN if refused else "See whether the server runs, with `theworld doctor`.")
        return EngineUnavailableError(f"the ledger cannot be asked: {said}", where=where, remedy=remedy)
    return StoreError(f"the ledger failed: {said}", where=where, remedy=_remedy(code))


def _remedy(code: str | None) -> str:
    return next((remedy for sign, remedy in _REMEDIES.items() if code is not None and code.startswith(sign)), "")
