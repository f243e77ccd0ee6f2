"""A question into a plan, or not at all: every word must be accounted for."""
