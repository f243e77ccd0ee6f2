"""A process of its own for parsers that a small file can keep busy without end, or let fill the memory.

It is a plain child with a pipe in each direction, started with the first file and ended when none has come for a while.
Each file has so much processor time and memory (where the system can limit them, which Windows cannot); beyond
that the process ends, the file is reported by name, and the next one gets another process.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from theworld.errors import IngestionError

SECONDS, SECONDS_PER_MB = 60.0, 20.0
"""Processor time for a file; a page of PDF takes a tenth of a second, and has 10 kB at least."""
MEMORY = 2_000_000_000
"""Bytes beyond what the parsers themselves take."""
WAITED = 5.0
"""Times its processor time a file is waited for on a busy machine."""
IDLE_S = 30.0

Convert = Callable[[bytes, Path], tuple[str, str]]
_BOOTSTRAP = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from theworld.ingestion.readers.apart import serve; serve()"
)
_HARMFUL = "Divide it, or save it anew without what it embeds."


class _Apart:
    """The process, and the thread that may ask it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: threading.Timer | None = None

    def ask(self, convert: Convert, data: bytes, path: Path) -> tuple[str, str]:
        """Return what `convert` (a function of a module) makes of a file; IngestionError says why it makes nothing."""
        seconds = SECONDS + SECONDS_PER_MB * len(data) / 1e6
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            try:
                return self._asked((convert, data, path, seconds, MEMORY), path, seconds)
            except BaseException as error:
                if not isinstance(error, IngestionError):
                    self._end()
                raise
            finally:
                self._idle = threading.Timer(IDLE_S, self.close)
                self._idle.daemon = True
                self._idle.start()

    def _asked(self, question: tuple[Any, ...], path: Path, seconds: float) -> tuple[str, str]:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(WAITED * seconds, process.kill)
        late.start()
        try:
            pickle.dump(question, process.stdin)
            process.stdin.flush()
            reply = pickle.load(process.stdout)  # noqa: S301 - of this program's own process
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._end()
            raise IngestionError(
                f"reading it took more than {seconds:,.0f} s of processor time, or all memory, and was ended",
                where=str(path),
                remedy=_HARMFUL,
            ) from error
        finally:
            late.cancel()
        if isinstance(reply, BaseException):
            raise reply
        title, text = reply
        return title, text

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            options: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, "-c", _BOOTSTRAP],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                **options,
            )
            assert self._process.stdin is not None
            pickle.dump(sys.path, self._process.stdin)
        return self._process

    def close(self) -> None:
        """End the process, unless a file is being read."""
        if self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what could not be written to a process that had ended
                    if pipe is not None:
                        pipe.close()


_apart = _Apart()


def converted_apart(convert: Convert, data: bytes, path: Path) -> tuple[str, str]:
    """Return what a function of a module makes of a file's bytes, in a process of bounded time and memory.

    Raises what it raises, and IngestionError for a file that takes more than it may.
    """
    return _apart.ask(convert, data, path)


def serve() -> None:
    """Read files, in the process itself, until the pipe is closed."""
    asked, answer = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints must not get among the answers
    while True:
        try:
            convert, data, path, seconds, memory = pickle.load(asked)  # noqa: S301 - of this program's own process
        except EOFError:
            return
        reply: object
        try:
            _limit(seconds, memory)
            reply = convert(data, path)
        except MemoryError:
            reply = IngestionError(
                f"reading it takes more than {memory:,} bytes of memory", where=str(path), remedy=_HARMFUL
            )
        except Exception as error:
            reply = error
        pickle.dump(reply, answer)
        answer.flush()


def _limit(seconds: float, memory: int) -> None:
    """Let this process end after so much more processor time; let it have so much more memory."""
    if sys.platform == "win32":
        return
    import resource

    used = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used, resource.RLIM_INFINITY))
    with suppress(OSError, ValueError):  # systems other than Linux
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
