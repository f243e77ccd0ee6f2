"""One retriever measured in a process of its own, so that time and memory are its own: also our graph, and PageRank."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peer_measures.pagerank import EntityPageRank
from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.evaluation.documents.retrievers import DEPTH, RETRIEVERS, WARM_UP, read_work
from theworld.settings import Settings
from theworld.state import Context, QueryInput

OURS, PAGERANK = "theworld", "pagerank"
"""Names under which our own graph, and the PageRank over our entities, are measured."""
ENTITIES, STORE = "entities.json", "store.txt"
"""What the work holds besides: the keys of the entities by note, and where the store lies."""
_RANKED_BY = ("rerank_candidates", "restore_fused_order")
Measured = Callable[[str], tuple[list[str], float | None]]
"""Question -> note ids, best first, and the milliseconds until they stood, when it goes on after that."""


def peak_memory_mb() -> float | None:
    """Return the most memory this process ever had resident, None where the system does not tell.

    Read from /proc where there is one: `ru_maxrss` of a process starts with what its parent had.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next((line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM")), None)
        return int(peak.split()[1]) / 1024 if peak else None
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@contextmanager
def _opened(name: str, folder: Path) -> Iterator[tuple[Measured, list[str]]]:
    """Make the retriever; yield what asks it, and the questions."""
    material, questions = read_work(folder)
    if name == OURS:
        from theworld.graph import build_graph, open_resources

        with open_resources(Settings.load(store=(folder / STORE).read_text("utf-8"))) as resources:
            yield _ask(build_graph(resources)), questions
        return
    if name == PAGERANK:
        retrieve = EntityPageRank(material, json.loads((folder / ENTITIES).read_text("utf-8"))).retrieve
    else:
        retrieve = RETRIEVERS[name].make(material)
    yield lambda question: (retrieve(question), None), questions


def _ask(graph: Any) -> Measured:
    """Ask our graph as a caller does, and note when its ranking stood; the answer is made after that."""
    context = Context(top_k=DEPTH, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False)

    def retrieve(question: str) -> tuple[list[str], float | None]:
        begun = time.perf_counter()
        ranked_after, found = None, []
        for update in graph.stream(QueryInput(question=question), context=context, stream_mode="updates"):
            for node, values in update.items():
                if values and "candidates" in values:
                    found = [candidate.note_id for candidate in values["candidates"]]
                if node in _RANKED_BY:
                    ranked_after = (time.perf_counter() - begun) * 1000
        return found, ranked_after

    return retrieve


def measure(folder: Path, name: str) -> None:
    """Make the retriever, ask it all questions of the work, and write what came out."""
    begun = time.perf_counter()
    with _opened(name, folder) as (retrieve, questions):
        retrieve(WARM_UP)
        ready = time.perf_counter() - begun
        rankings, times, totals = [], [], []
        for question in questions:
            begun = time.perf_counter()
            found, ranked_after = retrieve(question)
            total = (time.perf_counter() - begun) * 1000
            rankings.append(found)
            times.append(total if ranked_after is None else ranked_after)
            totals.append(total)
    found_out = {
        "rankings": rankings,
        "elapsed_ms": times,
        "total_ms": totals,
        "ready_s": ready,
        "memory_mb": peak_memory_mb(),
        "versions": {one: version(one) for one in RETRIEVERS[name].requires} if name in RETRIEVERS else {},
    }
    (folder / f"{name}.json").write_text(json.dumps(found_out), "utf-8")
