"""The ledger, the only truth, and the projections derived from it."""
