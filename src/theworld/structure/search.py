"""One search through one text: every strategy, every fragment, and the choice between the candidates.

Order of the strategies: `direct_json`, `markdown_X`, `braced_X`, `bracket_X`, `cleaned_json`, then repaired fragments,
what lies inside fragments, tables, calls written as text, and at last `plugin_<name>`.
The first three kinds compete: the candidate that fills most of the wanted fields wins, then the last. What a repaired
fragment lost is found out only where it matters: for the report, and between several candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from theworld.structure.fitting.coercion import fit
from theworld.structure.fitting.targets import Target, count_filled, unwrap_envelope
from theworld.structure.reading.fragments import (
    Fragment,
    Scanner,
    answer_start,
    joined,
    nested_values,
    read_any,
    unbraced_fields,
)
from theworld.structure.report import CLEANING, Alternative, ParseReport, Policy, Repair
from theworld.structure.rescue import last_resorts
from theworld.structure.strategies import ExtractionStrategy, registered_strategies

Attempt = tuple[str, BaseException | str]
MOST_FITTED = 256
"""Most fragments of one text, and values inside them, that are fitted rather than just validated."""


RANKS = ("direct_json", "markdown_", "braced_", "bracket_", "cleaned_json")


@dataclass(slots=True)
class Candidate:
    """A validated object and how it came to be."""

    value: Any
    """The validated object."""
    label: str
    """Name of the strategy, before what repairing adds to it."""
    fragment: Fragment | None = None
    """Where it was read from, None for the whole text."""
    more: tuple[Repair, ...] = ()
    """What was changed besides reading the fragment."""
    source: Any = None
    """The plain data it was validated from."""
    path: tuple[str | int, ...] = ()
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
            clean = (
                _is_whole(text, self.fragment)
                and not self.truncated
                and {r.kind for r in self.fragment.repairs} <= CLEANING
            )
            name = "cleaned_json" if clean else f"{name}_repaired"
        return f"{name}[{'.'.join(map(str, self.path))}]" if self.path else name

    def rank(self) -> tuple[int, bool, bool, int, int, int]:
        """Order candidates: fullest, whole, nothing lost, last; of those in one fragment outermost, then last."""
        position = self.fragment.start if self.fragment else 0
        lost = any(repair.kind == "dropped" for repair in self.repairs)
        return count_filled(self.value), not self.truncated, not lost, position, -len(self.path), self.place


class Search:
    """One search through one text; keeps every attempt and every candidate."""

    def __init__(
        self,
        text: str,
        target: Target,
        wanted: Any,
        policy: Policy,
        strategies: list[ExtractionStrategy] | None = None,
    ) -> None:
        self.text, self.target, self.wanted, self.policy = text, target, wanted, policy
        self.strategies = strategies
        self.attempts: list[Attempt] = []
        self.candidates: list[Candidate] = []
        self.fitted = 0

    def run(self) -> Candidate | None:
        """Try everything in order; return the winner or None."""
        if not self.text.strip():
            self.attempts.append(("direct_json", "the content is empty"))
            return self._plugins()
        start = answer_start(self.text)
        return (
            self._direct()
            or self._from_region(start, len(self.text))
            or (self._from_region(0, start) if start else None)
            or (self._rescue() if self.policy != "strict" else None)
            or (self._plugins() if self.policy != "strict" else None)
        )

    def report(self, found: Candidate) -> ParseReport[Any]:
        """Return the report about the winner."""
        return ParseReport(
            value=found.value,
            strategy=found.strategy(self.text),
            policy=self.policy,
            repairs=found.repairs,
            truncated=found.truncated,
            alternatives=tuple(alternatives(self.candidates, found, self.text)),
            tried=tuple(self.attempts),
            source=found.source,
        )

    def ordered_attempts(self) -> list[Attempt]:
        """Return the attempts in the documented order of strategies."""
        return sorted(self.attempts, key=lambda attempt: strategy_rank(attempt[0]))

    def _direct(self) -> Candidate | None:
        """Take the whole text as JSON."""
        try:
            value = self.target.validator.validate_json(self.text)
            self._check_defaults(value)
        except (ValueError, RecursionError) as error:
            self.attempts.append(("direct_json", error))
            return None
        return Candidate(value, "direct_json", source=self.text)

    def _check_defaults(self, value: Any) -> None:
        """Refuse what validates only because everything has a default, and calls mistaken for the object."""
        if self.target.fields and getattr(value, "model_fields_set", None) is not None:
            stripped = self.text.strip()
            if not self.target.fields & value.model_fields_set and stripped != "{}" and not _aliased(value):
                raise ValueError(f"none of the fields of {self.target.name} is in this object")
            if "name" in value.model_fields_set and _is_call(self.text, self.target):
                raise ValueError("this is a tool call; its arguments are the object")

    def _from_region(self, start: int, end: int) -> Candidate | None:
        """Take the best of the fragments between two positions."""
        text = self.text if end == len(self.text) else self.text[:end]
        fragments = list(Scanner(text, start).fragments())
        if not fragments and self.policy != "strict":
            unbraced = unbraced_fields(text, start)
            fragments = [unbraced] if unbraced else []
        found: list[Candidate] = []
        for fragment in fragments:
            self._try_fragment(fragment, found)
        whole = self._combined(text, fragments)
        if whole is not None:
            found.append(whole)
        if not found:
            for fragment in fragments:
                self._try_inside(fragment, found)
        if self.policy != "strict":
            self.attempts.append(("cleaned_json", "the whole text, cleaned, is not one valid JSON value"))
        return self._best(found)

    def _best(self, found: list[Candidate]) -> Candidate | None:
        """Return the best candidate and keep the rest as alternatives."""
        if not found:
            return None
        best = found[0] if len(found) == 1 else max(found, key=Candidate.rank)
        self.candidates = found
        return best

    def _try_fragment(self, fragment: Fragment, found: list[Candidate]) -> None:
        """Validate one fragment; add it to the candidates or to the attempts."""
        if fragment.error:
            self.attempts.append((fragment.label, fragment.error))
            return
        if fragment.broken:
            self.attempts.append((fragment.label, "not valid JSON as it stands"))
            if self.policy == "strict":
                return
        if fragment.value == {} and self.target.fields and not self._may_be_empty(fragment):
            self.attempts.append((fragment.label, "an empty object in running text"))
            return
        self._try_value(fragment.value, fragment, found)

    def _may_be_empty(self, fragment: Fragment) -> bool:
        return fragment.label.startswith("markdown_") or _is_whole(self.text, fragment)

    def _try_value(
        self, value: Any, fragment: Fragment, found: list[Candidate], path: tuple[str | int, ...] = (), place: int = 0
    ) -> None:
        """Validate plain data (of a call its arguments), fitting it to the model where the policy allows."""
        name = fragment.label + ("_repaired" if fragment.broken else "")
        inner: tuple[Repair, ...] = ()
        try:
            call = unwrap_envelope(value, self.target.fields)
            if call is not None:
                value, inner = (call[1], ()) if not isinstance(call[1], str) else read_any(call[1])
            allowed = self.policy != "strict" and self.fitted < MOST_FITTED
            self.fitted += 1
            validated, fitted, repaired = fit(value, self.target, self.text, allowed=allowed)
        except (ValueError, RecursionError) as error:
            self._failed(f"{name}[{'.'.join(map(str, path))}]" if path else name, error)
            return
        found.append(Candidate(validated, fragment.label, fragment, inner + fitted, repaired, path, place))

    def _failed(self, name: str, error: BaseException) -> None:
        """Note a failed attempt; its traceback would keep every frame alive."""
        self.attempts.append((name, error.with_traceback(None)))

    def _combined(self, text: str, fragments: list[Fragment]) -> Candidate | None:
        """Make one list of several objects where a list, or anything, is wanted."""
        usable = [fragment for fragment in fragments if not fragment.error]
        if self.policy == "strict" or len(usable) < (2 if self.target.is_open else 1):
            return None
        if self.target.is_open:
            fenced = [fragment for fragment in usable if fragment.label.startswith("markdown_")]
            with_objects = [f for f in usable if isinstance(f.value, dict) or any(isinstance(i, dict) for i in f.value)]
            usable = joined(text, usable) or fenced or with_objects or usable
        elif self.target.kind == "list":
            usable = [fragment for fragment in usable if isinstance(fragment.value, dict)]
        else:
            return None
        if not usable or (self.target.is_open and len(usable) < 2):
            return None
        return self._as_list(usable)

    def _as_list(self, fragments: list[Fragment]) -> Candidate | None:
        values = [fragment.value for fragment in fragments]
        repairs = tuple(repair for fragment in fragments for repair in fragment.repairs)
        note = Repair("joined", f"{len(values)} separate values read as one list")
        first, last = fragments[0], fragments[-1]
        truncated = last if last.truncated else None
        together = Fragment("objects", values, first.start, last.end, (note, *repairs), truncated=bool(truncated))
        collected: list[Candidate] = []
        self._try_value(values, together, collected)
        return collected[0] if collected else None

    def _try_inside(self, fragment: Fragment, found: list[Candidate]) -> None:
        """Look for the wanted object inside a larger one: `{"result": {...}}`."""
        if fragment.error or (self.policy == "strict" and fragment.broken):
            return
        for place, (path, value) in enumerate(nested_values(fragment.value)):
            if self._worth_trying(value) or unwrap_envelope(value, self.target.fields) is not None:
                self._try_value(value, fragment, found, path, place)

    def _worth_trying(self, value: Any) -> bool:
        """Skip what cannot be the target, so that large wrappers cost little."""
        if self.target.fields:
            return isinstance(value, dict) and not self.target.fields.isdisjoint(value)
        return isinstance(value, list) == (self.target.kind == "list") or self.target.kind == "other"

    def _rescue(self) -> Candidate | None:
        """Try the strategies for texts that hold no usable fragment."""
        for name, value, repairs in last_resorts(self.text, self.target):
            try:
                self.fitted += 1
                allowed = self.fitted <= MOST_FITTED
                validated, fitted, repaired = fit(value, self.target, self.text, allowed=allowed)
            except (ValueError, RecursionError) as error:
                self._failed(name, error)
                continue
            return Candidate(validated, name, None, (*repairs, *fitted), repaired)
        return None

    def _plugins(self) -> Candidate | None:
        """Try the registered strategies; whatever they raise is noted."""
        for strategy in registered_strategies() if self.strategies is None else self.strategies:
            name = f"plugin_{strategy.name}"
            try:
                value = strategy.func(self.text, self.wanted)
                if value is None:
                    raise ValueError("the strategy returned None")
                value = self.target.validator.validate_python(value)
            except Exception as error:
                self._failed(name, error)
                continue
            return Candidate(value, name)
        return None


def _is_whole(text: str, fragment: Fragment) -> bool:
    """Return True when nothing but a comment stands around a fragment."""
    outside = text[: fragment.start].strip() + text[fragment.end :].strip()
    return not outside or outside.startswith(("//", "/*", "#"))


def _aliased(value: Any) -> bool:
    """Return True when a field was filled under an alias."""
    return (
        bool(value.model_fields_set & set(type(value).model_fields)) if hasattr(type(value), "model_fields") else True
    )


def _is_call(text: str, target: Target) -> bool:
    return unwrap_envelope(from_json(text), target.fields) is not None


def alternatives(candidates: Sequence[Candidate], chosen: Candidate, text: str) -> Iterator[Alternative]:
    """Yield the candidates that were not chosen, best first."""
    if len(candidates) < 2:
        return
    rest = sorted((c for c in candidates if c is not chosen), key=Candidate.rank, reverse=True)
    filled = count_filled(chosen.value)
    for other in rest:
        count = count_filled(other.value)
        why = "fills fewer fields" if count < filled else "less complete, further inside, or earlier in the text"
        yield Alternative(other.strategy(text), other.value, count, why)


def strategy_rank(name: str) -> int:
    """Return the place of a strategy in the documented order, by its name."""
    if name.startswith("plugin_"):
        return len(RANKS) + 1
    exact = next((i for i, rank in enumerate(RANKS) if name.startswith(rank)), len(RANKS))
    return len(RANKS) if "_repaired" in name or "[" in name else exact
