"""The graph channel."""

from theworld.nodes.retrieve_graph.node import retrieve_graph
from theworld.nodes.retrieve_graph.ontology import OntologyChannel
from theworld.nodes.retrieve_graph.query_entities import query_entities
from theworld.nodes.retrieve_graph.seeds import seed_entities, seed_notes
from theworld.nodes.retrieve_graph.wording import distinct_paths, telling_steps, word_path, word_paths

__all__ = [
    "OntologyChannel",
    "distinct_paths",
    "query_entities",
    "retrieve_graph",
    "seed_entities",
    "seed_notes",
    "telling_steps",
    "word_path",
    "word_paths",
]
