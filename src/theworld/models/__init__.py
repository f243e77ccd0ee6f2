"""Embedders, taggers and language models behind small protocols."""
