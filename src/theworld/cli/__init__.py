"""The command line: one module per command, everything heavy imported only when a command runs."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line with the process's arguments and exit with its code; text is UTF-8 in any locale."""
    from theworld.cli.app import run

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(run([os.fsencode(argument).decode("utf-8", "surrogateescape") for argument in sys.argv[1:]]))
