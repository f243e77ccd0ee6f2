"""One kind of harm a file, each with `add_arguments` and `run`, which keeps how every round ended."""
