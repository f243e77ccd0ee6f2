"""Plain data fitted to a model: pydantic names what is wrong where, and each kind of error has one lossless remedy.

A number with a thousands separator becomes a number, a label becomes its enum member, a lone item becomes a list, a key
in another style finds its field. What would lose or invent something is left alone, and validation fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from theworld.structure import remedies
from theworld.structure.remedies import Remedied, fold, labels_of
from theworld.structure.report import Path, Repair
from theworld.structure.targets import Place, Target, named_fields, only_list_field, options_of, places_at, tags_of

MAX_ROUNDS = 5
BRACKETS_BEHIND = re.compile(r"[(（\[【][^()（）\[\]【】]{0,60}[)）\]】]\s*$")
LISTS = ("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type")


def fit(value: Any, target: Target, text: str, *, allowed: bool = True) -> tuple[Any, tuple[Repair, ...]]:
    """Validate plain data, repaired where that loses nothing; return the object and the repairs.

    Raises the first ValidationError (or ValueError) when it cannot be repaired.
    """
    try:
        return target.validate(value), ()
    except ValueError as error:
        first = error
    if not allowed or not isinstance(value, (dict, list, str, int, float)):
        raise first
    try:
        # A copy, which also says as JSON what a library's tool call may hold besides (dates, sets).
        copied = json.loads(to_json(value, inf_nan_mode="constants")) if isinstance(value, (dict, list)) else value
    except (ValueError, TypeError, RecursionError):
        raise first from None
    return _Fitting(copied, target, text).run(first)


@dataclass(slots=True)
class _Spot:
    """A place in the data that an error points to."""

    parent: Any
    key: str | int
    item: Any
    path: Path
    in_union: bool
    places: list[Place]
    """The fields of the wanted type that it may be."""

    @property
    def annotations(self) -> list[Any]:
        """What it may be validated as."""
        return [place.annotation for place in self.places]


class _Fitting:
    """One value, a copy, on its way to being valid."""

    def __init__(self, value: Any, target: Target, text: str) -> None:
        self.box = [value]
        self.target, self.text = target, text
        self.repairs: list[Repair] = []
        self.units: dict[Path, str] = {}

    @cached_property
    def floats(self) -> dict[float, str]:
        """How the text writes its decimal numbers."""
        written: dict[float, str] = {}
        for found in remedies.FLOAT_IN_TEXT.findall(self.text):
            value = float(found.replace("_", ""))
            # One that is written in two ways is written as Python does.
            written[value] = found if written.get(value, found) == found else repr(value)
        return written

    def run(self, first: ValueError) -> tuple[Any, tuple[Repair, ...]]:
        """Repair and validate in rounds until the value is valid or nothing more can be repaired.

        A round applies at most one remedy per place.
        """
        error: ValueError = first
        for _ in range(MAX_ROUNDS):
            if isinstance(error, ValidationError):
                touched: set[Path] = set()
                for problem in error.errors(include_url=False, include_input=False):
                    spot = self._locate(problem["loc"])
                    if spot.path not in touched and self._remedy(problem["type"], spot, problem.get("ctx", {})):
                        touched.add(spot.path)
                changed = bool(touched)
            else:
                changed = self._rename((), self.box[0])
            if not changed:
                break
            try:
                return self.target.validate(self.box[0]), tuple(self.repairs)
            except ValidationError as still_wrong:
                error = still_wrong
        raise first

    def _locate(self, loc: tuple[int | str, ...]) -> _Spot:
        """Walk an error's location through the data, stepping over the names of union members."""
        parent: Any = self.box
        key: str | int = 0
        item: Any = self.box[0]
        path: list[str | int] = []
        for step in loc:
            in_list = isinstance(item, list) and isinstance(step, int) and step < len(item)
            if in_list or (isinstance(item, dict) and step in item):
                parent, key, item = item, step, item[step]
                path.append(step)
        places = places_at(self.target.wanted, path)
        return _Spot(parent, key, item, tuple(path), len(path) < len(loc), places)

    def _remedy(self, kind: str, spot: _Spot, context: Mapping[str, Any]) -> bool:
        """Apply the remedy for one kind of error; return True when the data changed."""
        if kind in ("missing", "missing_argument"):
            return self._rename(spot.path, spot.item)
        if kind == "extra_forbidden":
            return self._rename(spot.path[:-1], spot.parent)
        if any(place.strict for place in spot.places):
            return False
        if spot.item is None:  # a null is left out where the field has a default but takes none
            optional = isinstance(spot.parent, dict) and bool(spot.places) and not any(p.required for p in spot.places)
            if optional:
                del spot.parent[spot.key]
                self.repairs.append(Repair("null", "null where a value is optional: the default is used", spot.path))
            return optional
        if kind.startswith("union_tag_"):
            return self._tag(kind, spot, context)
        found = next((remedy(self, spot) for kinds, remedy in REMEDIES if kind.startswith(kinds)), None)
        return found is not None and self._set(spot, *found, kind.split("_", maxsplit=1)[0])

    def _set(self, spot: _Spot, new: Any, why: str, kind: str) -> bool:
        """Put a new value in its place and note it."""
        if type(new) is type(spot.item) and new == spot.item:
            return False
        spot.parent[spot.key] = new
        self.repairs.append(Repair(kind, why, spot.path, spot.item, new))
        return True

    def _number(self, spot: _Spot) -> Remedied:
        """Return a number; refuse units that differ within one list."""
        said = " ".join(f"{place.names[0]} {place.title} {place.description}" for place in spot.places)
        found = remedies.number(spot.item, frozenset(said.replace("_", " ").casefold().split()))
        if found is None:
            return None
        new, unit, why = found
        pattern = tuple("*" if isinstance(step, int) else step for step in spot.path)
        return (new, why) if self.units.setdefault(pattern, unit) == unit else None

    def _object(self, spot: _Spot) -> Remedied:
        """Make an object of text, of a list of one, or of the list that is a model's only field."""
        if isinstance(spot.item, list) and len(spot.item) != 1:
            name = next(filter(None, map(only_list_field, spot.annotations)), "")
            if name:
                return {name: spot.item}, f"the list is the model's only field {name}"
        return remedies.as_object(spot.item)

    def _rename(self, path: Path, data: Any) -> bool:
        """Give keys written in another style (`First Name`, `maxResults`) the name of their field."""
        if not isinstance(data, dict):
            return False
        before = len(self.repairs)
        for place in places_at(self.target.wanted, path):
            fields = named_fields(place.annotation)
            names = {field.key: {fold(name) for name in (*field.names, field.title)} - {""} for field in fields}
            wanted = names.keys() - data.keys()
            for old in [key for key in data if key not in names]:
                bare = BRACKETS_BEHIND.sub("", old)
                fits = [field for field in wanted if not names[field].isdisjoint((fold(old), fold(bare)))]
                if len(fits) == 1:
                    new = fits[0]
                    wanted.discard(new)
                    items = [(new if key == old else key, item) for key, item in data.items()]
                    data.clear()
                    data.update(items)
                    why = "the key is the field's name in another style"
                    self.repairs.append(Repair("key", why, (*path, new), old, new))
        return len(self.repairs) > before

    def _tag(self, kind: str, spot: _Spot, context: Mapping[str, Any]) -> bool:
        """Match the tag of a discriminated union by label; supply a missing one where one member alone fits."""
        tag = str(context.get("discriminator", "")).strip("'")
        if not isinstance(spot.item, dict) or (tag in spot.item) != (kind == "union_tag_invalid"):
            return False
        if tag in spot.item:
            names = [name.strip("'") for name in str(context.get("expected_tags", "")).split(", ")]
            found = remedies.label(spot.item[tag], [(name, name) for name in names])
            inner = _Spot(spot.item, tag, spot.item[tag], (*spot.path, tag), False, [])
            return found is not None and self._set(inner, *found, "label")
        if not tag.isidentifier():
            return False
        fits = []
        options = [option for annotation in spot.annotations for option in options_of(annotation)]
        for option in options:
            for choice in tags_of(option, tag):
                with suppress(ValueError):
                    TypeAdapter(option).validate_json(json.dumps({**spot.item, tag: choice}))
                    fits.append(choice)
        if len(fits) != 1:
            return False
        spot.item[tag] = fits[0]
        why = "the tag is missing and only one member of the union fits"
        self.repairs.append(Repair("tag", why, (*spot.path, tag), None, fits[0]))
        return True


REMEDIES: tuple[tuple[tuple[str, ...], Callable[[_Fitting, _Spot], Remedied]], ...] = (
    (("int_", "float_", "decimal_", "finite_"), _Fitting._number),
    (("bool_",), lambda _fitting, spot: remedies.truth(spot.item)),
    (("enum", "literal_error"), lambda _fitting, spot: remedies.label(spot.item, labels_of(spot.annotations))),
    (("string_type",), lambda fitting, spot: remedies.as_text(spot.item, fitting.floats, in_union=spot.in_union)),
    (("date_", "datetime_", "time_"), lambda _fitting, spot: remedies.date(spot.item)),
    (LISTS, lambda _fitting, spot: remedies.as_list(spot.item)),
    (("model_", "dict_type", "dataclass_", "mapping_type", "typed_dict"), _Fitting._object),
)
"""By the beginning of an error's type, what makes the value fit."""
