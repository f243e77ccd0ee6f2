"""Token vectors as codes: what the first ledgers that can be brought up to date had."""

revision = "0002"
down_revision = None


def upgrade() -> None:
    """Nothing to do: older ledgers hold vectors that would have to be made anew."""
