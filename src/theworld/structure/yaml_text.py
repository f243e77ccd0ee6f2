"""YAML texts: the safe loader without YAML 1.1's surprises, bounded in size, depth and aliases."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import yaml

from theworld.structure.targets import target_of

MAX_CHARACTERS = 200_000
MAX_DEPTH = 100
MAX_ALIASES = 64
MAX_NODES = 200_000
_FENCED = re.compile(r"```(?:yaml|yml)[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL | re.IGNORECASE)
_FULL_WIDTH = re.compile(r"(?m)^([ \t]*(?:- )?[\w ]{1,60}+)：[ \t]*+")
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _PlainLoader(_Base):  # type: ignore[misc]
    """Safe loader that knows only the scalars JSON knows: `NO` stays text, `12:30` stays text, dates stay text."""


_PlainLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"(?:true|false|True|False)$", list("tTfF")),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9]\d{0,400})$", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\d{1,400}\.\d{0,400}(?:[eE][-+]?\d{1,4})?|\.\d{1,400}|\d{1,400}[eE][-+]?\d{1,4})$",
        list("-+0123456789."),
    ),
):
    _PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


def validate_yaml(text: str, wanted: Any) -> Any:
    """Read a whole text (or its first ```yaml block) as YAML and validate it.

    Raises ValueError for what is too long, too deep, uses many aliases, is no mapping or list, or looks like JSON.
    """
    fenced = _FENCED.search(text) if "```" in text else None
    written = fenced[1] if fenced else text
    if written.lstrip()[:1] in ("{", "["):
        raise ValueError("text in braces or brackets is read as JSON, where None is no text")
    data = load_yaml(_FULL_WIDTH.sub(r"\1: ", written))
    if not isinstance(data, (dict, list)):
        raise ValueError("the text is not a YAML mapping or list")
    return target_of(wanted).validate(_as_tree(data, count(1), 0))


def load_yaml(text: str) -> Any:
    """Load YAML with the safe loader; plain scalars only, bounded."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"longer than {MAX_CHARACTERS} characters: not tried as YAML")
    depth = aliases = 0  # looked at before anything is built; the event parser keeps its own stack
    for event in yaml.parse(text, Loader=_PlainLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"YAML nested deeper than {MAX_DEPTH} levels")
        if aliases > MAX_ALIASES:
            raise ValueError(f"more than {MAX_ALIASES} YAML aliases")
    try:
        return yaml.load(text, Loader=_PlainLoader)  # noqa: S506 - a subclass of the safe loader
    except RecursionError as error:
        raise ValueError("nested too deeply for YAML") from error


def _as_tree(item: Any, nodes: count[int], depth: int) -> Any:
    """Copy loaded YAML into a tree with text keys; refuses what aliases blow up or make endless."""
    if next(nodes) > MAX_NODES or depth > MAX_DEPTH:
        raise ValueError("YAML aliases expand beyond bounds")
    if isinstance(item, dict):
        words = {True: "true", False: "false", None: "null"}
        return {
            words[key] if isinstance(key, bool) or key is None else str(key): _as_tree(member, nodes, depth + 1)
            for key, member in item.items()
        }
    if isinstance(item, (list, tuple, set)):
        return [_as_tree(member, nodes, depth + 1) for member in item]
    return item
