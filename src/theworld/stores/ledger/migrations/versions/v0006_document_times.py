"""When a document was written; those written before this version keep no time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add a column that may be null, which rewrites no row."""
    op.add_column("document", sa.Column("written_at", _TEXT, nullable=True))
