"""Running the graph for one request, putting what happened on record off the hot path, and telling or repeating it."""
