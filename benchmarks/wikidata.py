"""Snapshots measured on made-up entries: memory and time to build one, time to find a name.

    python benchmarks/wikidata.py --entities 200000 --folder DIR

Prints one JSON object. The entries have two labels, aliases, descriptions, key facts and 0-200 sitelinks; names share
words as real ones do. Times are of one process, warm, after one lookup; the memory is the peak of the build's process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from theworld.evaluation.metrics import percentile
from theworld.wikidata import Snapshot

GIVEN = "John Mary James Anna Peter Wei Li Carlos Olga Ivan Fatima Ahmed Yuki Hans Marie".split()
SYLLABLES = "ka ro mi ten sal vor del bur han gri pol nor wes mar lin tor fen dal".split()
CHINESE = "王李张刘陈杨黄赵周吴徐孙马朱胡郭何林高罗天地山水云海江河文武明华国安平春秋东西南北中"


def entity(number: int, chance: random.Random) -> dict[str, Any]:
    """Return one made-up entry."""
    surname = "".join(chance.choices(SYLLABLES, k=chance.randint(2, 3))).title()
    english = f"{chance.choice(GIVEN)} {surname}"
    chinese = "".join(chance.choices(CHINESE, k=chance.randint(2, 4)))
    kind, born = chance.randrange(1, 40), chance.randrange(1800, 2000)
    claim = {"snaktype": "value", "datavalue": {"value": {"id": f"Q{kind}"}}}
    time_value = {"time": f"+{born}-05-07T00:00:00Z", "precision": 11}
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": {"en": {"value": english}, "zh-hans": {"value": chinese}},
        "descriptions": {"en": {"value": f"person {number} of {surname}"}, "zh": {"value": f"第{number}号人物"}},
        "aliases": {"en": [{"value": f"{english[0]}. {surname}"}]},
        "claims": {
            "P31": [{"mainsnak": claim, "rank": "normal"}],
            "P569": [{"mainsnak": {"snaktype": "value", "datavalue": {"value": time_value}}}],
        },
        "sitelinks": {f"w{i}": {} for i in range(int(chance.paretovariate(1)) % 200)},
    }


def write_dump(path: Path, entities: int) -> None:
    """Write a dump of made-up entries."""
    chance = random.Random(7)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write("[\n")
        for number in range(1, entities + 1):
            file.write(json.dumps(entity(number, chance), ensure_ascii=False) + ",\n")
        file.write("]\n")


def names(out: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (kind of lookup, name, language)."""
    chance = random.Random(11)
    connection = sqlite3.connect(out)
    rows = connection.execute("SELECT data FROM entity ORDER BY qid").fetchall()
    connection.close()
    for (data,) in chance.sample(rows, 500):
        labels = json.loads(data)[0]
        yield "same name, en", labels["en"], "en"
        yield "same name, zh", labels["zh"], "zh"
        yield "one word", labels["en"].split()[1], "en"
        yield "beginning of a word", labels["en"].split()[1][:4], "en"
        yield "part, zh", labels["zh"][:2], "zh"
    for given in GIVEN:
        yield "commonest word", given, "en"
    for character in CHINESE:
        yield "one character, zh", character, "zh"
    for absent in ("Zzyzx Qwerty", "魑魅魍魎"):
        yield "absent", absent, "en"


def measure(out: Path) -> dict[str, dict[str, float]]:
    """Return milliseconds per kind of lookup; the processor's own do not count the wait for other programs."""
    taken: dict[str, list[float]] = {}
    worked: dict[str, list[float]] = {}
    with Snapshot(out) as snapshot:
        snapshot.search("warm up", "en", 8)
        for kind, name, language in names(out):
            began, worked_before = time.perf_counter(), time.process_time()
            snapshot.search(name, language, 8)
            taken.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
            worked.setdefault(kind, []).append((time.process_time() - worked_before) * 1000)
    return {
        kind: {
            "median_ms": round(statistics.median(times), 2),
            "p95_ms": round(percentile(times, 0.95), 2),
            "p95_processor_ms": round(percentile(worked[kind], 0.95), 2),
            "worst_processor_ms": round(max(worked[kind]), 2),
        }
        for kind, times in taken.items()
    }


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    dump = arguments.folder / f"dump-{arguments.entities}.json.gz"
    out = arguments.folder / f"snapshot-{arguments.entities}.sqlite"
    if not dump.exists():
        write_dump(dump, arguments.entities)
    command = [
        sys.executable,
        "-c",
        "from theworld.cli import main; main()",
        "wikidata",
        "build",
        str(dump),
        "--out",
        str(out),
        "--replace",
    ]
    done = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    print(
        json.dumps(
            {
                "python": platform.python_version(),
                "sqlite": sqlite3.sqlite_version,
                "machine": platform.platform(),
                "entities": report["entities"],
                "build_seconds": round(report["seconds"], 1),
                "build_peak_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
                "dump_mb": round(dump.stat().st_size / 1e6, 1),
                "snapshot_mb": round(out.stat().st_size / 1e6, 1),
                "lookups": measure(out),
            },
            indent=2,
            ensure_ascii=False,
        )
    )


if __name__ == "__main__":
    main()
