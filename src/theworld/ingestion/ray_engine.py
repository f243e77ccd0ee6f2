"""Ingestion over a cluster: Ray Data runs the same stages as the local engine in the workers of Ray.

Files are read by tasks, notes are modelled by actors that keep the models loaded. Rows travel as Arrow tables of one
column, what the stage takes or makes, pickled. They come back in order and only as fast as
they are taken, so that what is ahead of the writer is bounded. Workers never write: whichever of them is killed, its
rows are made again by another, and after the driver is killed the next run goes on from the batches that are written.

Every machine of the cluster needs this version of the project, and reaches the files under the same paths or URLs.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from theworld import __version__
from theworld.errors import ModelError
from theworld.ingestion.child import packed
from theworld.ingestion.engines import Batch, NoteText, Outcome, Outcomes, WorkerPool, batches, texts_of
from theworld.ingestion.plan import PlannedDocument, Reading, read_file
from theworld.ingestion.report import MODELLED, FailedSource, IngestProgress, Stopwatch
from theworld.ingestion.sources import SourceFile
from theworld.packages import import_package

if TYPE_CHECKING:
    from theworld.models.registry import Models
    from theworld.settings import NoteSettings, Settings

READ_FILES = 8
"""Files read by one task."""
CHUNK_NOTES = 32
"""Notes handed to an actor at once."""
CONNECT_S = 10.0


class RayEngine:
    """Reads files and runs the models in the workers of Ray, of a cluster at `address` or started on this machine."""

    def __init__(
        self, models: Models, settings: Settings, watch: Stopwatch, progress: IngestProgress, address: str | None
    ) -> None:
        load = models.reloader()
        if load is None:
            raise ModelError(
                "models that were put in by hand run in this process only.", remedy="Use the engine `local`."
            )
        self._load, self._settings, self._watch, self._progress = load, settings, watch, progress
        self._address, self._started = address, False
        self.processes = 1

    def __enter__(self) -> Self:
        """Start Ray, or connect to it; ModelError says what hinders that."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # of its servers; what fails here is raised here
        ray = import_package("ray", extra="ray")
        import_package("ray.data", extra="ray")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        if not ray.is_initialized():
            options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
            if self._address is None:
                options |= {"num_cpus": self._settings.ingestion.processes or None, "include_dashboard": False}
            try:
                host, _, port = (self._address or "").rpartition("/")[2].rpartition(":")
                if host and port.isdigit():  # where nobody listens, Ray itself tries for a quarter of an hour
                    socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
                ray.init(self._address or "local", **options)
            except Exception as error:  # of many kinds, by what hinders it
                raise ModelError(
                    f"Ray cannot be reached at {self._address or 'this machine'}: {error}",
                    remedy="Start it: `ray start --head`; then give `--address HOST:6379`, or no address.",
                ) from error
            self._started = True
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.processes = min(self._settings.ingestion.processes or cores, cores)
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave Ray as it was found."""
        if self._started:
            import_package("ray", extra="ray").shutdown()

    def read(self, files: Sequence[SourceFile], limits: NoteSettings) -> Iterator[Iterable[Reading]]:
        """Yield what is read of each file, in order; what one task would read is read here."""
        if len(files) <= READ_FILES:
            yield from (read_file(file, limits) for file in files)
            return
        yield from self._mapped(files, READ_FILES, _read_files, fn_kwargs={"limits": limits})

    def model(self, documents: Sequence[PlannedDocument]) -> Generator[tuple[Batch, Outcomes]]:
        """Yield batches of documents in order, each with what waits for the outcomes of its notes."""
        chunks: list[Sequence[NoteText]] = []
        counts: list[tuple[Batch, int]] = []
        for batch in batches(documents):
            texts, before = texts_of(batch), len(chunks)
            chunks += [texts[first : first + CHUNK_NOTES] for first in range(0, len(texts), CHUNK_NOTES)]
            counts.append((batch, len(chunks) - before))
        if not chunks:
            return
        pool = import_package("ray.data", extra="ray").ActorPoolStrategy(size=min(self.processes, len(chunks)))
        given = (self._load, __version__)
        replies = self._mapped(chunks, 1, _NoteModels, fn_constructor_args=given, compute=pool)
        with self._watch.shared("models"):
            for batch, count in counts:
                yield batch, partial(self._finished, islice(replies, count))

    def _finished(self, replies: Iterable[Any]) -> list[Outcome]:
        found: list[Outcome] = []
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
            some, seconds = reply
            self._watch.add(seconds)
            self._progress.advance("notes", len(some))
            found += some
        return found

    def _mapped(
        self, things: Sequence[object], things_a_task: int, stage: Callable[..., Any], **options: Any
    ) -> Iterator[Any]:
        """Yield what a stage makes of each thing, in order."""
        if not things:
            return
        rows = [{"data": packed(thing)} for thing in things]
        data = import_package("ray.data", extra="ray")
        context = data.DataContext.get_current().copy()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        with data.DataContext.current(context):
            blocks = -(-len(rows) // things_a_task)
            made = data.from_items(rows, override_num_blocks=blocks).map_batches(
                stage, batch_size=None, batch_format="pyarrow", **options
            )
        try:
            for table in made.iter_batches(batch_size=None, batch_format="pyarrow"):
                yield from (pickle.loads(one) for one in table["data"].to_pylist())  # noqa: S301 - of our own workers
        except import_package("ray.exceptions", extra="ray").RayError as error:
            raise ModelError(
                f"a worker of Ray failed, also when tried again: {str(error).strip().splitlines()[-1]}",
                remedy="Run the same command again to go on; Ray's own logs say more (/tmp/ray on its machine).",
            ) from error


def _read_files(table: Any, limits: NoteSettings) -> Any:
    """Return a table of files with what was read of each, their notes with it."""

    def read(file: SourceFile) -> list[Reading]:
        found = read_file(file, limits)
        return [one if isinstance(one, FailedSource) else (one[0], tuple(one[1])) for one in found]

    return _with(table, read)


class _NoteModels:
    """An actor with a process that holds the models: notes that kill it are left out by name, as they are locally."""

    def __init__(self, load: Callable[[], Models], version: str) -> None:
        self._version = version
        self._watch = Stopwatch()
        self._pool = WorkerPool(load, 1, self._watch)

    def __call__(self, table: Any) -> Any:
        """Return a table of notes with their outcomes and the seconds by part, or with the error of the models."""
        return _with(table, self._made)

    def _made(self, notes: Sequence[NoteText]) -> object:
        if self._version != __version__:
            return ModelError(f"a worker of Ray has version {__version__} of the project, not {self._version}.")
        self._watch.seconds.clear()
        try:
            outcomes = [outcome for chunk in self._pool.submit(notes) for outcome in chunk.result()]
        except Exception as error:  # told to the driver, who raises it
            return error
        return outcomes, {part: self._watch.seconds[part] for part in MODELLED}


def _with(table: Any, made: Callable[[Any], object]) -> Any:
    """Return an Arrow table with what is made of its data in their place."""
    data = [packed(made(pickle.loads(one))) for one in table["data"].to_pylist()]  # noqa: S301 - from the driver
    return type(table).from_pydict({"data": data})
