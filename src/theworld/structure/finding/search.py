"""One search through one text: every strategy, every fragment, and the choice between the candidates.

Order of the strategies: `direct_json`, `markdown_X`, `braced_X`, `bracket_X`, `cleaned_json`, then mended fragments,
what lies inside fragments, tables, calls written as text, `json_repair`, and at last `plugin_<name>`.
The first three kinds compete: the candidate that fills most of the wanted fields wins, then the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from theworld.structure.finding.candidates import Candidate, alternatives, strategy_rank
from theworld.structure.finding.rescue import last_resorts
from theworld.structure.fitting.coercion import fit
from theworld.structure.fitting.targets import Target, unwrap_envelope
from theworld.structure.reading.fragments import (
    Fragment,
    Scanner,
    answer_start,
    joined,
    nested_values,
    read_any,
    unbraced_fields,
)
from theworld.structure.report import CLEANING, ParseReport, Policy, Repair, ignored_keys
from theworld.structure.strategies import ExtractionStrategy, registered_strategies

Attempt = tuple[str, BaseException | str]
MOST_FITTED = 256
"""Most fragments of one text, and values inside them, that are fitted rather than just validated."""


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
        self.plugins = registered_strategies() if strategies is None else tuple(strategies)
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
            strategy=found.strategy,
            policy=self.policy,
            repairs=found.repairs,
            truncated=found.truncated,
            alternatives=tuple(alternatives(self.candidates, found)),
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
        if fragment.repairs:
            self.attempts.append((fragment.label, "not valid JSON as it stands"))
            if self.policy == "strict":
                return
        value, repairs = fragment.value, fragment.repairs
        if (
            value == {}
            and self.target.fields
            and not (fragment.label.startswith("markdown_") or self._is_whole(fragment))
        ):
            self.attempts.append((fragment.label, "an empty object in running text"))
            return
        call = unwrap_envelope(value, self.target.fields)
        if call is not None:
            self._try_call(self._name(fragment), call[1], fragment, found)
        else:
            self._try_value(self._name(fragment), value, repairs, fragment, found)

    def _try_call(self, name: str, payload: Any, fragment: Fragment, found: list[Candidate]) -> None:
        """Validate the arguments of a call written as an object."""
        try:
            value, repairs = _arguments(payload, fragment.repairs)
        except ValueError as error:
            self._failed(name, error)
            return
        self._try_value(name, value, repairs, fragment, found)

    def _try_value(
        self, name: str, value: Any, repairs: tuple[Repair, ...], fragment: Fragment, found: list[Candidate]
    ) -> None:
        """Validate plain data, fitting it to the model where the policy allows."""
        try:
            allowed = self.policy != "strict" and self.fitted < MOST_FITTED
            self.fitted += 1
            validated, fitted, mended = fit(value, self.target, self.text, allowed=allowed)
        except (ValueError, RecursionError) as error:
            self._failed(name, error)
            return
        found.append(Candidate(validated, name, fragment.start, repairs + fitted, fragment.truncated, mended))

    def _failed(self, name: str, error: BaseException) -> None:
        """Note a failed attempt; its traceback would keep every frame alive."""
        self.attempts.append((name, error.with_traceback(None)))

    def _name(self, fragment: Fragment) -> str:
        """Name the strategy by what it took to read the fragment."""
        if not fragment.repairs:
            return fragment.label
        kinds = {repair.kind for repair in fragment.repairs}
        if kinds <= CLEANING and not fragment.truncated and self._is_whole(fragment):
            return "cleaned_json"
        return f"{fragment.label}_repaired"

    def _is_whole(self, fragment: Fragment) -> bool:
        outside = self.text[: fragment.start].strip() + self.text[fragment.end :].strip()
        return not outside or outside.startswith(("//", "/*", "#"))

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
        together = Fragment("objects", values, fragments[0].start, fragments[-1].end, repairs, fragments[-1].truncated)
        collected: list[Candidate] = []
        self._try_value("objects", values, repairs, together, collected)
        note = Repair("joined", f"{len(values)} separate values read as one list")
        return replace(collected[0], repairs=(note, *collected[0].repairs)) if collected else None

    def _try_inside(self, fragment: Fragment, found: list[Candidate]) -> None:
        """Look for the wanted object inside a larger one: `{"result": {...}}`."""
        if fragment.error or (self.policy == "strict" and fragment.repairs):
            return
        for place, (path, value) in enumerate(nested_values(fragment.value)):
            before = len(found)
            name = f"{self._name(fragment)}[{'.'.join(map(str, path))}]"
            call = unwrap_envelope(value, self.target.fields)
            if call is not None:
                self._try_call(name, call[1], fragment, found)
            elif self._worth_trying(value):
                inner = tuple(r for r in fragment.repairs if r.path[: len(path)] == path or r.kind == "truncated")
                self._try_value(name, value, inner, fragment, found)
            found[before:] = [replace(one, inside=(len(path), place)) for one in found[before:]]

    def _worth_trying(self, value: Any) -> bool:
        """Skip what cannot be the target, so that large wrappers cost little."""
        if self.target.fields:
            return isinstance(value, dict) and not self.target.fields.isdisjoint(value)
        return isinstance(value, list) == (self.target.kind == "list") or self.target.kind == "other"

    def _rescue(self) -> Candidate | None:
        """Try the strategies for texts that hold no usable fragment."""
        for name, attempt in last_resorts(self.text, self.target):
            found = self._guard(name, attempt)
            if found is not None:
                return found
        return None

    def _guard(self, name: str, attempt: Callable[[], tuple[Any, tuple[Repair, ...]]]) -> Candidate | None:
        try:
            value, repairs = attempt()
            self.fitted += 1
            validated, fitted, mended = fit(value, self.target, self.text, allowed=self.fitted <= MOST_FITTED)
            if name == "json_repair" and (dropped := next(ignored_keys(mended, validated), None)):
                raise ValueError(f"json-repair made a key {dropped!r} that the model has no field for")
        except (ValueError, RecursionError) as error:
            self._failed(name, error)
            return None
        return Candidate(validated, name, 0, (*repairs, *fitted), source=mended)

    def _plugins(self) -> Candidate | None:
        """Try the registered strategies; whatever they raise is noted."""
        for strategy in self.plugins:
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


def _aliased(value: Any) -> bool:
    """Return True when a field was filled under an alias."""
    return (
        bool(value.model_fields_set & set(type(value).model_fields)) if hasattr(type(value), "model_fields") else True
    )


def _is_call(text: str, target: Target) -> bool:
    return unwrap_envelope(from_json(text), target.fields) is not None


def _arguments(payload: Any, repairs: tuple[Repair, ...]) -> tuple[Any, tuple[Repair, ...]]:
    """Return the arguments of a call as data, reading them when they are text."""
    if not isinstance(payload, str):
        return payload, repairs
    value, inner = read_any(payload)
    return value, (*repairs, *inner)
