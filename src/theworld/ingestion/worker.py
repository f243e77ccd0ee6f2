"""A process that runs the models: `serve` is what it does, `Worker` is what its owner sees of it.

It is a plain child with a pipe in each direction. So it never imports the caller's main module, sees no Ctrl-C (it
lives in a session of its own), ends by itself when its owner has gone (the pipe closes), and when it dies, its owner
knows what it was working on.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from theworld.errors import ModelError
from theworld.ingestion.modelling import NoteText, Outcome, model_notes
from theworld.ingestion.stopwatch import Stopwatch

if TYPE_CHECKING:
    from theworld.models.registry import Models

_BOOTSTRAP = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from theworld.ingestion.worker import serve; serve()"
)
_LENGTH = struct.Struct("<Q")


class WorkerEndedError(Exception):
    """The process ended while it was asked for something."""


class Worker:
    """A child process with models of its own; asked by one thread at a time."""

    def __init__(self, load: Callable[[], Models]) -> None:
        """Start it; `load` is pickled, and called there before the first question."""
        extra: dict[str, Any] = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined, unused-ignore]
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-c", _BOOTSTRAP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **extra
        )
        self._load: Callable[[], Models] | None = load

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def ask(self, notes: Sequence[NoteText]) -> tuple[list[Outcome], dict[str, float]]:
        """Return what the models make of notes, and the seconds by part; WorkerEndedError when the process has ended.

        Raises what loading the models raised, and the project's own errors.
        """
        asked, answer = self._process.stdin, self._process.stdout
        if asked is None or answer is None:
            raise WorkerEndedError
        try:
            if self._load is not None:
                pickle.dump(sys.path, asked)
                _send(asked, self._load)
                self._load = None
            _send(asked, list(notes))
            reply = _receive(answer)
        except (OSError, EOFError) as error:
            raise WorkerEndedError from error
        if isinstance(reply, BaseException):
            raise reply
        outcomes, seconds = reply
        return outcomes, seconds

    def kill(self) -> None:
        """End it at once; whoever is asking it gets WorkerEndedError."""
        self._process.kill()

    def close(self) -> None:
        """Let it end, and wait until it has."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not yet sent cannot be sent any more
                    pipe.close()
        self._process.wait()


def serve() -> None:
    """Answer until the owner closes the pipe."""
    asked, answer = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get among the answers
    models: Models | Exception
    try:
        models = _receive(asked)()
    except EOFError:
        return
    except Exception as error:  # told to the owner, who raises it
        models = error
    while True:
        try:
            notes = _receive(asked)
            _send(answer, models if isinstance(models, Exception) else _reply(models, notes))
        except (EOFError, OSError):
            return


def _reply(models: Models, notes: Sequence[NoteText]) -> Any:
    watch = Stopwatch()
    try:
        outcomes = model_notes(models, notes, watch, lambda _: None, side_by_side=False)
    except Exception as error:  # told to the owner, who raises it
        return error
    return outcomes, dict(watch.seconds)


def packed(value: object) -> bytes:
    """Return a value as bytes, an error that cannot be passed on as one that says so."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        if not isinstance(value, Exception):
            raise
        return pickle.dumps(ModelError(f"{type(value).__name__}: {value} (and it cannot be passed on: {error})"))


def _send(pipe: BinaryIO | Any, value: object) -> None:
    data = packed(value)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: BinaryIO | Any) -> Any:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)  # noqa: S301 - from our own child, or its owner
