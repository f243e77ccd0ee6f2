"""Faults injected into questions and ingestion: answered, named, recovered from, and nothing lost or doubled."""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine_measures.common import Urls, sync
from services.answering import QUESTIONS, TENANT, Answering, Trial, answering
from services.launching import Server
from services.server_faults import REAL, During, Engine, Fault, kinds
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore, open_store

LIMITS = {"timeout_s": 0.8, "write_timeout_s": 2.0}
DEADLINE_MS = 4000
"""More than the default, so that what is measured is the fault, not how busy the machine is."""
REAL_SHARE = 0.04
"""Of the faults, those of the servers themselves: each has to start again, which takes its time."""


def inject(
    path: Path,
    urls: Urls,
    servers: Mapping[Engine, Server],
    planned: Sequence[Fault],
    first: int,
    *,
    log: Path | None,
    minutes: float,
) -> None:
    """Ask the demo's questions, and write documents, while one server misbehaves, each time until it has recovered.

    `first` is the number of the first planned fault: it chooses question and documents.
    """
    from theworld.demo import corpus_dir
    from theworld.ingestion import ingest
    from theworld.models.registry import load_models

    settings = Settings(store=path)
    with KnowledgeStore.open(settings.store, create=True) as store:
        ingest([corpus_dir()], store, load_models(settings), settings)
    lines = log.read_text(encoding="utf-8").splitlines() if log is not None and log.exists() else []
    trials = [Trial(**json.loads(line)) for line in lines][: len(planned)]
    with answering(settings.store, urls, servers=servers, limits=LIMITS, deadline_ms=DEADLINE_MS) as asking:
        for question in QUESTIONS:
            asking.ask(question)
        end = time.monotonic() + 60 * minutes
        for number in range(len(trials), len(planned)):
            if time.monotonic() > end:
                break
            trials.append(asking.trial(planned[number], first + number))
            if log is not None:
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(trials[-1])) + "\n")
        asking.writer.catch_up()
        asking.writer._release()
        tell(trials)
        print(f"afterwards: {compared(asking)}; {synced(asking.near)}")


def plan(engines: Sequence[Engine], faults: int, killable: Sequence[Engine]) -> list[Fault]:
    """Return the faults in the order of their injection: every kind equally often, those of the servers less."""
    during: tuple[During, ...] = ("question", "question", "ingestion")
    chance = random.Random(0)
    found: list[Fault] = []
    for real, some, count in (
        (True, killable, round(REAL_SHARE * faults) if killable else 0),
        (False, engines, faults - round(REAL_SHARE * faults) * bool(killable)),
    ):
        every = [Fault(one, kind, when) for one in some for when in during for kind in kinds(one, when, real=real)]
        every += [fault for fault in every if fault.kind == "suspended"]  # over soonest
        chance.shuffle(every)
        found += [every[number % len(every)] for number in range(count)]
    chance.shuffle(found)
    return found


def compared(asking: Answering) -> str:
    """Compare the documents in the ledger with those that the writer was told are there."""
    with open_store(asking.near) as store:
        there = store.document_hashes(TENANT)
        notes = [note.id for note in store.iter_notes(TENANT)]
    right = there == asking.written and len(notes) == len(set(notes))
    told = "those that were written, each once" if right else f"NOT THE {len(asking.written)} THAT WERE WRITTEN"
    return f"{len(there)} documents of {len(notes)} notes in the ledger, {told}"


def synced(near: Settings) -> str:
    """Run `theworld sync --verify`, and return what it says."""
    named = {name: getattr(near, name) for name in ("sparse", "dense", "graph", "ledger")}
    left, told = sync(near.store, {name: one for name, one in named.items() if one.url is not None})
    return f"`theworld sync --verify` exits with {left}: {'; '.join(told)}"


def tell(trials: Sequence[Trial]) -> None:
    """Print the table: by engine and kind, and all together."""
    rows: dict[str, list[Trial]] = defaultdict(list)
    for one in trials:
        rows[f"{one.engine}, {one.fault}"].append(one)
        rows[f"{one.engine}, all"].append(one)
        rows[f"all, {one.during}"].append(one)
        rows["all, servers themselves" if one.fault in REAL else "all, on the way"].append(one)
        rows["all"].append(one)
    print(f"\n{'':26}{'faults':>7}{'answered':>10}{'named':>7}{'others':>8}", end="")
    print(f"{'answer P50':>12}{'P95':>7}{'max ms':>8}{'recovery P50':>14}{'P95':>7}{'max s':>7}")
    for name in sorted(rows, key=lambda name: (name.startswith("all"), name.endswith("all"), name)):
        some = rows[name]
        spent, healed = ([getattr(one, what) for one in some] for what in ("elapsed_ms", "recovery_s"))
        told = f"{name:26}{len(some):7}{sum(one.answered for one in some):10}{sum(one.named for one in some):7}"
        told += f"{sum(bool(one.others) for one in some):8}"
        told += f"{np.median(spent):12.0f}{np.percentile(spent, 95):7.0f}{max(spent):8.0f}"
        print(f"{told}{np.median(healed):14.2f}{np.percentile(healed, 95):7.2f}{max(healed):7.2f}")
