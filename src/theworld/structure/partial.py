"""Usable objects from a text that is still being written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from theworld.structure.fitting.annotations import options_of
from theworld.structure.fitting.coercion import fit
from theworld.structure.fitting.targets import Target, target_of
from theworld.structure.reading.streaming import StreamReader
from theworld.structure.report import alias_names

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Partial(Generic[T]):
    """What can be said of the object so far."""

    value: T | None
    """The object: finished fields validated, the string being written so far, missing fields None or default.

    None as long as no object has begun.
    """
    complete: frozenset[str]
    """Dotted paths of the fields that will not change any more, beside and above the one being written."""
    data: Any
    """The plain data read so far."""
    done: bool
    """True when the object is closed; `value` is then fully validated, or as far as that was possible."""


class PartialParser(Generic[T]):
    """Feeds on a stream of text. Each character is walked once; `snapshot` reads the open value anew."""

    def __init__(self, model: type[T]) -> None:
        self._target: Target = target_of(model)
        self._reader = StreamReader()
        self._built: dict[tuple[str | int, ...], Any] = {}
        self._chosen = -1

    def feed(self, piece: str) -> PartialParser[T]:
        """Take the next piece; returns itself. Raises ValueError below 200 levels of nesting."""
        self._reader.feed(piece)
        return self

    def snapshot(self) -> Partial[T]:
        """Return the object so far."""
        reader, fields = self._reader, self._target.fields
        data = reader.data() if reader.stack else None
        roots = [*reader.finished, *([data] if reader.stack else [])]
        if not roots:
            return Partial(None, frozenset(), None, False)
        chosen = next((i for i in reversed(range(len(roots))) if _has_field(roots[i], fields)), len(roots) - 1)
        if chosen != self._chosen:
            self._chosen, self._built = chosen, {}
        root = roots[chosen]
        if chosen < len(reader.finished):
            return Partial(self._finished(root), _all_keys(root), root, True)
        complete = reader.complete(root)
        value = self._build(self._target.wanted, root, (), complete)
        return Partial(value, frozenset(".".join(map(str, path)) for path in complete), root, False)

    def _finished(self, root: Any) -> Any:
        try:
            return fit(root, self._target, "")[0]
        except (ValueError, RecursionError):
            return self._build(self._target.wanted, root, (), set())

    def _build(self, wanted: Any, data: Any, path: tuple[str | int, ...], complete: set[tuple[str | int, ...]]) -> Any:
        """Return the object for plain data: validated where complete, constructed where not."""
        if path in complete:
            if path not in self._built:
                self._built[path] = _validated(wanted, data)
            return self._built[path]
        for option in options_of(wanted):
            if isinstance(data, dict) and isinstance(option, type) and issubclass(option, BaseModel):
                return self._construct(option, data, path, complete)
            if isinstance(data, list) and getattr(option, "__origin__", None) in (list, tuple, set):
                inner = option.__args__[0]
                return [self._build(inner, item, (*path, index), complete) for index, item in enumerate(data)]
        return data

    def _construct(
        self,
        model: type[BaseModel],
        data: dict[str, Any],
        path: tuple[str | int, ...],
        complete: set[tuple[str | int, ...]],
    ) -> Any:
        """Return a model without validation as a whole: fields that have not come yet are None or their default."""
        values: dict[str, Any] = {}
        for name, info in model.model_fields.items():
            key = next((key for key in (name, *alias_names(info)) if key in data), None)
            if key is not None:
                values[name] = self._build(info.annotation, data[key], (*path, key), complete)
        missing = {name: None for name, info in model.model_fields.items() if info.is_required() and name not in values}
        return model.model_construct(_fields_set=set(values), **values, **missing)


def parse_partial(text_so_far: str, model: type[T]) -> Partial[T]:
    """Return the object that an unfinished text holds so far, and which of its fields are complete.

    For a stream, keep one `PartialParser` and feed it the pieces.
    """
    return PartialParser(model).feed(text_so_far).snapshot()


def _validated(wanted: Any, data: Any) -> Any:
    """Return a complete member validated; as it stands when it does not validate."""
    try:
        return fit(data, target_of(wanted), "")[0]
    except (ValueError, RecursionError):
        return data


def _all_keys(root: Any) -> frozenset[str]:
    keys = root if isinstance(root, dict) else range(len(root))
    return frozenset(map(str, keys))


def _has_field(root: Any, fields: frozenset[str]) -> bool:
    return not fields or (isinstance(root, dict) and not fields.isdisjoint(root))
