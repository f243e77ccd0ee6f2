"""One search through one text: every strategy, every fragment, and the choice between the candidates.

Order of the strategies: `direct_json`, `markdown_X`, `braced_X`, `bracket_X`, `cleaned_json`, then repaired fragments,
what lies inside fragments, calls written as text, and at last `plugin_<name>`.
The first three kinds compete: the candidate that fills most of the wanted fields wins, then the last. What a repaired
fragment lost is found out only where it matters: for the report, and between several candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic_core import from_json

from theworld.structure.calls import last_resorts
from theworld.structure.coercion import fit
from theworld.structure.errors import Attempt
from theworld.structure.reading.fragments import (
    SEPARATOR,
    Fragment,
    Scanner,
    answer_start,
    nested_values,
    read_any,
    unbraced_fields,
)
from theworld.structure.report import CLEANING, Alternative, ParseReport, Path, Repair
from theworld.structure.targets import Target, arguments_of_call, count_filled

MOST_FITTED = 256
"""Most fragments of one text, and values inside them, that are fitted rather than just validated."""
RANKS = ("direct_json", "markdown_", "braced_", "bracket_", "cleaned_json")


@dataclass
class ExtractionStrategy:
    """A named way of making a model of a text.

    `func(text, model_class)` returns an instance, or raises anything at all when it cannot.
    """

    name: str
    """Shown as `plugin_<name>` in attempts and reports."""
    func: Callable[[str, Any], Any]
    """Text and wanted type to an instance."""


@dataclass(slots=True)
class Candidate:
    """A validated object and how it came to be."""

    value: Any
    label: str
    """Name of the strategy, before what repairing adds to it."""
    fragment: Fragment | None = None
    """Where it was read from, None for the whole text."""
    more: tuple[Repair, ...] = ()
    """What was changed besides reading the fragment."""
    path: Path = ()
    """Where in its fragment it lies."""
    place: int = 0
    """Its place among what lies inside its fragment."""

    @property
    def truncated(self) -> bool:
        """True when the text broke off inside."""
        return self.fragment is not None and self.fragment.truncated

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was changed on the way."""
        read = self.fragment.repairs if self.fragment else ()
        depth = len(self.path)
        return tuple(repair for repair in read if not repair.path or repair.path[:depth] == self.path) + self.more

    def strategy(self, text: str) -> str:
        """Return the documented name of the strategy, by what it took to read the fragment of the text."""
        name = self.label
        if self.fragment is not None and self.fragment.broken and name != "objects":
            kinds = {repair.kind for repair in self.fragment.repairs}
            clean = kinds <= CLEANING and not self.truncated and _is_whole(text, self.fragment)
            name = "cleaned_json" if clean else f"{name}_repaired"
        return _within(name, self.path)

    def rank(self) -> tuple[int, bool, bool, int, int, int]:
        """Order candidates: fullest, whole, nothing lost, last; of those in one fragment outermost, then last."""
        position = self.fragment.start if self.fragment else 0
        lost = any(repair.kind == "dropped" for repair in self.repairs)
        return count_filled(self.value), not self.truncated, not lost, position, -len(self.path), self.place


class Search:
    """One search through one text; keeps every attempt and every candidate."""

    def __init__(self, text: str, target: Target, plugins: Sequence[ExtractionStrategy]) -> None:
        self.text, self.target, self.plugins = text, target, plugins
        self.attempts: list[Attempt] = []
        self.candidates: list[Candidate] = []
        self.fitted = 0

    def run(self) -> Candidate | None:
        """Try everything in order; return the winner or None."""
        if not self.text.strip():
            self.attempts.append(("direct_json", "the content is empty"))
            return self._plugins()
        try:  # the whole text is JSON, unless it is valid by defaults alone, or a call mistaken for the object
            value = self.target.validator.validate_json(self.text)
            filled = getattr(value, "model_fields_set", None)
            if self.target.fields and filled is not None:
                if self.target.fields.isdisjoint(filled) and self.text.strip() != "{}":
                    raise ValueError(f"none of the fields of {self.target.name} is in this object")
                if "name" in filled and arguments_of_call(from_json(self.text), self.target.fields) is not None:
                    raise ValueError("this is a tool call; its arguments are the object")
            return Candidate(value, "direct_json")
        except (ValueError, RecursionError) as error:
            self._failed("direct_json", error)
        start = answer_start(self.text)
        found = self._from_region(start, len(self.text))
        if found is None and start:
            found = self._from_region(0, start)
        if found is not None:
            return found
        for name, value, known in last_resorts(self.text, self.target):
            try:
                validated, repairs = self._fit(value)
            except (ValueError, RecursionError) as error:
                self._failed(name, error)
                continue
            return Candidate(validated, name, None, known + repairs)
        return self._plugins()

    def report(self, found: Candidate) -> ParseReport[Any]:
        """Return the report about the winner."""
        rest = [candidate for candidate in self.candidates if candidate is not found]
        filled, alternatives = count_filled(found.value) if rest else 0, list[Alternative]()
        for other in sorted(rest, key=Candidate.rank, reverse=True) if len(rest) > 1 else rest:
            count = count_filled(other.value)
            why = "fills fewer fields" if count < filled else "less complete, further inside, or earlier in the text"
            alternatives.append(Alternative(other.strategy(self.text), other.value, count, why))
        how = found.strategy(self.text), found.repairs, found.truncated, tuple(alternatives)
        return ParseReport(found.value, *how, tried=tuple(self.attempts))

    def ordered_attempts(self) -> list[Attempt]:
        """Return the attempts in the documented order of strategies."""

        def rank(attempt: Attempt) -> int:
            name, last = attempt[0], len(RANKS)
            if (plugin := name.startswith("plugin_")) or "_repaired" in name or "[" in name:
                return last + plugin
            return next((i for i, rank in enumerate(RANKS) if name.startswith(rank)), last)

        return sorted(self.attempts, key=rank)

    def _failed(self, name: str, error: BaseException) -> None:
        """Note a failed attempt; its traceback would keep every frame alive."""
        self.attempts.append((name, error.with_traceback(None)))

    def _from_region(self, start: int, end: int) -> Candidate | None:
        """Take the best of the fragments between two positions, or what lies inside them, and keep the rest."""
        text = self.text[:end]
        fragments = list(Scanner(text, start).fragments())
        if not fragments:
            unbraced = unbraced_fields(text, start)
            fragments = [unbraced] if unbraced else []
        usable = []
        for fragment in fragments:
            if fragment.error:
                self._failed(fragment.label, fragment.error)
                continue
            if fragment.broken:
                self.attempts.append((fragment.label, "not valid JSON as it stands"))
            empty = fragment.value == {} and self.target.fields and not fragment.label.startswith("markdown_")
            if empty and not _is_whole(self.text, fragment):
                self.attempts.append((fragment.label, "an empty object in running text"))
            else:
                usable.append(fragment)
        found = [candidate for fragment in usable if (candidate := self._fitted(fragment.value, fragment))]
        together = self._as_list(text, [fragment for fragment in fragments if not fragment.error])
        if together is not None:
            found.append(together)
        if not found:
            found = [candidate for fragment in fragments for candidate in self._inside(fragment)]
        self.attempts.append(("cleaned_json", "the whole text, cleaned, is not one valid JSON value"))
        if not found:
            return None
        self.candidates = found
        return max(found, key=Candidate.rank) if len(found) > 1 else found[0]

    def _fitted(self, value: Any, fragment: Fragment, path: Path = (), place: int = 0) -> Candidate | None:
        """Fit plain data, of a call its arguments, to the model."""
        inner: tuple[Repair, ...] = ()
        try:
            arguments = arguments_of_call(value, self.target.fields)
            if arguments is not None:
                value, inner = read_any(arguments) if isinstance(arguments, str) else (arguments, ())
            validated, repairs = self._fit(value)
        except (ValueError, RecursionError) as error:
            self._failed(_within(fragment.label + ("_repaired" if fragment.broken else ""), path), error)
            return None
        return Candidate(validated, fragment.label, fragment, inner + repairs, path, place)

    def _fit(self, value: Any) -> tuple[Any, tuple[Repair, ...]]:
        self.fitted += 1
        return fit(value, self.target, self.text, allowed=self.fitted <= MOST_FITTED)

    def _as_list(self, text: str, fragments: list[Fragment]) -> Candidate | None:
        """Make one list of several objects where a list, or anything, is wanted."""
        if self.target.kind not in ("any", "list"):
            return None
        objects = [fragment for fragment in fragments if isinstance(fragment.value, dict)]
        if self.target.kind == "any":
            gaps = (text[left.end : right.start] for left, right in pairwise(fragments))
            if not all(map(SEPARATOR.fullmatch, gaps)):
                fenced = [fragment for fragment in fragments if fragment.label.startswith("markdown_")]
                with_objects = [
                    fragment
                    for fragment in fragments
                    if isinstance(fragment.value, dict) or any(isinstance(item, dict) for item in fragment.value)
                ]
                fragments = fenced or with_objects or fragments
            objects = fragments if len(fragments) > 1 else []
        if not objects:
            return None
        values = [fragment.value for fragment in objects]
        note = Repair("joined", f"{len(values)} separate values read as one list")
        repairs = tuple(repair for fragment in objects for repair in fragment.repairs)
        first, last = objects[0], objects[-1]
        together = Fragment("objects", values, first.start, last.end, (note, *repairs), cut=last.truncated)
        return self._fitted(values, together)

    def _inside(self, fragment: Fragment) -> Iterator[Candidate]:
        """Look for the wanted object inside a larger one: `{"result": {...}}`."""
        if fragment.error:
            return
        for place, (path, value) in enumerate(nested_values(fragment.value)):
            if self.target.fields:  # what cannot be the target is skipped, so that large wrappers cost little
                worth = isinstance(value, dict) and not self.target.fields.isdisjoint(value)
            else:
                worth = isinstance(value, list) == (self.target.kind == "list") or self.target.kind == "other"
            if worth or arguments_of_call(value, self.target.fields) is not None:
                candidate = self._fitted(value, fragment, path, place)
                if candidate is not None:
                    yield candidate

    def _plugins(self) -> Candidate | None:
        """Try the strategies from outside; whatever they raise is noted."""
        for plugin in self.plugins:
            try:
                value = plugin.func(self.text, self.target.given)
                if value is None:
                    raise ValueError("the strategy returned None")
                return Candidate(self.target.validator.validate_python(value), f"plugin_{plugin.name}")
            except Exception as error:
                self._failed(f"plugin_{plugin.name}", error)
        return None


def _within(name: str, path: Path) -> str:
    return f"{name}[{'.'.join(map(str, path))}]" if path else name


def _is_whole(text: str, fragment: Fragment) -> bool:
    """Return True when nothing but a comment stands around a fragment."""
    outside = text[: fragment.start].strip() + text[fragment.end :].strip()
    return not outside or outside.startswith(("//", "/*", "#"))
