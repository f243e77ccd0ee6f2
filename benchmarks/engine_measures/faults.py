"""Faults injected into questions: answered, named, recovered from."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine_measures.common import Urls
from services.answering import QUESTIONS, Trial, answering
from services.faulty_proxy import FAULTS
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore


def inject(path: Path, urls: Urls, faults: int, log: Path | None) -> None:
    """Ask the demo's questions while one server misbehaves, every time until it has recovered."""
    from theworld.demo import corpus_dir
    from theworld.ingestion import ingest
    from theworld.models.bundle import load_models

    settings = Settings(store=path)
    with KnowledgeStore.open(settings.store, create=True) as store:
        ingest([corpus_dir()], store, load_models(settings), settings)
    lines = log.read_text(encoding="utf-8").splitlines() if log is not None and log.exists() else []
    trials = [Trial(**json.loads(line)) for line in lines][:faults]
    with answering(settings.store, urls) as asking:
        for question in QUESTIONS:
            asking.ask(question)
        for number in range(len(trials), faults):
            chance = random.Random(number)  # so that one that goes on injects what it would have
            one = asking.trial(chance.choice(list(urls)), chance.choice(list(FAULTS)), chance.choice(QUESTIONS))
            trials.append(one)
            if log is not None:
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
    tell(trials)


def tell(trials: list[Trial]) -> None:
    print(f"\n{len(trials)} faults: {sum(t.answered for t in trials)} answered, {sum(t.named for t in trials)} named")
    print(f"{'':18}{'faults':>7}{'answered':>10}{'named':>7}{'median ms':>11}{'p99 ms':>9}{'recovery s':>12}")
    for engine in ("sparse", "dense", "graph"):
        for fault in FAULTS:
            some = [t for t in trials if (t.engine, t.fault) == (engine, fault)]
            if some:
                times = [t.elapsed_ms for t in some]
                print(
                    f"{engine + ' ' + fault:18}{len(some):7}{sum(t.answered for t in some):10}"
                    f"{sum(t.named for t in some):7}{np.median(times):11.0f}{np.percentile(times, 99):9.0f}"
                    f"{np.median([t.recovery_s for t in some]):12.2f}"
                )
