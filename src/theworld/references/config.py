"""The word lists of `data/`, and the resolver's configuration: numbers, both keyword tables, YAML files."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import yaml

from theworld.errors import ReferenceConfigError
from theworld.packages import either
from theworld.state import ReferenceScope, ReferenceType

LanguageCode = Literal["cn", "en"]  # the specification's names of the two languages; `zh` is an alias of `cn`
LANGUAGES: tuple[LanguageCode, LanguageCode] = ("cn", "en")
ASKING = re.compile("怎么|怎样|如何|为[什何啥]|什么|啥|多少|多[高长大久远重快深宽]|[哪几吗谁]")  # what asks in Chinese
_COUNTED = ("first 一 1 former 前", "second 二 2 two 两", "third 三 3 three", "fourth 四 4 four", "fifth 五 5 five")
RANKS = {word: rank for rank, words in enumerate(_COUNTED) for word in words.split()}
"""Words of ordinals -> places in a list, from 0 or from its end."""
RANKS |= {str(number): number - 1 for number in range(6, 10)} | dict.fromkeys(("last", "latter", "后", "最后"), -1)
Mappings = dict[str, dict[str, str]]  # keyword -> {"scope": ReferenceScope value, "type": ReferenceType value}


@cache
def load_table(name: str) -> dict[str, Any]:
    """Return the parsed content of `data/NAME.yaml`; every scalar is text, so that `yes` and `on` are words."""
    text = files(__package__).joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but text
    return table


@cache
def any_of(table: str, row: str) -> re.Pattern[str]:
    """Return the pattern of any phrase of a table's row, Latin ones as whole words; … stands for a few characters."""
    rows = load_table(table)[row]
    phrases = rows if isinstance(rows, list) else [phrase for code in LANGUAGES for phrase in rows[code]]
    edge = r"(?:(?<![^\W_])|(?=[^\x00-\x7f]))" * any(phrase[0].isascii() for phrase in phrases)
    return re.compile(f"{edge}(?:{either(phrases)})".replace(r"\ ", r"\s+").replace("…", "[^，。,.？?]{1,10}?"))


@cache
def pattern_of(form: str) -> re.Pattern[str]:
    """Return the pattern of a form, in which «table.row» stands for any phrase of that row."""
    return re.compile(re.sub(r"«(\w+)\.(\w+)»", lambda row: any_of(row[1], row[2]).pattern, form))


@cache
def added_mappings(language: LanguageCode) -> Mappings:
    """Return the keywords of a language that the specification does not have."""
    groups = load_table("keywords")["more"]
    return {word: {"scope": group["scope"], "type": group["type"]} for group in groups for word in group[language]}


def default_mappings(language: LanguageCode) -> Mappings:
    """Return a fresh copy of the keyword table of a language."""
    table = load_table("keywords")[language] | added_mappings(language)
    return {keyword: dict(mapping) for keyword, mapping in table.items()}


_Range = tuple[Callable[[Any], bool], str]
_SWITCH: _Range = (lambda value: isinstance(value, bool), "true or false")
_COUNT: _Range = (lambda value: type(value) is int and value >= 1, "a whole number >= 1")
_TABLE: _Range = (lambda value: isinstance(value, dict), "a mapping of keyword to {scope, type}")
_RANGES: dict[str, _Range] = {
    **dict.fromkeys(("last_few_turns", "recent_turns", "session_max_turns"), _COUNT),
    **dict.fromkeys(("use_llm_fallback", "llm_only_if_unsure", "rewrite"), _SWITCH),
    "llm_fallback_threshold": (lambda value: type(value) in {int, float} and 0 <= value <= 1, "a number from 0 to 1"),
    "timezone": (lambda value: bool(value) and ZoneInfo(value) is not None, "an IANA time zone such as Asia/Shanghai"),
    **dict.fromkeys((f"reference_mappings_{code}" for code in LANGUAGES), _TABLE),
}  # Field -> which values it takes, and how a message says so
_MAPPING = {
    "scope": list(map(str, ReferenceScope)),
    "type": [kind.value for kind in ReferenceType if kind is not ReferenceType.NONE],
}  # What a keyword says -> the values it takes


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
    reference_mappings_en: Mappings = field(default_factory=lambda: default_mappings("en"))
    """Keywords of either language."""
    timezone: str = "UTC"
    """IANA name of the zone of naive timestamps and of words such as "yesterday"."""
    rewrite: bool = True
    """Rewrite dependent queries so that they stand alone."""

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Raise ReferenceConfigError unless every field is within its range."""
        for name, accepted in _RANGES.items():
            _check(name, getattr(self, name), accepted)
        for code in LANGUAGES:
            for keyword, mapping in getattr(self, name := f"reference_mappings_{code}").items():
                check_mapping(name, keyword, mapping)

    def copy(self) -> ReferenceResolverConfig:
        """Return an independent copy, tables included."""
        return copy.deepcopy(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, where: str = "configuration") -> ReferenceResolverConfig:
        """Build from plain data; tables merge into the defaults unless `replace: true`.

        The settings may stand at the top or under `reference_resolver`. `replace` may also stand in one table.
        """
        settings = data.get("reference_resolver", data) if isinstance(data, dict) else data
        known = [*(item.name for item in fields(cls)), "replace"]
        remedy = f"Known settings: {', '.join(known)}."
        if not isinstance(settings, dict):
            raise ReferenceConfigError(f"{settings!r} is not a mapping of settings", where=where, remedy=remedy)
        if unknown := [name for name in settings if name not in known]:
            raise ReferenceConfigError(f"unknown setting {unknown[0]!r}", where=where, remedy=remedy)
        settings = dict(settings)
        replace_all = settings.pop("replace", False)
        try:
            _check("replace", replace_all, _SWITCH)
            for code in LANGUAGES:
                own = settings.get(name := f"reference_mappings_{code}")
                if isinstance(own, dict):
                    kept = {} if replace_all or own.get("replace") is True else default_mappings(code)
                    settings[name] = kept | {w: m for w, m in own.items() if (w, m) != ("replace", True)}
            return cls(**settings)
        except ReferenceConfigError as error:
            raise ReferenceConfigError(error.what, where=f"{where}: {error.where}", remedy=error.remedy) from error

    @classmethod
    def from_yaml(cls, path: str | Path) -> ReferenceResolverConfig:
        """Read a YAML file; an empty one gives the defaults. Raises ReferenceConfigError."""
        try:
            data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            what = "is not valid YAML" if isinstance(error, yaml.YAMLError) else "cannot be read"
            raise ReferenceConfigError(f"{what}: {error}", where=str(path)) from error
        return cls.from_dict({} if data is None else data, where=str(path))


def check_mapping(field_name: str, keyword: object, mapping: Any) -> None:
    """Raise ReferenceConfigError unless this is a non-empty keyword with a known scope and type."""
    _check(f"{field_name} keyword", keyword, (lambda value: bool(value.strip()), "non-empty text"))
    where = f"{field_name}[{keyword!r}]"
    _check(where, mapping, (lambda value: value.keys() == _MAPPING.keys(), "{scope, type}"))
    for name, allowed in _MAPPING.items():
        _check(f"{where}.{name}", mapping[name], (allowed.__contains__, "one of " + ", ".join(allowed)))


def _check(name: str, value: object, accepted: _Range) -> None:
    accepts, expected = accepted
    try:
        fine = accepts(value)
    except (AttributeError, TypeError, ValueError, OSError, LookupError):
        fine = False
    if not fine:
        raise ReferenceConfigError(f"{value!r} is out of range", where=name, remedy=f"It must be {expected}.")
