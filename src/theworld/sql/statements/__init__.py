"""A plan into a statement, and what a statement must be before a database sees it."""
