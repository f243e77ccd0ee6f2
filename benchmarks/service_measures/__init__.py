"""One measure of the service a file, each with `add_arguments` and `run`, which says whether what it checks holds."""
