"""The Model Context Protocol by the official SDK's client, over HTTP and over stdio."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import unquote

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from service_cases import CHINESE, TWO_HOP, Held, leave_half_way, wait_until
from service_process import START_S, THEWORLD, fetch, listening
from theworld.graph import build_graph
from theworld.service.app import create_app

pytestmark = pytest.mark.slow


async def tour(client: Client) -> None:
    """Everything the server offers, as a client sees it."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"search", "fetch", "ask"}
    assert all(tool.output_schema and tool.annotations.read_only_hint for tool in tools.values())

    found = await client.call_tool("search", {"query": TWO_HOP, "limit": 3})
    results = found.structured_content["results"]
    assert json.loads(found.content[0].text) == found.structured_content, "the text is the same, for older clients"
    assert 1 <= len(results) <= 3
    assert len({one["id"] for one in results}) == len(results)
    assert all(set(one) >= {"id", "title", "url"} and one["id"] for one in results)

    whole = (await client.call_tool("fetch", {"id": results[0]["id"]})).structured_content
    assert set(whole) == {"id", "title", "text", "url", "metadata"}
    part = (await client.call_tool("fetch", {"id": results[0]["id"], "start": 5, "length": 10})).structured_content
    assert part["text"] == whole["text"][5:15]
    assert part["metadata"]["next_start"] == 15
    assert "next_start" not in whole["metadata"]

    for question, said in ((TWO_HOP, "Vienna"), (CHINESE, "范钦")):
        answer = await client.call_tool("ask", {"question": question})
        assert said in answer.structured_content["answer"]
        assert answer.content[0].text.startswith(answer.structured_content["answer"])
        assert all(
            one["text"] and one["url"] in answer.content[0].text for one in answer.structured_content["citations"]
        )
    history = [
        {"role": "user", "content": "Who was Ada Lovelace?"},
        {"role": "assistant", "content": "Ada Lovelace was an English mathematician."},
    ]
    answer = await client.call_tool("ask", {"question": "When was she born?", "history": history})
    assert "Ada Lovelace" in answer.structured_content["understood"]

    resources, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        resources += page.resources
        if (cursor := page.next_cursor) is None:
            break
    assert results[0]["id"] in {resource.name for resource in resources}
    assert len({str(resource.uri) for resource in resources}) == len(resources)
    first = next(resource for resource in resources if resource.name == results[0]["id"])
    assert unquote(str(first.uri)).endswith(first.name)
    assert (await client.read_resource(str(first.uri))).contents[0].text == whole["text"]


async def wrong(client: Client) -> None:
    """Wrong arguments are the tool's error, or the protocol's."""
    for tool, arguments in (
        ("fetch", {}), ("fetch", {"id": 3}), ("fetch", {"id": "unknown"}), ("fetch", {"id": "a\x00"}),
        ("search", {"query": ""}), ("search", {"query": "x" * 20_001}), ("search", {"query": "x", "limit": 0}),
        ("ask", {"question": "?!"}), ("ask", {"question": "x", "history": [{"role": "tool", "content": "x"}]}),
        ("ask", {"question": "x\x00y"}), ("unknown", {}),
    ):  # fmt: skip
        reply = await client.call_tool(tool, arguments)
        assert reply.is_error, (tool, arguments)
        assert "Traceback" not in reply.content[0].text
    reply = await client.call_tool("search", {})
    assert reply.content[0].text == "the argument 'query' is missing"
    with pytest.raises(MCPError):
        await client.read_resource("theworld://documents/unknown")


@asynccontextmanager
async def over_http(url: str, key: str = "", mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http(live, mode):
    async with over_http(live, mode=mode) as client:
        await tour(client)
        await wrong(client)


async def test_over_stdio(copy_of_demo):
    command = [*THEWORLD, "mcp", "--store", str(copy_of_demo())]
    environment = dict(os.environ) | {"THEWORLD_RETRIEVAL__DEADLINE_MS": "60000"}
    process = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with Client(stdio_client(process)) as client:
        await tour(client)
        found = (await client.call_tool("search", {"query": TWO_HOP})).structured_content["results"][0]
        assert (await client.read_resource(found["url"])).contents, "no page is served: it is the document itself"
        await wrong(client)


async def test_keys_and_tenants(guarded):
    url, _, keys = guarded
    async with over_http(url, keys["default"]) as client:
        assert "Vienna" in (await client.call_tool("ask", {"question": TWO_HOP})).structured_content["answer"]
        own = (await client.list_resources()).resources[0]
    async with over_http(url, keys["other"]) as client:
        assert "Vienna" not in (await client.call_tool("ask", {"question": TWO_HOP})).structured_content["answer"]
        assert (await client.list_resources()).resources == []
        assert (await client.call_tool("fetch", {"id": own.name})).is_error
        with pytest.raises(MCPError):
            await client.read_resource(str(own.uri))
    for headers in ({}, {"Authorization": "Bearer none"}):
        reply = fetch("POST", f"{url}/mcp", json={}, headers=headers)
        assert (reply.status_code, reply.json()["jsonrpc"]) == (401, "2.0")


def test_what_is_no_message_is_refused(live):
    def status(**sent):
        reply = fetch("POST", f"{live}/mcp", **sent)
        assert "error" in reply.json()
        return reply.status_code

    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert fetch("POST", f"{live}/mcp", json=message).json()["result"]["tools"]
    assert status(content="x") == 415
    assert status(content="x", headers={"content-type": "application/json"}) == 400
    assert status(json=message, headers={"origin": "http://elsewhere.example"}) == 403, "a page of another origin"
    assert fetch("GET", f"{live}/mcp").status_code == 405
    assert fetch("POST", f"{live}/mcp", json=message, headers={"origin": live}).status_code == 200


def test_a_client_that_goes_frees_the_place(service, monkeypatch):
    held = Held(build_graph(service.resources), monkeypatch)
    own = replace(service, graph=held)
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "Who?"}},
    }
    with listening(create_app(own)) as url:
        leave_half_way(f"{url}/mcp", body, held)
        wait_until(lambda: own.limiter.present == 0)
    assert len(held.nodes) == 1, "it was stopped between two nodes"


def test_a_store_that_is_not_there_is_said(tmp_path):
    import subprocess

    done = subprocess.run(
        [*THEWORLD, "mcp", "--store", str(tmp_path / "nowhere")],
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )
    assert done.returncode == 4
    assert done.stdout == ""
    assert "there is no store here" in done.stderr
