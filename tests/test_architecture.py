"""Who may import whom (docs: design). Read from the source by AST, so that lazy and type-only imports count too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "theworld"

LEAVES = {
    "state",
    "text",
    "questions",
    "errors",
    "settings",
    "deadline",
    "degrading",
    "single_flight",
    "native_memory",
    "packages",
}
MACHINERY = LEAVES | {"structure", "models", "stores", "wikidata", "ontology", "sql"}
NODES = MACHINERY | {"routing", "retrieval", "ranking", "entities", "answers", "references", "nodes", "prompts"}
GRAPH = NODES | {"graph"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "text": {"text", "packages"},
    "packages": {"errors"},
    "state": {"state", "errors"},
    "questions": {"questions", "text", "errors", "state"},
    "settings": {"settings", "errors"},
    "deadline": set(),
    "degrading": {"state", "errors"},
    "single_flight": set(),
    "native_memory": set(),
    "prompts": LEAVES | {"prompts"},
    "structure": LEAVES | {"structure"},
    "models": LEAVES | {"models"},
    "stores": LEAVES | {"stores", "models.protocols"},
    "wikidata": LEAVES | {"wikidata"},
    "ontology": LEAVES | {"stores", "ontology", "models.protocols"},
    "routing": LEAVES | {"routing"},
    "references": LEAVES | {"models.protocols", "prompts", "references", "structure"},
    "retrieval": LEAVES | {"models.protocols", "ontology", "retrieval", "stores", "wikidata"},
    "sql": LEAVES | {"structure", "models.protocols", "ontology", "prompts", "routing", "sql"},
    "entities": LEAVES | {"entities", "models", "prompts", "retrieval.channel", "structure", "wikidata"},
    "ranking": LEAVES | {"models", "stores", "ranking"},
    "answers": LEAVES | {"answers", "prompts", "stores"},
    "nodes": NODES,
    "graph": GRAPH,
    "ingestion": GRAPH | {"ingestion"},
    "evaluation": GRAPH | {"ingestion", "evaluation"},
    "doctor": GRAPH | {"doctor"},
    "demo": GRAPH | {"ingestion", "demo"},
    "service": GRAPH | {"ingestion", "evaluation", "service"},
    "integrations": GRAPH | {"service.requests", "integrations"},
    "cli": GRAPH | {"ingestion", "evaluation", "service", "demo", "doctor", "cli"},
    "testing": GRAPH | {"ingestion", "testing"},
    "__init__": set(),
    "__main__": {"cli"},
}
FREE = {"__version__"}
"""Names anyone may take from the top package."""


def source_files() -> Iterator[tuple[str, Path]]:
    """Yield (dotted module below theworld, file); the symlinked folders are followed."""
    for child in sorted(PACKAGE.iterdir()):
        if child.suffix == ".py":
            yield child.stem, child
        elif (child / "__init__.py").exists():
            for file in sorted(child.resolve().rglob("*.py")):
                inside = file.relative_to(child.resolve()).with_suffix("").parts
                yield ".".join([child.name, *(part for part in inside if part != "__init__")]), file


@cache
def imports(file: Path) -> list[tuple[int, str]]:
    """Return (line, dotted name below theworld) of every import of ours; a relative import as `.`."""
    return list(_imports(file))


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "theworld":
                    yield node.lineno, alias.name.removeprefix("theworld").lstrip(".")
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "."
            elif node.module == "theworld":
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif node.module and node.module.startswith("theworld."):
                yield node.lineno, node.module.removeprefix("theworld.")


def forbidden(module: str, imported: str, allowed: dict[str, set[str]] = ALLOWED) -> bool:
    if imported in FREE:
        return False
    names = allowed[module.split(".", maxsplit=1)[0]]
    prefixes = [".".join(imported.split(".")[:n]) for n in range(1, imported.count(".") + 2)]
    return not names.intersection(prefixes)


FILES = list(source_files())


@pytest.mark.parametrize(("module", "file"), FILES, ids=[module for module, _ in FILES])
def test_imports_follow_the_layers(module: str, file: Path) -> None:
    wrong = [f"{file}:{line} imports theworld.{name}" for line, name in imports(file) if forbidden(module, name)]
    assert not wrong


def test_every_folder_has_its_rule_and_every_rule_names_something() -> None:
    present = {module.split(".", maxsplit=1)[0] for module, _ in FILES}
    assert present <= set(ALLOWED)
    top_level_folders = {"graph", "nodes", "state", "prompts"}
    assert top_level_folders <= present
    for name in top_level_folders:
        assert (PACKAGE / name).resolve() == ROOT / name


def test_nothing_but_tests_imports_the_test_doubles() -> None:
    users = {m for m, file in FILES for _, name in imports(file) if name.split(".")[0] == "testing"}
    assert all(module.startswith("testing") for module in users)


def test_the_rule_can_fail(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(
        "from theworld.stores.knowledge_store import KnowledgeStore\nfrom . import x\nimport theworld.cli\n"
        "from theworld.models.protocols import Embedder\nfrom theworld import graph\n"
        "from theworld import __version__\n",
        encoding="utf-8",
    )
    found = [name for _, name in imports(file)]
    assert [name for name in found if forbidden("models.minilm", name)] == [
        "stores.knowledge_store",
        ".",
        "cli",
        "graph",
    ]
    assert not forbidden("stores.sqlite", "models.protocols")
    assert forbidden("stores.sqlite", "models.bundle")


def rooms_below(folder: str) -> dict[str, set[str]]:
    """Return room -> the rooms it imports, for the modules and folders right below a folder."""
    found: dict[str, set[str]] = {}
    prefix = f"{folder}." if folder else ""
    for module, file in FILES:
        inside = module.startswith(prefix) and module.removeprefix(prefix).split(".", maxsplit=1)[0]
        if inside and module != folder:
            names = [name.removeprefix(prefix) for _, name in imports(file) if name.startswith(prefix)]
            found.setdefault(inside, set()).update(name.split(".", maxsplit=1)[0] for name in names)
    return {room: {name for name in others if name in found and name != room} for room, others in found.items()}


def circle(rooms: dict[str, set[str]]) -> list[str]:
    """Return the rooms that are left when all that import nothing left are taken away."""
    left = dict(rooms)
    while free := [room for room, others in left.items() if not others & left.keys()]:
        for room in free:
            del left[room]
    return sorted(left)


FOLDERS = sorted({module.rpartition(".")[0] for module, _ in FILES})


@pytest.mark.parametrize("folder", FOLDERS)
def test_rooms_of_a_folder_import_in_one_direction(folder: str) -> None:
    assert not circle(rooms_below(folder))


def test_a_circle_is_seen() -> None:
    assert circle({"a": {"b"}, "b": {"a"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]
