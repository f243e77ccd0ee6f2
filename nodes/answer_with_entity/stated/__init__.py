"""Answers that follow from stated facts: chains, comparisons, yes or no."""
