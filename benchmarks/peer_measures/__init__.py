"""The parts of `benchmarks/peers.py`: other retrievers over the notes of a store, beside our graph."""
