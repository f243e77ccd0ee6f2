"""The graph in LangGraph's own development server, offline, driven as Studio drives it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow]

OFFLINE = {
    "LANGGRAPH_NO_VERSION_CHECK": "1",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGSMITH_TRACING": "false",
    "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
}


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def server(copy_of_demo, tmp_path_factory):
    """`langgraph dev` with the project's langgraph.json, over a copy of the demo store; blocking calls fail."""
    folder = tmp_path_factory.mktemp("studio")
    config = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    config["env"] = {"THEWORLD_STORE": str(copy_of_demo()), "THEWORLD_RETRIEVAL__DEADLINE_MS": "60000"}
    (folder / "langgraph.json").write_text(json.dumps(config), "utf-8")
    port = free_port()
    command = [str(Path(sys.executable).with_name("langgraph")), "dev", "--no-browser", "--no-reload"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)], cwd=folder, env=os.environ | OFFLINE, stdout=log, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(30)
    assert "BlockingError" not in (folder / "log").read_text("utf-8")


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        assert process.poll() is None, log.read_text("utf-8")
        try:
            if httpx.get(f"{url}/ok", timeout=2).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(log.read_text("utf-8"))


@pytest.fixture(scope="module")
def client(server):
    sdk = pytest.importorskip("langgraph_sdk")
    with sdk.get_sync_client(url=server) as opened:
        yield opened


def test_schemas_fill_the_forms(client):
    (assistant,) = client.assistants.search()
    assert "citations" in assistant["description"]
    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    assert {"question", "history", "messages"} <= set(schemas["input_schema"]["properties"])
    assert {"answer", "kind", "citations", "degradations"} <= set(schemas["output_schema"]["properties"])
    assert {"tenant", "deadline_ms", "channels"} <= set(schemas["context_schema"]["properties"])


def test_a_run_with_context(client):
    question = {"question": "Who was the commander of Apollo 11?"}
    output = client.runs.wait(None, "theworld", input=question, context={"top_k": 3})
    assert "Armstrong" in output["answer"]
    assert len(output["candidates"]) == 3


def test_the_chat_tab(client):
    thread = client.threads.create()["thread_id"]
    for content in ("Who was Ada Lovelace?", "Where was she buried?"):
        message = {"role": "user", "content": content}
        output = client.runs.wait(thread, "theworld", input={"messages": [message]})
    assert [m["type"] for m in output["messages"]] == ["human", "ai", "human", "ai"]
    assert "Ada Lovelace" in output["query"]


def test_stages_stream(client):
    chunks = client.runs.stream(None, "theworld", input={"question": "天一阁是由谁主持建造的？"}, stream_mode="updates")
    nodes = [node for chunk in chunks if chunk.event == "updates" for node in chunk.data]
    assert nodes[0] == "receive_question"
    assert nodes[-1] == "finish_answer"


@pytest.mark.parametrize(
    "path",
    ["", "page/app.js", "page/words/en.json", "healthz", "readyz", "api/v1/nodes", "api/v1/store", "api/v1/documents"],
)
def test_the_page_and_what_it_shows_do_not_block(server, path):
    reply = httpx.get(f"{server}/{path}", timeout=60)
    assert reply.status_code == 200, reply.text


def test_the_service_is_mounted_beside_the_graph(server):
    body = {"query": "In which city was the director of Metropolis born?", "top_k": 3}
    reply = httpx.post(f"{server}/api/v1/retrieval/search", json=body, timeout=60).json()
    assert reply["code"] == 0
    assert len(reply["data"]["candidates"]) == 3
    explained = f"{server}/api/v1/retrieval/explain/{reply['data']['request_id']}"
    assert httpx.get(explained, timeout=60).json()["code"] == 0
