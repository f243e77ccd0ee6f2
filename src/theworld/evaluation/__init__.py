"""Metrics, datasets and evaluation runs."""
