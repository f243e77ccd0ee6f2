"""Asking a model to repair what no rule could: opt-in, bounded, and held to the words of the input."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from theworld.structure.errors import StructureParseError
from theworld.structure.fitting.targets import Target
from theworld.structure.json_extractor import extract_with_report
from theworld.structure.reading.provenance import invented
from theworld.structure.report import ParseReport, Repair
from theworld.structure.schemas.prompting import reask_message

CHARACTERS_PER_TOKEN = 3


@dataclass
class ModelRepair:
    """How a model may be asked, and how much. One object may be shared; its rate limit then is too."""

    ask: Callable[[str], str]
    """Prompt in, text out."""
    attempts: int = 1
    """Most calls for one parse."""
    max_tokens: int = 4000
    """Longest prompt plus answer, estimated at 3 characters a token; a longer prompt is not sent."""
    timeout_s: float = 30.0
    """Longest wait for all calls of one parse, in seconds."""
    calls_per_minute: int = 20
    """Most calls in any 60 seconds."""
    language: str = "en"
    """Language of the prompt: `en` or `zh`."""
    _calls: deque[float] = field(default_factory=deque, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        """Refuse limits that are no limits."""
        for name in ("attempts", "max_tokens", "timeout_s", "calls_per_minute"):
            if getattr(self, name) <= 0:
                raise ValueError(f"ModelRepair.{name} must be positive, got {getattr(self, name)}")

    def admit(self) -> bool:
        """Count one call; False when the minute is full."""
        now = time.monotonic()
        with self._lock:
            while self._calls and now - self._calls[0] > 60:
                self._calls.popleft()
            if len(self._calls) >= self.calls_per_minute:
                return False
            self._calls.append(now)
            return True


def repair_with_model(
    text: str, model_class: Any, target: Target, repair: ModelRepair, failure: StructureParseError
) -> ParseReport[Any]:
    """Ask the model for a corrected text and parse that; raises StructureParseError with the further attempts.

    A value whose words or numbers do not occur in the original text is refused: a model may repair, not invent.
    """
    deadline = time.monotonic() + repair.timeout_s
    attempts = list(failure.attempts)
    error = failure
    for number in range(repair.attempts):
        name = f"model_{number}"
        prompt = reask_message(error, model_class, content=text, language=repair.language)
        try:
            answer = _ask(repair, prompt, deadline)
            report = extract_with_report(answer, model_class)
            _refuse_invention(report.value, target, text)
        except (ValueError, RuntimeError, OSError) as problem:
            if isinstance(problem, StructureParseError):
                error = problem
            attempts.append({"strategy": name, "error": f"{type(problem).__name__}: {problem}"})
            continue
        note = Repair("model", "a model wrote the text again", (), text, answer[:200])
        return replace(
            report,
            strategy=name,
            policy="repair-model",
            repairs=(note, *report.repairs),
            tried=tuple(attempts),
            model_calls=number + 1,
        )
    raise StructureParseError(f"{failure.what}, and {len(attempts)} attempts failed", attempts, text)


def _ask(repair: ModelRepair, prompt: str, deadline: float) -> str:
    """Call the model once within its limits; raises RuntimeError when a limit forbids it or the call fails."""
    budget = repair.max_tokens * CHARACTERS_PER_TOKEN
    if len(prompt) >= budget:
        raise RuntimeError(f"the prompt has {len(prompt)} characters, more than {repair.max_tokens} tokens allow")
    if not repair.admit():
        raise RuntimeError(f"more than {repair.calls_per_minute} calls a minute")
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(repair.ask(prompt))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if not outcome:
        raise RuntimeError(f"no answer within {repair.timeout_s} s")
    answer = outcome[0]
    if not isinstance(answer, str):
        raise RuntimeError(f"the model failed: {answer!r}")
    return answer[: budget - len(prompt)]


def _refuse_invention(value: Any, target: Target, text: str) -> None:
    """Raise ValueError for a value with words or numbers that the text does not have."""
    plain = target.adapter.dump_python(value, mode="json", exclude_unset=True)
    found = invented(plain, text)
    if found:
        path, item = found[0]
        where = ".".join(map(str, path)) or "value"
        raise ValueError(f"{where} = {item!r} does not occur in the content: a model may not invent values")
