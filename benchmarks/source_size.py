"""How big the source is, against the budgets of budgets.toml: `python benchmarks/source_size.py [--update]`.

Every figure is read from the files, nothing is imported, but for the settings:

- lines: of Python files, blank lines and comments included, all of them and by package; of the language part (the
  folders that budgets.toml names) and of the tests
- patterns: calls of the functions of `re` that take a pattern
- words: in the tables (`*.yaml`, `*.txt`) of the packages that read language, and in constants of the code that
  are split into words
- functions: definitions, methods and nested ones too, for each 1,000 lines
- tangled: functions with more than 20 branches: conditions, loops, handlers, parts of and/or and of comprehensions
- chain: the files that follow one another from the file of a node to the last that reads language, the longest way;
  a name that a package only hands on counts as its defining file's (imports have no circles: test_architecture.py)

A budget is lowered by what lowers its figure: `--update` writes each figure that is below its budget, never one above.
`--regroup` rewrites the lines by package where code has moved between packages; the sum has its own budget.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = ROOT / "budgets.toml"
PACKAGE = ROOT / "src" / "theworld"
PATTERN_FUNCTIONS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
_FORKS = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)

Figures = dict[str, dict[str, float]]


def measured(budgets: dict[str, dict[str, object]]) -> Figures:
    """Return section -> figure -> value, in the shape of budgets.toml."""
    files = dict(modules())
    language = {name: file for name, file in files.items() if _within(name, _names(budgets, "folders"))}
    lines = {name: _lines(file) for name, file in files.items()}
    by_package: dict[str, float] = {}
    for name, number in lines.items():
        first = name.split(".")[0]
        package = first if first and (PACKAGE / first).is_dir() else "modules"
        by_package[package] = by_package.get(package, 0) + number
    total = sum(lines.values())
    functions = sum(map(_functions, files.values()))
    return {
        "source": {
            "lines": total,
            "files": len(files),
            "functions_per_1000_lines": round(1000 * functions / total, 1),
            "tangled": sum(map(_tangled, files.values())),
            "patterns": sum(map(_patterns, files.values())),
            "settings": _settings(),
            "dependencies": len(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]),
        },
        "tests": {"lines": sum(_lines(file) for file in (ROOT / "tests").rglob("*.py"))},
        "language": {
            "lines": sum(lines[name] for name in language),
            "files": len(language),
            "patterns": sum(map(_patterns, language.values())),
            "words": _table_words(set(_names(budgets, "without_tables"))) + sum(map(_code_words, language.values())),
            "chain": len(longest_chain(files, language)),
        },
        "lines": dict(sorted(by_package.items())),
    }


def modules() -> Iterator[tuple[str, Path]]:
    """Yield (dotted name below theworld, file), those of the linked folders too; `` is the package itself."""
    for child in sorted(PACKAGE.iterdir()):
        for file in sorted(child.resolve().rglob("*.py")) if child.is_dir() else [child]:
            if file.suffix == ".py":
                parts = (child.name, *file.relative_to(child.resolve()).parts) if child.is_dir() else (file.name,)
                yield ".".join(parts).removesuffix(".py").removesuffix("__init__").rstrip("."), file


def missing_folders(budgets: dict[str, dict[str, object]]) -> list[str]:
    """Return the folders of the language part that are no longer there."""
    files = dict(modules())
    return [folder for folder in _names(budgets, "folders") if not any(_within(name, [folder]) for name in files)]


def longest_chain(files: dict[str, Path], language: dict[str, Path]) -> list[str]:
    """Return the modules from a node's to the last of the language part that it is answered through."""
    inside = {name for name in files if name in language or _within(name, ["nodes"])}

    @cache
    def below(name: str) -> tuple[str, ...]:
        following = [below(other) for other in sorted(_imported(name, files) & inside) if other != name]
        return (name, *_longest(following))

    chains = [below(name) for name in sorted(inside) if _within(name, ["nodes"])]
    return list(_longest(chains))


def _longest(chains: list[tuple[str, ...]]) -> tuple[str, ...]:
    return max(chains, key=len, default=())


def _imported(name: str, files: dict[str, Path]) -> set[str]:
    found = set()
    for node in _ast(files[name]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("theworld."):
            found |= {_defining(node.module.removeprefix("theworld."), alias.name, files) for alias in node.names}
    return found


def _defining(module: str, name: str, files: dict[str, Path]) -> str:
    """Return the module that defines what is imported as `from module import name`."""
    if f"{module}.{name}" in files:
        return f"{module}.{name}"
    if module in files and files[module].name == "__init__.py":
        for node in _ast(files[module]):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("theworld."):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return _defining(node.module.removeprefix("theworld."), alias.name, files)
    return module


def _names(budgets: dict[str, dict[str, object]], key: str) -> list[str]:
    found = budgets["language"][key]
    assert isinstance(found, list)
    return found


def _within(module: str, folders: list[str]) -> bool:
    return any(f"{module}.".startswith(f"{folder.replace('/', '.')}.") for folder in folders)


@cache
def _ast(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text("utf-8"))))


def _lines(file: Path) -> int:
    return file.read_text("utf-8").count("\n")


def _functions(file: Path) -> int:
    return sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in _ast(file))


def _tangled(file: Path) -> int:
    found: list[str] = []

    def branches(node: ast.AST) -> int:
        number = _branches(node) + sum(map(branches, ast.iter_child_nodes(node)))
        if number > 20 and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.name)
        return number

    branches(_ast(file)[0])
    return len(found)


def _branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, _FORKS))


def _patterns(file: Path) -> int:
    calls = (node.func for node in _ast(file) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return sum(f.attr in PATTERN_FUNCTIONS and isinstance(f.value, ast.Name) and f.value.id == "re" for f in calls)


def _code_words(file: Path) -> int:
    calls = (node.func for node in _ast(file) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    constants = (f.value.value for f in calls if f.attr == "split" and isinstance(f.value, ast.Constant))
    return sum(len(text.split()) for text in constants if isinstance(text, str))


def _table_words(without: set[str]) -> int:
    folders = [child.resolve() for child in PACKAGE.iterdir() if child.is_dir() and child.name not in without]
    tables = [file for folder in folders for file in folder.rglob("*") if file.suffix in {".yaml", ".txt"}]
    texts = [(file, file.read_text("utf-8")) for file in tables]
    return sum(_words(_content(file, text)) for file, text in texts)


def _content(file: Path, text: str) -> object:
    if file.suffix == ".txt":
        return text
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _words(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(_words, value)) + sum(map(_words, value.values()))
    if isinstance(value, list):
        return sum(map(_words, value))
    return len(value.split()) if isinstance(value, str) else 1


def _settings() -> int:
    from theworld.settings import Settings
    from theworld.settings.sources import leaves

    return sum(1 for _ in leaves(Settings))


def over_budget(figures: Figures, budgets: dict[str, dict[str, object]]) -> list[str]:
    """Return a sentence for each figure above its budget, or without one, that says what to do."""
    found = []
    for section, values in figures.items():
        for name, value in values.items():
            budget = budgets[section].get(name)
            if not isinstance(budget, int | float):
                found.append(f"{section}.{name} is {value:g} and has no budget: run source_size.py --regroup")
            elif value > budget:
                found.append(
                    f"{section}.{name} is {value:g}, its budget {budget:g}: delete or merge something, or raise the "
                    "number in budgets.toml with the reason beside it"
                )
    return found


def updated(text: str, figures: Figures, *, regroup: bool = False) -> str:
    """Return budgets.toml with each budget lowered to its figure; with `regroup`, the lines by package anew."""
    section, kept = "", []
    for line in text.splitlines():
        section = line.strip("[]") if line.startswith("[") else section
        entry = re.match(r"(\w+) = ([\d.]+)\b", line)
        if not entry or section not in figures:
            kept.append(line)
        elif (value := figures[section].get(entry[1])) is not None:
            anew = value < float(entry[2]) or (regroup and section == "lines")
            kept.append(f"{entry[1]} = {value:g}{line[entry.end() :]}" if anew else line)
    if regroup:
        known = tomllib.loads(text)["lines"]
        kept += [f"{name} = {value:g}" for name, value in figures["lines"].items() if name not in known]
    return "\n".join(kept) + "\n"


def main() -> int:
    """Print every figure beside its budget; return 1 where one is above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="lower the budgets to the figures")
    parser.add_argument("--regroup", action="store_true", help="and rewrite the lines by package")
    chosen = parser.parse_args()
    text = BUDGETS.read_text("utf-8")
    budgets = tomllib.loads(text)
    figures = measured(budgets)
    if chosen.update or chosen.regroup:
        BUDGETS.write_text(updated(text, figures, regroup=chosen.regroup), "utf-8")
        budgets = tomllib.loads(BUDGETS.read_text("utf-8"))
    for section, values in figures.items():
        for name, value in values.items():
            print(f"{section + '.' + name:<36}{value:>9g}   of {budgets[section].get(name, 'no budget')}")
    files = dict(modules())
    inside = {name: file for name, file in files.items() if _within(name, _names(budgets, "folders"))}
    print("longest chain: " + " > ".join(longest_chain(files, inside)))
    problems = [f"{folder}: no such folder" for folder in missing_folders(budgets)] + over_budget(figures, budgets)
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
