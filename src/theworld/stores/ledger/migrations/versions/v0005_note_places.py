"""The place of a note in its document: the headings it stands under, its kind, and what has to be read before it."""

from __future__ import annotations

import logging

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_LOG = logging.getLogger(__name__)
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns with a constant default, which rewrites no row; only ingestion can tell what old notes lack."""
    op.add_column("note", sa.Column("section", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("note", sa.Column("kind", _TEXT, nullable=False, server_default="paragraph"))
    op.add_column("note", sa.Column("lead", _TEXT, nullable=False, server_default=""))
    notes = op.get_bind().scalar(sa.select(sa.func.count()).select_from(sa.table("note")))
    if notes:
        _LOG.warning("%d notes do not know their sections yet: ingest the same folders again to tell them", notes)
