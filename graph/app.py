"""The graph for LangGraph Studio and `langgraph dev`: no checkpointer, the server brings its own.

The store is `THEWORLD_STORE` (langgraph.json points it at the demo's store, which `make demo` makes).
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack

from theworld.graph.build import build_graph
from theworld.graph.resources import open_resources

_open = ExitStack()
atexit.register(_open.close)

graph = build_graph(_open.enter_context(open_resources()))
