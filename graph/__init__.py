"""How nodes are wired into one graph, and what it is built over."""

from theworld.graph.build import allow_state_types, build_graph
from theworld.graph.resources import Resources, make_resources, open_resources

__all__ = ["Resources", "allow_state_types", "build_graph", "make_resources", "open_resources"]
