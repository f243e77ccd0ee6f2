"""Names that are one entity, and which of them a text has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from theworld.text import entity_key
from theworld.text.naming import names_in


@dataclass(frozen=True, slots=True)
class OneEntity:
    """Identity keys of the same entity stand for one of them, the canonical key."""

    canonical: Mapping[str, str] = field(default_factory=dict)
    """Key -> canonical key, for keys that are not canonical themselves."""
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Canonical key -> the keys that stand for it."""

    @classmethod
    def of_names(cls, aliases: Mapping[str, str] | None) -> OneEntity:
        """Read name -> name of the same entity; chains are followed, a circle ends where it began."""
        direct = {entity_key(alias): entity_key(name) for alias, name in (aliases or {}).items()}
        ends: dict[str, str] = {}
        for key in direct:
            way, at = {key: None}, key
            while at not in ends and (following := direct.get(at)) and following not in way:
                way[following] = None
                at = following
            ends.update(dict.fromkeys(way, ends.get(at, at)))
        canonical = {key: ends[key] for key in direct if key and ends[key] != key}
        others: dict[str, list[str]] = {}
        for key, name in canonical.items():
            others.setdefault(name, []).append(key)
        return cls(canonical, {name: tuple(keys) for name, keys in others.items()})

    def key(self, key: str) -> str:
        """Return the canonical key of a key."""
        return self.canonical.get(key, key)

    def keys(self, key: str) -> tuple[str, ...]:
        """Return every key of the entity that a key names."""
        name = self.key(key)
        return (name, *self.others.get(name, ()))

    def named_in(self, text: str) -> Callable[[str], bool]:
        """Return a test whether a text has any name of the entity that a key names."""
        has = names_in(text)
        return lambda key: any(has(each) for each in self.keys(key))


def keys_of(names: str | Iterable[str] | None) -> list[str]:
    """Return the distinct identity keys of names, in order; what is no text names nothing."""
    listed = [names] if isinstance(names, str) else list(names or ())
    return list(dict.fromkeys(key for key in (entity_key(name) for name in listed if isinstance(name, str)) if key))
