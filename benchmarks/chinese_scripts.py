"""Questions in the script of their documents and in the other one: what retrieval finds, and what is answered.

    theworld eval retrieval FOLDER        # makes the store; its place is printed
    python benchmarks/chinese_scripts.py FOLDER=STORE [--limit N]

FOLDER is a BEIR folder in traditional Chinese, such as DRCD's; its questions are asked as written and in simplified
characters. Gold answers stay as they are, since answers are quoted from the documents.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from environment import environment

from answers import measure, report, states_of
from theworld.evaluation.answers import answerable_queries
from theworld.evaluation.datasets import load_dataset
from theworld.evaluation.retrieval import STAGES, evaluate_retrieval
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from chinese_writing import in_simplified

METRICS = ("recall@1", "recall@2", "recall@5", "recall@10", "recall@20", "mrr")


def main() -> None:
    """Print recall by stage and the figures of answers, for both scripts of the questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", metavar="FOLDER=STORE")
    parser.add_argument("--limit", type=int, help="only the first questions")
    arguments = parser.parse_args()
    folder, _, store = arguments.set.partition("=")
    written = load_dataset(Path(folder))
    crossed = replace(written, queries=tuple(replace(one, text=in_simplified(one.text)) for one in written.queries))
    print(environment())
    for name, dataset in (("as written", written), ("in simplified Chinese", crossed)):
        with open_resources(Settings(store=store, retrieval={"deadline_ms": 60_000})) as resources:
            found = evaluate_retrieval(dataset, build_graph(resources), limit=arguments.limit)
        print(f"{dataset.name}, questions {name}: {', '.join(METRICS)}")
        for stage in STAGES:
            print(f"  {stage:12}", *(f"{100 * found.mean(stage, metric):6.1f}" for metric in METRICS), flush=True)
        queries = answerable_queries(dataset, arguments.limit)
        report(f"{dataset.name}, questions {name}", [measure(*pair) for pair in states_of(queries, Path(store))])


if __name__ == "__main__":
    main()
