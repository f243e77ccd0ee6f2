"""Differences in words: data against a model at any depth, and one schema against another; English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from theworld.structure.schemas.model_schema import accepts, branches, expected_types, json_schema, resolve

MAX_LINES = 200
WORDS: dict[str, dict[str, str]] = {
    "en": {
        "missing": "{path} is required but missing ({expected}).",
        "extra": "{path} is not a field of the model.",
        "type": "{path} should be {expected} but is {actual}: {value}.",
        "choice": "{path} should be one of {expected} but is {value}.",
        "added": "{path} was added ({expected}, {need}).",
        "removed": "{path} was removed.",
        "changed": "{path} changed from {was} to {became}.",
        "now-required": "{path} is now required.",
        "now-optional": "{path} is now optional.",
        "choices": "{path} now allows {became} instead of {was}.",
        "required": "required",
        "optional": "optional",
        "root": "the value",
    },
    "zh": {
        "missing": "缺少必填字段 {path}（{expected}）。",
        "extra": "{path} 不是模型的字段。",
        "type": "{path} 应为 {expected}，实际是 {actual}：{value}。",
        "choice": "{path} 应为 {expected} 之一，实际是 {value}。",
        "added": "新增 {path}（{expected}，{need}）。",
        "removed": "删除了 {path}。",
        "changed": "{path} 由 {was} 改为 {became}。",
        "now-required": "{path} 现在是必填的。",
        "now-optional": "{path} 现在是可选的。",
        "choices": "{path} 的取值由 {was} 改为 {became}。",
        "required": "必填",
        "optional": "可选",
        "root": "该值",
    },
}


def explain_data(data: Any, model: Any, *, language: str = "en") -> list[str]:
    """Return one sentence for each difference between plain data and a model, at any depth."""
    schema = json_schema(model)
    words = _words(language)
    lines: list[str] = []
    for line in _against(data, schema, schema, "", words):
        lines.append(line)
        if len(lines) >= MAX_LINES:
            break
    return lines


def explain_schemas(old: Any, new: Any, *, language: str = "en") -> list[str]:
    """Return one sentence for each difference between two models, or two JSON Schemas given as dicts."""
    before, after = (item if isinstance(item, Mapping) else json_schema(item) for item in (old, new))
    return list(_between(_Side(before, before), _Side(after, after), "", _words(language), frozenset()))[:MAX_LINES]


def _words(language: str) -> dict[str, str]:
    key = {"cn": "zh"}.get(language, language)
    if key not in WORDS:
        raise ValueError(f"unknown language {language!r}: use 'en' or 'zh'")
    return WORDS[key]


def _join(path: str, step: str | int) -> str:
    return f"{path}.{step}" if path else str(step)


def _against(
    data: Any, part: Mapping[str, Any], root: Mapping[str, Any], path: str, words: Mapping[str, str]
) -> Iterator[str]:
    """Walk data and schema together; the data's own depth bounds the walk."""
    if not accepts(data, part, root):
        yield _mismatch(data, part, root, path, words)
        return
    options = [option for option in branches(part, root) if accepts(data, option, root)]
    if isinstance(data, dict):
        option = _closest(data, options)
        properties: Mapping[str, Any] = option.get("properties", {})
        for name in option.get("required", []):
            if name not in data:
                expected = expected_types(properties.get(name, {}), root)
                yield words["missing"].format(path=_join(path, name), expected=expected)
        for name, item in data.items():
            if name in properties:
                yield from _against(item, properties[name], root, _join(path, name), words)
            elif isinstance(option.get("additionalProperties"), Mapping):
                yield from _against(item, option["additionalProperties"], root, _join(path, name), words)
            elif properties:
                yield words["extra"].format(path=_join(path, name))
    elif isinstance(data, list):
        items = next((option["items"] for option in options if isinstance(option.get("items"), Mapping)), None)
        for index, item in enumerate(data if items else []):
            yield from _against(item, items or {}, root, _join(path, index), words)


def _closest(data: Mapping[str, Any], options: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the alternative that shares most fields with the data."""
    return max(options, key=lambda option: len(set(data) & set(option.get("properties", {}))), default={})


def _mismatch(data: Any, part: Mapping[str, Any], root: Mapping[str, Any], path: str, words: Mapping[str, str]) -> str:
    choices = [c for option in branches(part, root) for c in _choices(option)]
    value = repr(data) if len(repr(data)) <= 60 else f"{repr(data)[:59]}…"
    kind = "choice" if choices else "type"
    expected = ", ".join(map(str, choices)) if choices else expected_types(part, root)
    return words[kind].format(path=path or words["root"], expected=expected, actual=type(data).__name__, value=value)


def _choices(part: Mapping[str, Any]) -> list[Any]:
    return list(part.get("enum", [part["const"]] if "const" in part else []))


@dataclass(frozen=True, slots=True)
class _Side:
    """A part of a schema and the whole it belongs to."""

    part: Mapping[str, Any]
    root: Mapping[str, Any]

    @property
    def types(self) -> str:
        return expected_types(self.part, self.root)

    def of(self, part: Mapping[str, Any]) -> _Side:
        return _Side(part, self.root)


def _between(
    old: _Side, new: _Side, path: str, words: Mapping[str, str], seen: frozenset[tuple[Any, Any]]
) -> Iterator[str]:
    """Walk two schemas together; a pair of references seen before is not entered again."""
    pair = (old.part.get("$ref"), new.part.get("$ref"))
    if pair != (None, None):
        if pair in seen:
            return
        seen = seen | {pair}
    was, became = old.types, new.types
    if was != became:
        yield words["changed"].format(path=path or words["root"], was=was, became=became)
    old, new = old.of(resolve(old.part, old.root)), new.of(resolve(new.part, new.root))
    if _choices(old.part) != _choices(new.part) and was == became:
        yield words["choices"].format(path=path, was=_choices(old.part), became=_choices(new.part))
    yield from _properties(old, new, path, words, seen)
    before, after = old.part.get("items"), new.part.get("items")
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _between(old.of(before), new.of(after), f"{path}[]", words, seen)


def _properties(
    old: _Side, new: _Side, path: str, words: Mapping[str, str], seen: frozenset[tuple[Any, Any]]
) -> Iterator[str]:
    before, after = old.part.get("properties", {}), new.part.get("properties", {})
    was_required, is_required = set(old.part.get("required", [])), set(new.part.get("required", []))
    for name in [*before, *(name for name in after if name not in before)]:
        where = _join(path, name)
        if name not in after:
            yield words["removed"].format(path=where)
        elif name not in before:
            need = words["required" if name in is_required else "optional"]
            yield words["added"].format(path=where, expected=new.of(after[name]).types, need=need)
        else:
            if (name in was_required) != (name in is_required):
                yield words["now-required" if name in is_required else "now-optional"].format(path=where)
            yield from _between(old.of(before[name]), new.of(after[name]), where, words, seen)
