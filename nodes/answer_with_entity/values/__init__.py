"""Dates, quantities and measures in running text."""
