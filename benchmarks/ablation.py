"""What each family of rules is worth: short answers with it and without it, on sets it was not written on.

    python benchmarks/ablation.py FOLDER=STORE [...] [--kept DIR]

A family stays where its answers are right in 90 % of the cases on such sets (80 % of those shown) and are at least 1 %
of the questions. Each is switched off in turn by replacing a name of a module; only families that change an answer
are printed, with the answers shown and right. Families of another component are another entry of COMPONENTS: how it
answers a question, and what switches its families off.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from answer_states import Asked, arguments_of, states_of
from environment import environment

from theworld.nodes.answer_with_entity import read_answer
from theworld.settings import AnswerSettings

Replaced = tuple[str, str, object]
"""Module, name in it, and what takes its place."""


@dataclass(frozen=True)
class Component:
    """Something with families of rules: `right` returns whether its answer to a question is right, None without one."""

    right: Callable[[Asked], bool | None]
    families: Mapping[str, Sequence[Replaced]]


def nothing(*_args: object, **_named: object) -> None:
    """Take the place of what finds an answer."""


def answered(asked: Asked) -> bool | None:
    """Return whether the short answer shown is right."""
    found = read_answer(asked.state)
    return None if found is None or found.confidence < AnswerSettings().min_confidence else asked.is_right(found.text)


NODE = "theworld.nodes.answer_with_entity"
COMPARISONS = "theworld.answers.comparisons"
ANSWERS: dict[str, Sequence[Replaced]] = {
    "facts of the ontology": [(NODE, "answer_from_facts", nothing)],
    "comparison": [(NODE, "answer_comparison", nothing)],
    "comparison: order": [(COMPARISONS, "_by_order", nothing)],
    "comparison: same country": [(COMPARISONS, "_same_country", nothing)],
    "comparison: both are": [(COMPARISONS, "_both_are", nothing)],
    "EFSA": [(NODE, "answer_by_efsa", nothing)],
}
COMPONENTS = {"answers": Component(answered, ANSWERS)}


@contextmanager
def switched_off(replaced: Sequence[Replaced]) -> Iterator[None]:
    """Replace the names within the block."""
    before = [(importlib.import_module(module), name) for module, name, _ in replaced]
    values = [getattr(module, name) for module, name in before]
    for (module, name), (_, _, value) in zip(before, replaced, strict=True):
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), value in zip(before, values, strict=True):
            setattr(module, name, value)


def figures(component: Component, asked: Sequence[Asked]) -> tuple[int, int]:
    """Return how many questions are answered, and how many of those are right."""
    found = [right for one in asked if (right := component.right(one)) is not None]
    return len(found), sum(found)


def main() -> None:
    """Print every set with all families, and without each that matters there."""
    arguments = arguments_of(__doc__)
    print(environment())
    for folder, store in arguments.sets:
        asked = states_of(folder, store, arguments.kept)
        for name, component in COMPONENTS.items():
            whole = figures(component, asked)
            print(f"{folder.name}, {name}: {len(asked)} questions, answered {whole[0]}, right {whole[1]}", flush=True)
            for family, replaced in component.families.items():
                with switched_off(replaced):
                    without = figures(component, asked)
                if without != whole:
                    own = whole[0] - without[0], whole[1] - without[1]
                    print(f"  without {family:28} answered {without[0]:4}, right {without[1]:4}  (its own {own})")


if __name__ == "__main__":
    main()
