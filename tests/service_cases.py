"""What the tests of the service share as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from theworld.settings import Settings

TWO_HOP = "In which city was the director of Metropolis born?"
CHINESE = "天一阁是由谁主持建造的？"
LOCAL: dict[str, Any] = {"base_url": "http://127.0.0.1:8321", "client": ("127.0.0.1", 50_000)}


def settings_over(store: Path, **service: Any) -> Settings:
    """Settings with time enough for a busy machine, on which jobs of idle priority would not get on."""
    service = {"job_priority": "normal", **service}
    return Settings(store=store, retrieval={"deadline_ms": 60_000}, embedding={"threads": 1}, service=service)


def wait_for_b(service: Any) -> None:
    """Wait until no run of strategy B is under way."""
    service._shadows.submit(lambda: None).result()


def code(reply: Any) -> tuple[int, int]:
    """Return the status and the code of a reply in the envelope."""
    assert reply.headers["x-trace-id"] == reply.json()["trace_id"]
    return reply.status_code, reply.json()["code"]


def data_of(reply: Any) -> Any:
    """Return what a reply without a fault holds."""
    assert reply.status_code < 300, reply.text
    return reply.json()["data"]
