"""One file or folder per node: a pure core and a thin node around it."""
