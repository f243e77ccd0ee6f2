"""Ways over the ontology graph in words, Chinese or English."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from theworld.ontology.walking import OntologyGraph, Step, Way
from theworld.packages import load_table
from theworld.state import PathStep
from theworld.text import Language

step_words = partial(load_table, "theworld.ontology", "data/step_words.yaml")
"""How steps are told; read when first called."""


def label_of(graph: OntologyGraph, node: int, language: Language) -> str:
    """Return the preferred name of a node."""
    return graph.lookup.elements[graph.refs[node]].labels.preferred(language)


def told(step: Step, graph: OntologyGraph, language: Language) -> str:
    """Return what one step says: the relation between two samples, else the kind of the edge."""
    if step.relations:
        relations = [graph.lookup.relations[id_] for id_ in step.relations]
        names = [r.labels if step.forward or r.symmetric else r.inverse for r in relations]
        if all(name.all() for name in names):
            return " / ".join(name.preferred(language) for name in names)
        back = "←" if not step.forward else ""
        return back + " / ".join(relation.labels.preferred(language) for relation in relations)
    words: str = step_words()[step.kind]["forward" if step.forward else "backward"][language]
    return words + step_words()["inherited"][language] if step.inherited else words


def word_way(way: Sequence[Way], graph: OntologyGraph, language: Language) -> tuple[PathStep, ...]:
    """Return the steps of a way with the names of their ends."""
    return tuple(
        PathStep(
            source=label_of(graph, one.source, language),
            relation=told(graph.steps[int(graph.step_of[one.edge])], graph, language),
            target=label_of(graph, one.target, language),
        )
        for one in way
    )


def word_steps(steps: Sequence[PathStep]) -> str:
    """Return `A —has the relation→ B —refers to→ C`."""
    start = steps[0].source if steps else ""
    return start + "".join(f" —{step.relation}→ {step.target}" for step in steps)
