"""Models as schemas for providers, as instructions for a model, and compared with data."""
