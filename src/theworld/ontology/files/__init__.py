"""Ontologies in files: read, checked, written and drawn."""
