"""A dependent question rewritten to stand alone, by the rules of its language."""
