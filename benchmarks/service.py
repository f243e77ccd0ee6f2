"""The service measured, one command each.

    python benchmarks/service.py exact DATASET [--requests 500]      explained and replayed, to the last bit
    python benchmarks/service.py load DATASET [--seconds 300]        errors, percentiles, throughput, memory's slope
    python benchmarks/service.py overhead DATASET [--requests 300]   HTTP and records over `invoke`, in pairs
    python benchmarks/service.py doors DATASET [--requests 200]      every front door over `invoke`, in one table
    python benchmarks/service.py jobs DATASET [--seconds 60]         P95 with and without an evaluation job
    python benchmarks/service.py uploads DATASET [--seconds 30]      P95 of keyed questions beside ten uploads
    python benchmarks/service.py tenants [--calls 5000]              leaks, and the timing of foreign ids
    python benchmarks/service.py fuzz [--cases 10000]                schemathesis over the OpenAPI
    python benchmarks/service.py failures DATASET [--html FILE]      the share of failures with a named culprit

DATASET is a BEIR folder whose store is made, or reused, in the user's cache; servers run on a copy of it, bound to
loopback, with everything they write thrown away. Each command's --help says how it measures; each ends with exit code
1 when what it checks does not hold.
"""

from __future__ import annotations

import argparse
import sys

from environment import environment
from service_measures import doors, exact, failures, fuzz, jobs, load, overhead, tenants, uploads

MEASURES = {
    "exact": exact,
    "load": load,
    "overhead": overhead,
    "doors": doors,
    "jobs": jobs,
    "tenants": tenants,
    "uploads": uploads,
    "fuzz": fuzz,
    "failures": failures,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, measure in MEASURES.items():
        about = measure.__doc__ or ""
        command = commands.add_parser(name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        measure.add_arguments(command)
        command.set_defaults(run=measure.run)
    arguments = parser.parse_args()
    print(environment(), flush=True)
    return 0 if arguments.run(arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
