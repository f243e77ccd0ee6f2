"""Where settings come from: arguments > environment > .env > theworld.toml > defaults, and the origin of each value.

Everything here is generic over the settings class, so that the sections stay plain tables of names and ranges.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, DotEnvSettingsSource, InitSettingsSource

from theworld.errors import SettingsError, did_you_mean

S = TypeVar("S", bound=BaseSettings)
OriginKind = Literal["default", "file", "environment", "argument"]
OPENAI_VARIABLES = {"model.base_url": "OPENAI_BASE_URL", "model.api_key": "OPENAI_API_KEY"}
"""Settings that fall back to the variables every OpenAI client reads."""

_FOR_TESTS = "TEST_"
"""Variables that go on like this are for the project's own tests: which servers they use."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the effective value of a setting came from."""

    kind: OriginKind
    """The layer that decided."""
    where: str = ""
    """The variable or file, empty for defaults and arguments."""

    def __str__(self) -> str:
        return f"{self.kind} {self.where}".strip()


DEFAULT, ARGUMENT = Origin("default"), Origin("argument")


Layers = tuple[Mapping[str, Origin], ...]
"""What each source sets, highest rank first: dotted name -> origin."""


class OpenAIVariables(InitSettingsSource):
    """The source of least rank but the defaults: OPENAI_BASE_URL and OPENAI_API_KEY of environment or .env."""

    def __call__(self) -> dict[str, Any]:
        """Return the nested values found."""
        known = {**_dotenv(self.config.get("env_file")), **os.environ}
        found: dict[str, Any] = {}
        for setting, name in OPENAI_VARIABLES.items():
            section, _, field = setting.partition(".")
            if known.get(name) and f"{field}_file" not in self.current_state.get(section, {}):
                found.setdefault(section, {})[field] = known[name]
        return found


def read_settings(cls: type[S], arguments: Mapping[str, Any]) -> tuple[S, dict[str, Origin]]:
    """Return the effective settings and the origin of every leaf; a wrong or unknown one is a SettingsError."""
    given: dict[str, Any] = {
        name: value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
        for name, value in arguments.items()
        if value is not None
    }
    layers = _layers(cls, given)
    settings = cls(**given)
    origins: dict[str, Origin] = {}
    for name, _ in leaves(cls):
        names = (name, f"{name}_file")  # a secret may lie in a file
        origins[name] = next((layer[one] for layer in layers for one in names if one in layer), DEFAULT)
    return settings, origins


def refused(cls: type[BaseSettings], error: ValueError, arguments: Mapping[str, Any]) -> SettingsError:
    """Return what is wrong with settings in plain words, where each value came from among them."""
    if isinstance(error, ValidationError):
        layers = _layers(cls, arguments)
        first, *further = [_explain(cls, problem, layers) for problem in error.errors()]
        rest = "".join(f" Also {problem.where}: {problem.what} {problem.remedy}" for problem in further)
        return SettingsError(first.what, where=first.where, remedy=first.remedy + rest)
    # a section of a variable that is no JSON object
    sections = [name for name, field in cls.model_fields.items() if section_of(field) and f'"{name}"' in str(error)]
    name = variable(cls.model_config.get("env_prefix") or "", sections[0]) if sections else "environment"
    return SettingsError(
        "must be a JSON object, or be given name by name.",
        where=name,
        remedy=f"Write for example {name}__NAME=value, or see `theworld info` for the names.",
    )


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield the dotted name and the field of every setting that is not a section."""
    for name, field in model.model_fields.items():
        section = section_of(field)
        if section is None:
            yield prefix + name, field
        else:
            yield from leaves(section, f"{prefix}{name}.")


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section a field holds, None for a plain value."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def is_secret(field: FieldInfo) -> bool:
    """Return whether a field holds a secret, which is never shown and may lie in a file."""
    return SecretStr in (field.annotation, *get_args(field.annotation))


def variable(prefix: str, setting: str) -> str:
    """Return the environment variable of a setting: `retrieval.top_k` -> `THEWORLD_RETRIEVAL__TOP_K`."""
    return prefix + setting.replace(".", "__").upper()


def allowed(field: FieldInfo) -> str:
    """Say in words which values a field takes: its range, its choices, or its type."""
    if get_origin(field.annotation) is Literal:
        return "one of " + ", ".join(map(str, get_args(field.annotation)))
    limits = {name: getattr(limit, name) for limit in field.metadata for name in _LIMITS if hasattr(limit, name)}
    kind = "a table" if get_origin(field.annotation) is dict else _TYPE_NAMES.get(field.annotation, "text")
    return f"{kind} {' and '.join(f'{_LIMITS[name]} {limit}' for name, limit in limits.items())}".strip()


_LIMITS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_TYPE_NAMES: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}


def _names(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def _layers(cls: type[BaseSettings], arguments: Mapping[str, Any]) -> Layers:
    """Return what each source sets.

    Variables with the prefix whose first part is no setting are refused; pydantic refuses those further in.
    """
    config = cls.model_config
    prefix, dotenv_path = config.get("env_prefix") or "", str(config.get("env_file") or "")
    file_path = str(config.get("toml_file") or "")
    dotenv = _dotenv(dotenv_path)
    toml: dict[str, Any] = {}
    if file_path and Path(file_path).is_file():
        try:
            toml = tomllib.loads(Path(file_path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(
                f"is not a readable TOML file: {error}.", where=file_path, remedy="Fix or remove the file."
            ) from error
    every = [variable(prefix, leaf) for leaf, _ in leaves(cls)]
    for values, place in ((os.environ, ""), (dotenv, f"{dotenv_path}: ")):
        for setting, name in _variables(values, prefix):
            if setting.partition(".")[0] not in cls.model_fields:
                raise SettingsError("is no setting of this program.", where=place + name, remedy=_nearest(name, every))
    return (
        dict.fromkeys(_names(arguments), ARGUMENT),
        {setting: Origin("environment", name) for setting, name in _variables(os.environ, prefix)},
        {setting: Origin("file", f"{dotenv_path} ({name})") for setting, name in _variables(dotenv, prefix)},
        dict.fromkeys(_names(toml), Origin("file", file_path)),
        {
            setting: Origin("environment", name) if os.environ.get(name) else Origin("file", f"{dotenv_path} ({name})")
            for setting, name in OPENAI_VARIABLES.items()
            if os.environ.get(name) or dotenv.get(name)
        },
    )


def _variables(values: Mapping[str, str], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield (dotted setting, variable) for every variable with the prefix; JSON objects are opened."""
    for name, value in values.items():
        if name.upper().startswith(prefix) and not name.upper().startswith(f"{prefix}{_FOR_TESTS}") and value:
            setting = name[len(prefix) :].lower().replace("__", ".")
            inside: list[str] = []
            if value.lstrip().startswith("{"):
                with suppress(ValueError):
                    inside = list(_names(json.loads(value), f"{setting}."))
            yield from ((each, name) for each in inside or [setting])


def _dotenv(path: Any) -> dict[str, str]:
    if not path or not Path(path).is_file():
        return {}
    try:
        found = DotEnvSettingsSource(BaseSettings, env_file=path, case_sensitive=True).env_vars
        return {name: value for name, value in found.items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}.", where=str(path), remedy="Save it as UTF-8 text.") from error


def _nearest(name: str, every: list[str]) -> str:
    section, _, last = name.partition(".")
    if section in {"ledger", "sparse", "dense", "graph"} and f"servers.{last}" in every:  # what engines share
        return f"Use servers.{last} instead."
    return did_you_mean(name, every, "`theworld info` lists all settings.")


def _explain(cls: type[BaseSettings], problem: ErrorDetails, layers: Layers) -> SettingsError:
    setting = ".".join(str(part) for part in problem["loc"] if isinstance(part, str)) or "settings"
    known = dict(leaves(cls))
    # Of a section, the first thing given inside it.
    given = [origin for layer in layers for name, origin in layer.items() if f"{name}.".startswith(f"{setting}.")]
    where = (given[0].where if given else "") or f"argument {setting}"
    if problem["type"] == "extra_forbidden":
        return SettingsError(f"{setting} is no setting.", where=where, remedy=_nearest(setting, list(known)))
    field = known.get(setting)
    if field is None or problem["type"] == "value_error":
        reason = problem["msg"].removeprefix("Value error, ")
        return SettingsError(f"{setting} is wrong: {reason}.", where=where)
    shown = "(hidden)" if is_secret(field) else repr(problem["input"])
    return SettingsError(f"{setting} is {shown}.", where=where, remedy=f"Allowed: {allowed(field)}.")
