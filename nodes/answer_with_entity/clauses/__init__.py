"""What clauses of the notes state: relations, facts, and who did what to whom."""
