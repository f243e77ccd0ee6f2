"""Every question of a set; each failed one is run again with one thing changed until its culprit is named.

Holds when at least 90 % of the failures have a culprit.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from service_measures.serving import dataset_argument, prepared
from theworld.evaluation.failures import (
    Change,
    Counterfactuals,
    as_html,
    as_markdown,
    explain_failure,
    failed,
    failure_report,
)
from theworld.graph import build_graph, open_resources
from theworld.state import Context

LEAST = 0.9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--html", type=Path)


def run(arguments: argparse.Namespace) -> bool:
    dataset, settings = prepared(arguments.dataset)
    found = []
    queries = dataset.queries[: arguments.limit]
    with open_resources(settings) as resources:
        ways = Counterfactuals(resources, build_graph(resources), Context(use_model=False))
        for query in queries:
            base = ways.ask(query.text, Change())
            if failed(query, base):
                found.append(explain_failure(query, base, partial(ways.ask, query.text), dataset.document_ids))
    report = failure_report(dataset.name, len(queries), found)
    print(as_markdown(report))
    if arguments.html:
        arguments.html.write_text(as_html(report), "utf-8")
    repaired = sum(bool(failure.fixed_by) for failure in found)
    print(
        f"failures with a named culprit: {report['named'] or 0:.1%} of {report['failed']}; {repaired} fixed by a change"
    )
    return report["named"] is None or bool(report["named"] >= LEAST)
