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
    """Feeds on a stream of text. Each character is read once; `snapshot` costs what the open part costs."""

    def __init__(self, model: type[T]) -> None:
        self._target: Target = target_of(model)
        self._reader = StreamReader()
        self._built: dict[tuple[str | int, ...], Any] = {}
        self._root: Any = None

    def feed(self, piece: str) -> PartialParser[T]:
        """Take the next piece; returns itself. Raises ValueError below 200 levels of nesting."""
        self._reader.feed(piece)
        return self

    def snapshot(self) -> Partial[T]:
        """Return the object so far."""
        if not self._reader.roots:
            return Partial(None, frozenset(), None, False)
        root = self._choose()
        if root is not self._root:
            self._root, self._built = root, {}
        current = root is self._reader.roots[-1]
        if self._reader.finished or not current:
            return Partial(self._finished(root), _all_keys(root), root, True)
        data, complete = self._with_text()
        value = self._build(self._target.wanted, data, (), complete)
        return Partial(value, frozenset(".".join(map(str, path)) for path in complete), data, False)

    def _choose(self) -> Any:
        """Return the last value that has a field of the model, else the last."""
        fields = self._target.fields
        for root in reversed(self._reader.roots):
            if not fields or (isinstance(root, dict) and not fields.isdisjoint(root)):
                return root
        return self._reader.roots[-1]

    def _finished(self, root: Any) -> Any:
        try:
            return fit(root, self._target, "")[0]
        except (ValueError, RecursionError):
            return self._build(self._target.wanted, root, (), set())

    def _with_text(self) -> tuple[Any, set[tuple[str | int, ...]]]:
        """Return the data with the string being written in its place, and the paths that are complete."""
        complete: set[tuple[str | int, ...]] = set()
        path: tuple[str | int, ...] = ()
        writing = self._reader.text_in_progress()
        closed = self._reader.string_is_closed()
        frames = list(self._reader.open_path())
        root = self._reader.roots[-1]
        for frame, member in frames:
            keys = list(frame.value) if isinstance(frame.value, dict) else range(len(frame.value))
            complete |= {(*path, key) for key in keys if key != member}
            if member is not None:
                path = (*path, member)
        if writing is None or not frames or frames[-1][1] is None:
            return root, complete
        if closed:
            complete.add(path)
        return _replaced(root, path, writing), complete

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

    For a stream, keep one `PartialParser` and feed it the pieces: the total time is then linear in the text.
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


def _replaced(root: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Return the data with one member set, copying only the containers on the way."""
    copy = dict(root) if isinstance(root, dict) else list(root)
    inner: Any = copy
    for step in path[:-1]:
        inner[step] = dict(inner[step]) if isinstance(inner[step], dict) else list(inner[step])
        inner = inner[step]
    if isinstance(inner, list) and path[-1] == len(inner):
        inner.append(value)
    else:
        inner[path[-1]] = value
    return copy
