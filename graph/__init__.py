"""How nodes are wired into one graph, and what it is built over."""

from theworld.graph.build import build_graph
from theworld.graph.resources import Resources, make_resources, open_resources

__all__ = ["Resources", "build_graph", "make_resources", "open_resources"]
