"""A real browser before a real server over a copy of the demo store that also holds documents made to do harm."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from page_cases import HARMFUL
from scripted_server import ScriptedServer, scripted_server
from service_process import START_S, served

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))


@dataclass
class Visit:
    """A page in a fresh browser context, and what it complained about."""

    page: Any
    url: str
    complaints: list[str] = field(default_factory=list)

    def go(self, address: str = "") -> None:
        self.page.goto(f"{self.url}/{address}")

    def ask(self, question: str) -> None:
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")

    def unharmed(self) -> None:
        assert self.page.evaluate("window.harmed") is None
        assert not self.complaints, self.complaints


@pytest.fixture(scope="module")  # its event loop runs as long as it is open, and would keep others from running theirs
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}: apt-get install chromium, or name one in CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra dev)")
    playwright.expect.set_options(timeout=1000 * START_S)
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def site(copy_of_demo: Callable[[], Path]) -> Iterator[str]:
    """Address of a server without a model."""
    with served(copy_of_demo()) as (_, client, _):
        reply = client.post("/api/v1/documents", json={"documents": [HARMFUL]})
        assert reply.json()["data"]["written"] == 1, reply.text
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        yield running
        running.test_is_over.set()


@pytest.fixture(scope="session")
def site_with_model(copy_of_demo: Callable[[], Path], model: ScriptedServer) -> Iterator[str]:
    """Address of a server whose model is at the scripted one, and that takes one request at a time."""
    settings = {
        "THEWORLD_MODEL__NAME": "scripted", "THEWORLD_MODEL__BASE_URL": model.url, "THEWORLD_MODEL__API_KEY": "none",
        "THEWORLD_MODEL__TIMEOUT_S": str(START_S), "THEWORLD_SERVICE__RUNNING": "1",
        "THEWORLD_SERVICE__WAITING": "0",
    }  # fmt: skip
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:  # for the server's process alone, not for the tests that follow
            for name, value in settings.items():
                patch.setenv(name, value)
            _, client, _ = stack.enter_context(served(copy_of_demo()))
        yield str(client.base_url).rstrip("/")


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens pages: visit(url, width=..., locale=..., **context)."""
    contexts = []

    def opened(url: str, *, width: int = 1280, height: int = 820, locale: str = "en-US", **options: Any) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": height}, locale=locale, **options)
        contexts.append(context)
        context.set_default_timeout(1000 * START_S)
        visited = Visit(context.new_page(), url)
        visited.page.on("pageerror", lambda error: visited.complaints.append(str(error)))
        visited.page.on("dialog", lambda dialog: (visited.complaints.append(dialog.message), dialog.dismiss()))
        visited.page.on("console", lambda said: said.type == "error" and visited.complaints.append(said.text))
        return visited

    yield opened
    for context in contexts:
        context.close()
