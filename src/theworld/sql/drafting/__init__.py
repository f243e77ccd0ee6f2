"""A draft of how a database's tables are to be understood, from nothing but the database."""
