"""Other retrievers measured in the same run: the same notes, the same vectors, each with its usual work around them."""
