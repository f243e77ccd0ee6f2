"""How to get from one class to another over mapped relations."""

from __future__ import annotations

from collections.abc import Collection

from theworld.sql.mapping import DatabaseMapping, Join
from theworld.sql.plan import Path
from theworld.text.language import Language

MOST_STEPS = 3


def is_single(join: Join) -> bool:
    """Return whether every source has at most one target: a column of the source's table holds its key."""
    return join.forward and join.link is None


def find_path(
    mapping: DatabaseMapping,
    start: str,
    goal: str,
    *,
    via: Collection[str] = (),
    single: bool = False,
    linked: bool = False,
) -> Path | None:
    """Return the best path from a class to another, None when there is none within three steps.

    Steps with one target come before others, ways over what the question mentions (`via`: relations and classes)
    before those that do not, then shorter ones, then the order of the relations in the ontology: the first relation of
    a class is its primary one. Relations between instances of one class and tables between two are never walked
    unasked. `single` allows steps with one target only.
    """
    if start == goal:
        return ()
    found: list[tuple[tuple[int, int, int, tuple[int, ...]], Path]] = []
    order = {relation: i for i, relation in enumerate(mapping.lookup.relations)}

    def walk(class_id: str, path: Path, seen: frozenset[str]) -> None:
        for join in steps(mapping, class_id):
            if (
                join.target in seen
                or join.source == join.target
                or (join.link and join.relation not in via and not linked)
            ):
                continue
            if not is_single(join) and (single or any(not is_single(step) for step in path)):
                continue
            longer = (*path, join)
            if join.target == goal or goal in mapping.lookup.ancestors(join.target):
                many = sum(not is_single(step) for step in longer)
                met = {step.relation for step in longer} | {step.target for step in longer[:-1]}
                key = (many, -len(met & set(via)), len(longer), tuple(order[step.relation] for step in longer))
                found.append((key, longer))
            elif len(longer) < MOST_STEPS:
                walk(join.target, longer, seen | {join.target})

    walk(start, (), frozenset({start}))
    if not found and not single and not linked:  # a table between two only where nothing else leads there
        return find_path(mapping, start, goal, via=via, linked=True)
    return min(found, key=lambda item: item[0])[1] if found else None


def steps(mapping: DatabaseMapping, class_id: str) -> list[Join]:
    """Return the mapped relations that lead from a class or what it inherits."""
    line = set(mapping.lookup.ancestors(class_id))
    return [join for join in mapping.joins if join.source in line]


def happens(mapping: DatabaseMapping, class_id: str) -> tuple[Path, str] | None:
    """Return the way to the one class that says when rows happen: their own, else the one they are lines of."""
    if mapping.classes[class_id].time is not None:
        return (), class_id
    joins = [j for j in steps(mapping, class_id) if is_single(j) and mapping.classes[j.target].time is not None]
    return ((joins[0],), joins[0].target) if len({j.target for j in joins}) == 1 else None


def other_senses(mapping: DatabaseMapping, path: Path) -> list[Join]:
    """Return the relations that lead from the same class to the same one as the path's first step, without it."""
    if not path:
        return []
    first = path[0]
    return [
        j for j in steps(mapping, first.source)
        if j.target == first.target and j.relation != first.relation and is_single(j) and is_single(first)
    ]  # fmt: skip


def senses(mapping: DatabaseMapping, path: Path, via: Collection[str], language: Language) -> list[str]:
    """Return in words how a path's first step was taken, where there are other ways and the question chose none."""
    if not other_senses(mapping, path) or path[0].relation in via:
        return []
    relation = mapping.lookup.relations[path[0].relation]
    target = mapping.lookup.classes[relation.target].labels.preferred(language)
    label = relation.labels.preferred(language)
    return [f"{target}：{label}" if language == "zh" else f"{target}: {label}"]


def belongs_by(mapping: DatabaseMapping, class_id: str) -> str | None:
    """Return the column by which instances of a class belong to others of it (a city to a district), if one does."""
    table = mapping.classes[class_id].name
    for join in steps(mapping, class_id):
        contains = mapping.lookup.relations[join.relation].contains
        if contains and join.source == join.target and is_single(join) and mapping.classes[join.source].name == table:
            return join.source_column
    return None
