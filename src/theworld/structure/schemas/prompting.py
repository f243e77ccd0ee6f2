"""What to tell a model: how to answer in the form of a model class, and how to answer again after an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from theworld.structure.errors import StructureParseError, shorten
from theworld.structure.schemas.model_schema import branches, expected_types, json_schema, resolve

Language = Literal["en", "zh"]
LONGEST_CONTENT = 6000
TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "format": (
            "Answer with one JSON value only, no text before or after it, that follows this JSON Schema:\n"
            "```json\n{schema}\n```\nFields:\n{fields}\n"
            "Use null only where it is allowed, leave out optional fields you do not know, and invent nothing."
        ),
        "field": "- {name} ({type}, {need}){description}",
        "required": "required",
        "optional": "optional",
        "choices": "one of: {choices}",
        "reask": (
            "Your last answer could not be read as {name}.\nWhat was wrong:\n{errors}\n\nYour last answer:\n"
            "{content}\n\nWrite it again, corrected. Keep every value; add nothing that is not in it.\n{format}"
        ),
        "any": "any value",
    },
    "zh": {
        "format": (
            "只用一个 JSON 值回答，前后不要有其他文字，并符合以下 JSON Schema：\n"
            "```json\n{schema}\n```\n字段：\n{fields}\n"
            "只有允许时才用 null；不知道的可选字段请省略；不要编造任何内容。"
        ),
        "field": "- {name}（{type}，{need}）{description}",
        "required": "必填",
        "optional": "可选",
        "choices": "取值之一：{choices}",
        "reask": (
            "上一次的回答无法解析为 {name}。\n问题：\n{errors}\n\n上一次的回答：\n"
            "{content}\n\n请改正后重写。保留所有已有的值，不要添加其中没有的内容。\n{format}"
        ),
        "any": "任意值",
    },
}


def format_instructions(model: Any, *, language: Language | str = "en") -> str:
    """Return instructions that make a language model answer in the form of `model`, in English or Chinese.

    Raises ValueError for another language.
    """
    words = _words(language)
    schema = json_schema(model)
    return words["format"].format(
        schema=json.dumps(schema, ensure_ascii=False), fields="\n".join(_field_lines(schema, words)) or words["any"]
    )


def reask_message(
    error: StructureParseError, model: Any, *, content: str | None = None, language: Language | str = "en"
) -> str:
    """Return a message that shows a model its answer and what was wrong with it, and asks for a correction."""
    words = _words(language)
    errors = "\n".join(f"- {attempt['strategy']}: {shorten(attempt['error'])}" for attempt in error.attempts[:12])
    return words["reask"].format(
        name=getattr(model, "__name__", str(model)),
        errors=errors or f"- {error.what}",
        content=shorten(error.raw_content if content is None else content, LONGEST_CONTENT),
        format=format_instructions(model, language=language),
    )


def _words(language: str) -> dict[str, str]:
    key = {"cn": "zh"}.get(language, language)
    if key not in TEXTS:
        raise ValueError(f"unknown language {language!r}: use 'en' or 'zh'")
    return TEXTS[key]


def _field_lines(schema: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Return one line for each field of the outermost object."""
    root = resolve(schema, schema)
    required = set(root.get("required", []))
    lines = []
    for name, part in root.get("properties", {}).items():
        choices = [str(c) for b in branches(part, schema) for c in b.get("enum", [b["const"]] if "const" in b else [])]
        notes = [part["description"]] if part.get("description") else []
        notes += [words["choices"].format(choices=", ".join(choices))] if choices else []
        lines.append(
            words["field"].format(
                name=name,
                type=expected_types(part, schema),
                need=words["required" if name in required else "optional"],
                description=f": {'; '.join(notes)}" if notes else "",
            )
        )
    return lines
