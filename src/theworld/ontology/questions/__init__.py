"""What of an ontology a question names or describes."""
