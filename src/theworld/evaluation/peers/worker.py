"""One retriever measured in a process of its own, so that time and memory are its own.

    python -m theworld.evaluation.peers.worker FOLDER NAME

reads FOLDER/job.json and the material, and writes FOLDER/NAME.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.evaluation.peers.material import DEPTH, read_material
from theworld.evaluation.peers.retrievers import PEERS
from theworld.models.registry import load_models
from theworld.settings import Settings
from theworld.state import Context, QueryInput

OURS = "theworld"
"""Name under which our own graph is measured."""
WARM_UP = "Which of these was the first, and why? 其中哪一个最早？"
"""Asked before the clock counts; no question of a data set, whose embedding would then be known."""
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
def _opened(name: str, folder: Path, job: dict[str, Any]) -> Iterator[Measured]:
    settings = Settings.load(store=job["store"])
    if name == OURS:
        from theworld.graph import build_graph, open_resources

        with open_resources(settings) as resources:
            yield _ask(build_graph(resources), job["tenant"])
    else:
        retrieve = PEERS[name].make(read_material(folder, load_models(settings), job["space"]))
        yield lambda question: (retrieve(question), None)


def _ask(graph: Any, tenant: str) -> Measured:
    """Ask our graph as a caller does, and note when its ranking stood; the answer is made after that."""
    context = Context(tenant=tenant, top_k=DEPTH, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False)

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


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Make the retriever, ask it all questions of the job, and return what came out."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    begun = time.perf_counter()
    with _opened(name, folder, job) as retrieve:
        retrieve(WARM_UP)
        ready = time.perf_counter() - begun
        rankings, times, totals = [], [], []
        for question in job["questions"]:
            begun = time.perf_counter()
            found, ranked_after = retrieve(question)
            total = (time.perf_counter() - begun) * 1000
            rankings.append(found)
            times.append(total if ranked_after is None else ranked_after)
            totals.append(total)
    return {
        "rankings": rankings,
        "elapsed_ms": times,
        "total_ms": totals,
        "ready_s": ready,
        "memory_mb": peak_memory_mb(),
        "versions": {one: version(one) for one in PEERS[name].requires} if name in PEERS else {},
    }


if __name__ == "__main__":
    to, chosen = Path(sys.argv[1]), sys.argv[2]
    (to / f"{chosen}.json").write_text(json.dumps(measure(chosen, to)), "utf-8")
