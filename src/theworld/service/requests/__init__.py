"""Running the graph for one request, and putting what happened on record off the hot path."""
