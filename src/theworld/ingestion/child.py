"""A child process that answers what it is asked over a pipe.

It is a plain child: it never imports the caller's main module, sees no Ctrl-C (it lives in a session of its own), ends
by itself when its owner has gone (the pipe closes), and when it dies, its owner knows what it was working on.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from theworld.errors import ModelError

_BOOTSTRAP = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from theworld.ingestion.child import serve; serve()"
)

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Unless the environment says otherwise: there is a process for each core already, and threads of linear algebra that
wait for each other's turn take seconds for what one does in milliseconds."""


class ChildEndedError(Exception):
    """The process ended while it was asked for something."""


class Child:
    """A process in which `make()` is called once, and what it returns is called with every question."""

    def __init__(self, make: Callable[[], Callable[[Any], object]], *, quiet: bool = False) -> None:
        """Start it; `make` is pickled, and called there before the first question. `quiet` drops what it prints."""
        options: dict[str, Any] = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined, unused-ignore]
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        self.process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-c", _BOOTSTRAP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            env=_ONE_THREAD | os.environ,
            **options,
        )
        self._make: Callable[[], object] | None = make

    def ask(self, question: object) -> Any:
        """Return the answer to a question of one thread at a time, or raise what answering, or `make`, raised.

        ChildEndedError when the process has ended; nothing is left of it then.
        """
        asked, answers = self.process.stdin, self.process.stdout
        assert asked is not None
        assert answers is not None
        try:
            if self._make is not None:
                asked.write(pickle.dumps(sys.path) + packed(self._make))
                self._make = None
            asked.write(packed(question))
            asked.flush()
            answer = pickle.load(answers)  # noqa: S301 - of this program's own process
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.kill()
            self.close()
            raise ChildEndedError from error
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def kill(self) -> None:
        """End it at once; whoever is asking it gets ChildEndedError."""
        self.process.kill()

    def close(self) -> None:
        """Let it end, and wait until it has."""
        with suppress(OSError), self.process:  # what was not yet sent cannot be sent any more
            pass


def serve() -> None:
    """Answer, in the process itself, until the owner closes the pipe."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get among the answers
    with suppress(EOFError, OSError):
        made = _result(pickle.load(asked))  # noqa: S301 - of the owner
        while True:
            question = pickle.load(asked)  # noqa: S301
            answers.write(packed(made if isinstance(made, Exception) else _result(made, question)))
            answers.flush()


def _result(function: Any, *arguments: object) -> object:
    """Return what a function returns, or the error it raises, for the owner to raise."""
    try:
        return function(*arguments)
    except Exception as error:
        return error


def packed(value: object) -> bytes:
    """Return a value as bytes, an error that cannot be passed on as one that says so."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        if not isinstance(value, Exception):
            raise
        return pickle.dumps(ModelError(f"{type(value).__name__}: {value} (and it cannot be passed on: {error})"))
