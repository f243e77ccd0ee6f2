"""What retrieval nodes search with: the channels' frame, seeds of the walk, the ontology, and reading notes."""
