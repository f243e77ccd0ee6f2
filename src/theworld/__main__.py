"""`python -m theworld`: the command line."""

from theworld.cli import main

main()
