"""The service over a ledger on a real PostgreSQL, from two folders, as on two machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, data_of
from services.postgres_ledger import PATIENT_S, drop_schema, settings_for
from theworld.service.app import create_app
from theworld.service.runtime import open_service
from theworld.settings import Settings
from theworld.stores.moving import move_ledger

pytestmark = pytest.mark.slow
QUESTION = "Who keeps the lighthouse of Velmora?"
DOCUMENT = {"id": "velmora", "title": "Velmora", "text": "The lighthouse of Velmora is kept by Ada Quill since 1971."}


def test_what_one_machine_writes_the_other_answers_from(
    copy_of_demo: Callable[[], Path], tmp_path: Path, postgres_url: str, ledger: str
) -> None:
    chosen = settings_for(postgres_url, ledger)
    here = Settings(store=copy_of_demo(), ledger=chosen, retrieval={"deadline_ms": 60_000}, embedding={"threads": 1})
    move_ledger(here)
    there = here.model_copy(update={"store": tmp_path / "there"})
    with (
        open_service(here, bound_to="127.0.0.1") as one,
        open_service(there, bound_to="127.0.0.1") as other,
        TestClient(create_app(one), **LOCAL) as writer,
        TestClient(create_app(other), **LOCAL) as reader,
    ):
        assert data_of(reader.get("/readyz"))["ready"]
        data_of(writer.post("/api/v1/documents", json={"documents": [DOCUMENT]}))
        deadline = time.monotonic() + PATIENT_S
        while "Quill" not in (answer := data_of(reader.post("/api/v1/ask", json=asked())))["answer"]:
            assert time.monotonic() < deadline, answer
        request_id = answer["request_id"]
        shown = until_recorded(lambda: writer.get(f"/api/v1/retrieval/explain/{request_id}"))
        assert "Velmora" in str(shown)
        data_of(writer.post("/api/v1/feedback", json={"request_id": request_id, "verdict": "good"}))
        data_of(reader.post("/api/v1/documents", json={"documents": [{**DOCUMENT, "id": "velmora-2"}]}))
    drop_schema(chosen)


def asked() -> dict[str, Any]:
    return {"question": QUESTION, "stream": False}


def until_recorded(get: Callable[[], Any]) -> Any:
    """Records are written behind the answers."""
    deadline = time.monotonic() + PATIENT_S
    while (reply := get()).status_code == 404 and time.monotonic() < deadline:
        time.sleep(0.05)
    return data_of(reply)
