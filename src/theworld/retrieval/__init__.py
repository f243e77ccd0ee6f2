"""What the nodes search with: the channels' frame, the walk's seeds and paths, the ontology, and reading notes."""
