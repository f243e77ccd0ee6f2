"""Prompt templates, one .md file per task and language."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from theworld.errors import SettingsError

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


@cache
def load_prompt(task: str, language: str) -> str:
    """Return the template of a task in a language (`en` or `zh`), as written in prompts/{task}.{language}.md."""
    name = f"{task}.{language}.md"
    if not re.fullmatch(r"\w+\.(en|zh)\.md", name):
        raise SettingsError(f"{task!r} in {language!r} is not the name of a prompt.", where="prompts")
    file = resources.files("theworld.prompts").joinpath(name)
    if not file.is_file():
        raise SettingsError(f"there is no prompt {name}.", where="prompts", remedy="Add the file to prompts/.")
    return file.read_text(encoding="utf-8").strip()


def fill_prompt(template: str, **values: str) -> str:
    """Return the template with every ${name} replaced once; values are never scanned for placeholders themselves.

    Raises SettingsError when a placeholder has no value or a value no placeholder.
    """
    wanted = set(_PLACEHOLDER.findall(template))
    if wanted != set(values):
        raise SettingsError(f"the template wants {sorted(wanted)} and got {sorted(values)}.", where="prompts")
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


def harmless(text: str, tag: str) -> str:
    """Return a text in which nothing looks like the delimiters `<tag>` and `</tag>` that a prompt puts around it."""
    return _mark(tag).sub(rf"‹\1{tag}", text)


@cache
def _mark(tag: str) -> re.Pattern[str]:
    return re.compile(rf"[<＜﹤]\s*([/／]?)\s*{re.escape(tag)}", re.IGNORECASE)
