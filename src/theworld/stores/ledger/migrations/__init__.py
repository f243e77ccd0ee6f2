"""Steps from one schema version to the next, as Alembic revisions in `versions`; the revision is the version."""
