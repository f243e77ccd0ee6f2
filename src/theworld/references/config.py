"""The resolver's configuration: numbers, both keyword tables, YAML files."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from theworld.errors import ReferenceConfigError
from theworld.references.phrases import LanguageCode, default_mappings
from theworld.state import ReferenceScope, ReferenceType

Mappings = dict[str, dict[str, str]]
"""keyword -> {"scope": ReferenceScope value, "type": ReferenceType value}."""

_TURN_FIELDS = ("last_few_turns", "recent_turns", "session_max_turns")
_TABLES = ("reference_mappings_cn", "reference_mappings_en")
_SECTION = "reference_resolver"


@dataclass
class ReferenceResolverConfig:
    """Settings of a resolver; checked on creation and by every resolver that takes them.

    Raises ReferenceConfigError naming field, value and range.
    """

    last_few_turns: int = 3
    """Turns recalled for "just now"."""
    recent_turns: int = 10
    """Turns recalled for "last time"."""
    session_max_turns: int = 50
    """Most turns recalled of a session."""
    use_llm_fallback: bool = False
    """Ask `llm_resolver` where the rules find nothing or are unsure."""
    llm_fallback_threshold: float = 0.5
    """The rules are unsure below this confidence."""
    llm_only_if_unsure: bool = False
    """Ask where the rules are unsure or found no antecedent, not where they are sure that nothing is referred to.

    The specification asks whenever no keyword matches."""
    reference_mappings_cn: Mappings = field(default_factory=lambda: default_mappings("cn"))
    """Chinese keywords."""
    reference_mappings_en: Mappings = field(default_factory=lambda: default_mappings("en"))
    """English keywords."""
    timezone: str = "UTC"
    """IANA name of the zone of naive timestamps and of words such as "yesterday"."""
    rewrite: bool = True
    """Rewrite dependent queries so that they stand alone."""

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Raise ReferenceConfigError unless every field is within its range."""
        for name in _TURN_FIELDS:
            _check(name, getattr(self, name), _is_count, "a whole number >= 1")
        for name in ("use_llm_fallback", "llm_only_if_unsure", "rewrite"):
            _check(name, getattr(self, name), lambda value: isinstance(value, bool), "true or false")
        _check("llm_fallback_threshold", self.llm_fallback_threshold, _is_share, "a number from 0 to 1")
        _check("timezone", self.timezone, _is_zone, "an IANA time zone such as Asia/Shanghai")
        for name in _TABLES:
            _check_table(name, getattr(self, name))

    def copy(self) -> ReferenceResolverConfig:
        """Return an independent copy, tables included."""
        return copy.deepcopy(self)

    def mappings(self, language: LanguageCode) -> Mappings:
        """Return the keyword table of a language."""
        return self.reference_mappings_cn if language == "cn" else self.reference_mappings_en

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, where: str = "configuration") -> ReferenceResolverConfig:
        """Build from plain data; tables merge into the defaults unless `replace: true`.

        The settings may stand at the top or under `reference_resolver`. `replace` may also stand in one table.
        """
        section = data.get(_SECTION, data) if isinstance(data, dict) else data
        if not isinstance(section, dict):
            raise ReferenceConfigError(f"{section!r} is not a mapping of settings", where=where, remedy=_remedy())
        known = [item.name for item in fields(cls)] + ["replace"]
        unknown = [name for name in section if name not in known]
        if unknown:
            raise ReferenceConfigError(f"unknown setting {unknown[0]!r}", where=where, remedy=_remedy())
        try:
            return cls._from_section(dict(section))
        except ReferenceConfigError as error:
            raise ReferenceConfigError(error.what, where=f"{where}: {error.where}", remedy=error.remedy) from error

    @classmethod
    def _from_section(cls, settings: dict[str, Any]) -> ReferenceResolverConfig:
        replace_all = settings.pop("replace", False)
        _check("replace", replace_all, lambda value: isinstance(value, bool), "true or false")
        for name in _TABLES:
            if name in settings:
                settings[name] = _merge_table(name, settings[name], replace_all)
        return replace(cls(), **settings)

    @classmethod
    def from_yaml(cls, path: str | Path) -> ReferenceResolverConfig:
        """Read a YAML file; an empty one gives the defaults. Raises ReferenceConfigError."""
        try:
            data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ReferenceConfigError(f"cannot be read: {error}", where=str(path)) from error
        except yaml.YAMLError as error:
            raise ReferenceConfigError(f"is not valid YAML: {error}", where=str(path)) from error
        return cls.from_dict({} if data is None else data, where=str(path))


def check_mapping(field_name: str, keyword: object, mapping: object) -> None:
    """Raise ReferenceConfigError unless this is a non-empty keyword with a known scope and type."""
    _check(
        f"{field_name} keyword", keyword, lambda value: isinstance(value, str) and bool(value.strip()), "non-empty text"
    )
    where = f"{field_name}[{keyword!r}]"
    _check(where, mapping, lambda value: isinstance(value, dict) and set(value) == {"scope", "type"}, "{scope, type}")
    assert isinstance(mapping, dict)
    _check(f"{where}.scope", mapping["scope"], lambda value: value in set(ReferenceScope), _names(ReferenceScope))
    kinds = [kind for kind in ReferenceType if kind is not ReferenceType.NONE]
    _check(f"{where}.type", mapping["type"], lambda value: value in kinds, ", ".join(kinds))


def _check_table(name: str, table: object) -> None:
    _check(name, table, lambda value: isinstance(value, dict), "a mapping of keyword to {scope, type}")
    assert isinstance(table, dict)
    for keyword, mapping in table.items():
        check_mapping(name, keyword, mapping)


def _merge_table(name: str, table: object, replace_all: bool) -> Any:
    if not isinstance(table, dict):
        return table
    own = {keyword: mapping for keyword, mapping in table.items() if not (keyword == "replace" and mapping is True)}
    if replace_all or len(own) < len(table):
        return own
    language: LanguageCode = "cn" if name.endswith("cn") else "en"
    return {**default_mappings(language), **own}


def _check(name: str, value: object, accepts: Any, expected: str) -> None:
    try:
        fine = accepts(value)
    except (TypeError, ValueError, OSError, LookupError):
        fine = False
    if not fine:
        raise ReferenceConfigError(f"{value!r} is out of range", where=name, remedy=f"It must be {expected}.")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _is_zone(value: object) -> bool:
    return isinstance(value, str) and bool(value) and ZoneInfo(value) is not None


def _names(kinds: type[ReferenceScope]) -> str:
    return "one of " + ", ".join(kinds)


def _remedy() -> str:
    names = ", ".join([item.name for item in fields(ReferenceResolverConfig)] + ["replace"])
    return f"Known settings: {names}."
