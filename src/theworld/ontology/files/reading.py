"""The YAML (or JSON, which is YAML too) form into an ontology; everything that is wrong is reported with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ValidationError

from theworld.errors import OntologyError
from theworld.ontology.files.checking import SINGULAR, Location, Problem, find_problems
from theworld.ontology.model import Ontology

Format = Literal["yaml", "json", "turtle", "xml", "json-ld"]
ENDINGS: dict[str, Format] = {
    **{".yaml": "yaml", ".yml": "yaml", ".json": "json", ".ttl": "turtle", ".jsonld": "json-ld"},
    **{".rdf": "xml", ".owl": "xml", ".xml": "xml"},
}
MOST_UNFOLDING = 10
"""Values a character of the text may stand for, by aliases: a small file must not unfold into an endless one."""
PROBLEMS_SHOWN = 20
_NUMBER = re.compile(
    r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?i:inf|nan)", re.ASCII
)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def not_yaml(error: Exception) -> str:
    """Return in which line a text is not YAML, and why, where the error says so."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    return f"{line}is not YAML: {getattr(error, 'problem', None) or error}."


def read_ontology(file: Path) -> Ontology:
    """Return the ontology in a YAML or JSON file; any other is taken for YAML (see `rdf` for OWL, RDFS and SKOS).

    Raises OntologyError with every problem found, each naming line and element.
    """
    return parse_ontology(text_of(file), where=str(file))


def text_of(file: Path) -> str:
    """Return the text of a file; raises OntologyError when it cannot be read."""
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        missing = isinstance(error, FileNotFoundError)
        said, remedy = (
            ("there is no such file", "Name an existing one.") if missing else (error, "Save it as UTF-8 text.")
        )
        raise OntologyError(f"cannot be read: {said}.", where=str(file), remedy=remedy) from error


def parse_ontology(text: str, *, where: str = "ontology") -> Ontology:
    """Return the ontology in a text of the YAML form; see `read_ontology`."""
    read = _Composition(text, where)
    return check_ontology(read.data, where=where, lines=read.lines, doubled=read.doubled)


def check_ontology(
    ontology: Any, *, where: str, lines: Mapping[Location, int] | None = None, doubled: Sequence[Problem] = ()
) -> Ontology:
    """Return an ontology, given as it is or as the plain data of its form, when everything in it fits.

    Raises OntologyError with all problems, `doubled` among them, each with its line where there are `lines`.
    """
    if not isinstance(ontology, dict | Ontology):
        raise OntologyError("is no ontology: a mapping with `id`, `classes`, ... is expected.", where=where)
    problems, lines = list(doubled), lines or {}
    try:
        checked = Ontology.model_validate(ontology)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            location, found = tuple(item["loc"]), item["input"]
            field = ".".join(str(part) for part in location if isinstance(part, str)) or "the whole"
            unknown = item["type"] == "extra_forbidden"
            what = "unknown name" if unknown else item["msg"].removeprefix("Value error, ")
            shown = f", got {found!r}" if isinstance(found, str | int | float | bool) else ""
            element, line = _element_at(location, ontology), _line(location, lines)
            problems.append(Problem(location, element, f"{field}: {what}{shown}", line))
        raise wrong(problems, where) from error
    problems += (replace(one, line=_line(one.location, lines)) for one in find_problems(checked))
    if problems:
        raise wrong(problems, where)
    return checked


def wrong(problems: Sequence[Problem], where: str) -> OntologyError:
    """Return the error that tells the problems, by line."""
    problems = sorted(problems, key=lambda problem: problem.line)
    shown = "\n".join(f"  {problem}" for problem in problems[:PROBLEMS_SHOWN])
    more = f"\n  and {len(problems) - PROBLEMS_SHOWN} more" if len(problems) > PROBLEMS_SHOWN else ""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return OntologyError(f"{count} in the ontology:\n{shown}{more}", where=where, problems=tuple(problems))


class _Composition:
    """The plain values of a text, the line of each, and the keys that stand twice in one mapping."""

    def __init__(self, text: str, where: str) -> None:
        self.lines: dict[Location, int] = {}
        self.doubled: list[Problem] = []
        self._where, self._left, self._json = where, MOST_UNFOLDING * len(text), text.lstrip().startswith("{")
        self._loader = _Loader(text)
        try:
            node = self._loader.get_single_node()
            self.data = None if node is None else self._value(node, ())
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise OntologyError(not_yaml(error), where=where) from error
        finally:
            self._loader.dispose()

    def _value(self, node: yaml.Node, location: Location) -> Any:
        self._left -= 1
        if self._left < 0:
            raise OntologyError("unfolds by its aliases into far more than it is.", where=self._where)
        self.lines[location] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            found: dict[str, Any] = {}
            for key_node, value_node in node.value:
                if not isinstance(key_node, yaml.ScalarNode):
                    what = f"line {key_node.start_mark.line + 1}: a key must be a name."
                    raise OntologyError(what, where=self._where)
                key = str(key_node.value)  # a bare `on`, `no` or number is meant as it is written
                if key in found:
                    what = f"the key {key!r} stands twice in one mapping"
                    self.doubled.append(Problem((*location, key), key, what, key_node.start_mark.line + 1))
                found[key] = self._value(value_node, (*location, key))
                self.lines[(*location, key)] = key_node.start_mark.line + 1
            return found
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, (*location, i)) for i, child in enumerate(node.value)]
        # A code (`010`), a clock time (`12:30`) and a date are meant as they are written.
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        number = _NUMBER.fullmatch(str(node.value)) is not None
        if self._json and kind == "str" and number and isinstance(node, yaml.ScalarNode) and not node.style:
            return float(node.value)  # 1e+16, a number of JSON but not of YAML 1.1
        as_written = kind == "timestamp" or (kind in {"int", "float"} and not number)
        return node.value if as_written else self._loader.construct_object(node)


def _line(location: Location, lines: Mapping[Location, int]) -> int:
    """Return the line of the innermost part that is there."""
    return next((lines[part] for n in range(len(location), -1, -1) if (part := location[:n]) in lines), 0)


def _element_at(location: Location, data: Any) -> str:
    """Return the name of the element that a location is in: `class company`, `attribute company.capital`."""
    name, value, owner = "ontology", data, ""
    for i, part in enumerate(location):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            break
        if isinstance(part, int) and isinstance(value, dict):
            id_, listed = value.get("id", f"number {part + 1}"), location[i - 1]
            if i == 1 and listed in SINGULAR:
                name, owner = f"{SINGULAR[str(listed)]} {id_}", str(id_)
            elif listed == "attributes":
                name = f"attribute {owner}.{id_}"
    return name
