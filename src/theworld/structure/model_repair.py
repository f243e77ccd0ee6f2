"""Asking a model to repair what no rule could: opt-in, bounded, and held to the words of the input."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from theworld.structure.errors import Attempt, StructureParseError, shorten
from theworld.structure.fitting.targets import Target
from theworld.structure.json_extractor import extract_with_report
from theworld.structure.reading.provenance import invented
from theworld.structure.report import ParseReport, Repair

CHARACTERS_PER_TOKEN = 3
LONGEST_CONTENT = 6000
SHOWN_ATTEMPTS = 12
PROMPTS = {
    "en": (
        "Your last answer could not be read as {name}.\nWhat was wrong:\n{errors}\n\nYour last answer:\n"
        "{content}\n\nWrite it again, corrected. Keep every value; add nothing that is not in it.\n"
        "Answer with one JSON value only, no text before or after it, that follows this JSON Schema:\n"
        "```json\n{schema}\n```\n"
        "Use null only where it is allowed, leave out optional fields you do not know, and invent nothing."
    ),
    "zh": (
        "上一次的回答无法解析为 {name}。\n问题：\n{errors}\n\n上一次的回答：\n"
        "{content}\n\n请改正后重写。保留所有已有的值，不要添加其中没有的内容。\n"
        "只用一个 JSON 值回答，前后不要有其他文字，并符合以下 JSON Schema：\n"
        "```json\n{schema}\n```\n"
        "只有允许时才用 null；不知道的可选字段请省略；不要编造任何内容。"
    ),
}


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
        """Refuse limits that are no limits, and other languages."""
        for name in ("attempts", "max_tokens", "timeout_s", "calls_per_minute"):
            if getattr(self, name) <= 0:
                raise ValueError(f"ModelRepair.{name} must be positive, got {getattr(self, name)}")
        if self.language not in PROMPTS:
            raise ValueError(f"unknown language {self.language!r}: use 'en' or 'zh'")

    def prompt(self, error: StructureParseError, target: Target, content: str) -> str:
        """Return what shows a model its answer, what was wrong with it and the schema, and asks for a correction."""
        attempts = error.attempts[:SHOWN_ATTEMPTS]
        errors = "\n".join(f"- {attempt['strategy']}: {shorten(attempt['error'])}" for attempt in attempts)
        return PROMPTS[self.language].format(
            name=target.name,
            errors=errors or f"- {error.what}",
            content=shorten(content, LONGEST_CONTENT),
            schema=json.dumps(target.adapter.json_schema(mode="validation"), ensure_ascii=False),
        )

    def call(self, prompt: str, deadline: float) -> str:
        """Call the model once within its limits; raises RuntimeError when a limit forbids it or the call fails."""
        budget = self.max_tokens * CHARACTERS_PER_TOKEN
        if len(prompt) >= budget:
            raise RuntimeError(f"the prompt has {len(prompt)} characters, more than {self.max_tokens} tokens allow")
        now = time.monotonic()
        with self._lock:
            while self._calls and now - self._calls[0] > 60:
                self._calls.popleft()
            if len(self._calls) >= self.calls_per_minute:
                raise RuntimeError(f"more than {self.calls_per_minute} calls a minute")
            self._calls.append(now)
        outcome: list[Any] = []

        def call() -> None:
            try:
                outcome.append(self.ask(prompt))
            except Exception as error:
                outcome.append(error)

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(max(0.0, deadline - time.monotonic()))
        if not outcome:
            raise RuntimeError(f"no answer within {self.timeout_s} s")
        if not isinstance(outcome[0], str):
            raise RuntimeError(f"the model failed: {outcome[0]!r}")
        return outcome[0][: budget - len(prompt)]


def repair_with_model(
    text: str, model_class: Any, target: Target, repair: ModelRepair, failure: StructureParseError
) -> ParseReport[Any]:
    """Ask the model for a corrected text and parse that; raises StructureParseError with the further attempts.

    A value whose words or numbers do not occur in the original text is refused: a model may repair, not invent.
    """
    deadline = time.monotonic() + repair.timeout_s
    attempts: list[Attempt] = list(failure.tried)
    error = failure
    for number in range(repair.attempts):
        try:
            answer = repair.call(repair.prompt(error, target, text), deadline)
            report = extract_with_report(answer, model_class)
            plain = target.adapter.dump_python(report.value, mode="json", exclude_unset=True)
            for path, item in invented(plain, text):
                where = ".".join(map(str, path)) or "value"
                raise ValueError(f"{where} = {item!r} does not occur in the content: a model may not invent values")
        except (ValueError, RuntimeError, OSError) as problem:
            error = problem if isinstance(problem, StructureParseError) else error
            attempts.append((f"model_{number}", problem))
            continue
        note = Repair("model", "a model wrote the text again", (), text, answer[:200])
        return replace(
            report,
            strategy=f"model_{number}",
            repairs=(note, *report.repairs),
            tried=tuple(attempts),
            model_calls=number + 1,
        )
    raise StructureParseError(f"{failure.what}, and {len(attempts)} attempts failed", attempts, text)
