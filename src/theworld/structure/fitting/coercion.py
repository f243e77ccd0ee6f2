"""Plain data fitted to a model: pydantic names what is wrong where, and each kind of error has one lossless remedy.

A number with a thousands separator becomes a number, a label becomes its enum member, a lone item becomes a list, a key
in another style finds its field. What would lose or invent something is left alone, and validation fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from theworld.structure.fitting import remedies
from theworld.structure.fitting.annotations import names_of, options_of, places_at
from theworld.structure.fitting.labels import fold, fold_key
from theworld.structure.fitting.targets import Target
from theworld.structure.report import Path, Repair

MAX_ROUNDS = 5
REFUSED = remedies.REFUSED


def fit(value: Any, target: Target, text: str, *, allowed: bool = True) -> tuple[Any, tuple[Repair, ...], Any]:
    """Validate plain data, repaired where that loses nothing; return the object, the repairs and the repaired data.

    Raises the first ValidationError (or ValueError) when it cannot be repaired.
    """
    try:
        return target.validate(value), (), value
    except ValidationError as error:
        first: ValueError = error
    except ValueError as error:
        first = error
    if not allowed or not isinstance(value, (dict, list, str, int, float)):
        raise first
    try:
        copied = _copy(value)
    except (ValueError, TypeError, RecursionError):
        raise first from None
    return _Fitting(copied, target, text).run(first)


@dataclass(slots=True)
class _Spot:
    """A place in the data that an error points to."""

    parent: Any
    key: str | int | None
    item: Any
    path: Path
    in_union: bool


class _Fitting:
    """One value, a copy, on its way to being valid."""

    def __init__(self, value: Any, target: Target, text: str) -> None:
        self.box = [value]
        self.target, self.text = target, text
        self.repairs: list[Repair] = []
        self.units: dict[Path, str] = {}
        self.floats: dict[float, str] | None = None

    def run(self, first: ValueError) -> tuple[Any, tuple[Repair, ...], Any]:
        """Repair and validate in rounds until the value is valid or nothing more can be repaired."""
        error: ValueError = first
        for _ in range(MAX_ROUNDS):
            changed = self._round(error) if isinstance(error, ValidationError) else self._rename((), self.box[0])
            if not changed:
                break
            try:
                return self.target.validate(self.box[0]), tuple(self.repairs), self.box[0]
            except ValidationError as problem:
                error = problem
        raise first

    def _round(self, error: ValidationError) -> bool:
        """Apply at most one remedy per place; return True when anything changed."""
        touched: set[Path] = set()
        changed = False
        for problem in error.errors(include_url=False, include_input=False):
            spot = self._locate(problem["loc"])
            if spot.path in touched:
                continue
            if self._remedy(problem["type"], spot, problem):
                touched.add(spot.path)
                changed = True
        return changed

    def _locate(self, loc: tuple[int | str, ...]) -> _Spot:
        """Walk an error's location through the data, stepping over the names of union members."""
        parent: Any = self.box
        key: str | int = 0
        item: Any = self.box[0]
        in_union = False
        path: list[str | int] = []
        for step in loc:
            if (isinstance(item, dict) and step in item) or (
                isinstance(item, list) and isinstance(step, int) and step < len(item)
            ):
                parent, key = item, step
                item = parent[step]
                path.append(step)
            else:
                in_union = True
        return _Spot(parent, key, item, tuple(path), in_union)

    def _remedy(self, kind: str, spot: _Spot, problem: Mapping[str, Any]) -> bool:
        """Apply the remedy for one kind of error; return True when the data changed."""
        if kind in ("missing", "extra_forbidden", "missing_argument"):
            path = spot.path[:-1] if kind == "extra_forbidden" else spot.path
            return self._rename(path, spot.parent if kind == "extra_forbidden" else spot.item)
        if any(place.strict for place in places_at(self.target.wanted, spot.path)):
            return False
        if spot.item is None:
            return self._drop_null(spot)
        if kind.startswith("union_tag_"):
            tagging = self._retag if kind == "union_tag_invalid" else self._infer_tag
            return tagging(spot, problem.get("ctx", {}))
        for prefixes, remedy in self._table():
            if kind.startswith(prefixes):
                new, why = remedy(spot)
                return new is not REFUSED and self._set(spot, new, kind, why)
        return False

    def _table(self) -> tuple[tuple[tuple[str, ...], Callable[[_Spot], tuple[Any, str]]], ...]:
        """Return which remedy belongs to which errors."""
        return (
            (("int_from_float",), lambda _spot: (REFUSED, "")),
            (("int_", "float_", "decimal_", "finite_"), self._number),
            (("bool_",), lambda spot: remedies.truth(spot.item)),
            (("enum", "literal_error"), self._label),
            (("string_type",), lambda spot: remedies.as_text(spot.item, self._written, spot.in_union)),
            (("date_", "datetime_", "time_"), lambda spot: remedies.date(spot.item)),
            (("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), self._list),
            (("model_", "dict_type", "dataclass_", "mapping_type", "typed_dict"), self._object),
        )

    def _set(self, spot: _Spot, new: Any, kind: str, why: str) -> bool:
        """Put a new value in its place and note it."""
        if type(new) is type(spot.item) and new == spot.item:
            return False
        spot.parent[spot.key] = new
        self.repairs.append(Repair(kind.split("_", maxsplit=1)[0], why, spot.path, spot.item, new))
        return True

    def _written(self, number: float) -> str:
        """Return a decimal number as it stands in the text."""
        if self.floats is None:
            self.floats = remedies.floats_in(self.text)
        return self.floats.get(number, repr(number))

    def _number(self, spot: _Spot) -> tuple[Any, str]:
        words: set[str] = set()
        for place in places_at(self.target.wanted, spot.path):
            words |= place.words
        new, unit, why = remedies.number(spot.item, frozenset(words))
        if new is REFUSED:
            return REFUSED, ""
        pattern = tuple("*" if isinstance(step, int) else step for step in spot.path)
        if self.units.setdefault(pattern, unit) != unit:
            return REFUSED, ""
        return new, why

    def _label(self, spot: _Spot) -> tuple[Any, str]:
        places = places_at(self.target.wanted, spot.path)
        return remedies.label(spot.item, [place.annotation for place in places])

    def _list(self, spot: _Spot) -> tuple[Any, str]:
        return remedies.as_list(spot.item)

    def _object(self, spot: _Spot) -> tuple[Any, str]:
        """Make an object of text, of a list of one, or of the list that is a model's only field."""
        if isinstance(spot.item, list) and len(spot.item) != 1:
            for place in places_at(self.target.wanted, spot.path):
                name = remedies.only_list_field(place.annotation)
                if name:
                    return {name: spot.item}, f"the list is the model's only field {name}"
        return remedies.as_object(spot.item)

    def _drop_null(self, spot: _Spot) -> bool:
        """Leave out a null where the field has a default but takes no null."""
        if not isinstance(spot.parent, dict):
            return False
        places = places_at(self.target.wanted, spot.path)
        if not places or not all(place.has_default for place in places):
            return False
        del spot.parent[spot.key]
        self.repairs.append(
            Repair("null", "null where a value is optional: the default is used", spot.path, None, None)
        )
        return True

    def _rename(self, path: Path, data: Any) -> bool:
        """Give keys written in another style (`First Name`, `maxResults`) the name of their field."""
        if not isinstance(data, dict):
            return False
        changed = False
        for place in places_at(self.target.wanted, path):
            names = names_of(place.annotation)
            wanted = {key for key in names if key not in data}
            for key in [key for key in data if key not in names]:
                fits = [field for field in wanted if _same_name(key, names[field])]
                if len(fits) == 1:
                    self._move(data, key, fits[0], path)
                    wanted.discard(fits[0])
                    changed = True
        return changed

    def _move(self, data: dict[str, Any], old: str, new: str, path: Path) -> None:
        """Rename a key in its place."""
        items = [(new if key == old else key, item) for key, item in data.items()]
        data.clear()
        data.update(items)
        self.repairs.append(Repair("key", "the key is the field's name in another style", (*path, new), old, new))

    def _retag(self, spot: _Spot, context: Mapping[str, Any]) -> bool:
        """Match the tag of a discriminated union by label."""
        tag = str(context.get("discriminator", "")).strip("'")
        if not isinstance(spot.item, dict) or tag not in spot.item:
            return False
        expected = str(context.get("expected_tags", "")).split(", ")
        labels = [(name.strip("'"), name.strip("'")) for name in expected]
        new, why = remedies.label_among(spot.item[tag], labels)
        inner = _Spot(spot.item, tag, spot.item[tag], (*spot.path, tag), False)
        return new is not REFUSED and self._set(inner, new, "label", why)

    def _infer_tag(self, spot: _Spot, context: Mapping[str, Any]) -> bool:
        """Supply a missing tag when exactly one member of the union accepts the object."""
        tag = str(context.get("discriminator", "")).strip("'")
        if not isinstance(spot.item, dict) or not tag.isidentifier() or tag in spot.item:
            return False
        fits: list[Any] = []
        for place in places_at(self.target.wanted, spot.path):
            for option in options_of(place.annotation):
                choices = remedies.tags_of(option, tag)
                fits += [choice for choice in choices if remedies.accepts(option, {**spot.item, tag: choice})]
        if len(fits) != 1:
            return False
        spot.item[tag] = fits[0]
        why = "the tag is missing and only one member of the union fits"
        self.repairs.append(Repair("tag", why, (*spot.path, tag), None, fits[0]))
        return True


def _same_name(key: str, names: tuple[str, ...]) -> bool:
    """Return True when a key is one of a field's names in another style."""
    folded = {fold(name) for name in names if name}
    return bool(fold(key)) and (fold(key) in folded or fold_key(key) in folded)


def _copy(value: Any) -> Any:
    """Copy plain data, and what a library's tool call may hold besides (dates, sets) as JSON says it.

    Raises ValueError (as which pydantic_core's errors count) or TypeError for what JSON cannot say.
    """
    return json.loads(to_json(value, inf_nan_mode="constants")) if isinstance(value, (dict, list)) else value
