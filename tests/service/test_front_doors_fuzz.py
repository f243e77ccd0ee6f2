"""The endpoints in clients' own forms, sent what their documented examples become by chance: never a server error.

benchmarks/service.py fuzz does the same with schemathesis, thousands of times, over every endpoint.
"""

from __future__ import annotations

import copy
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow
ERRORS = {"v1": {"error"}, "rerank": {"error", "error_type"}, "dify": {"error_code", "error_msg"}}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def operations(client):
    """(path, example) of every endpoint of the front doors that takes a body."""
    document = client.get("/openapi.json").json()
    return tuple((path, example) for path, example in examples(document) if path.split("/")[1] in ERRORS)


def examples(document):
    for path, operation in document["paths"].items():
        content = operation.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json")
        if content is not None:
            schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
            yield from ((path, example) for example in schema["examples"])


def places(value, before=()):
    """Every place in a JSON value, as the keys that lead to it."""
    yield before
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*before, key))


def put(value, place, new):
    if not place:
        return new
    changed = copy.deepcopy(value)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = new
    return changed


@cache
def fields():
    from theworld.service import dify
    from theworld.service.openai import schemas

    found = {name for module in (schemas, dify) for one in vars(module).values() for name in fields_of(one)}
    return sorted(found)


def fields_of(one):
    return getattr(one, "model_fields", {})


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_body_is_a_server_error(client, operations, data):
    path, body = data.draw(st.sampled_from(operations))
    for _ in range(data.draw(st.integers(0, 2))):
        if isinstance(body, dict) and data.draw(st.booleans()):
            body = {**body, data.draw(st.sampled_from(fields())): data.draw(VALUES)}
        body = put(body, data.draw(st.sampled_from(list(places(body)))), data.draw(VALUES))
    reply = client.post(path, json=body)
    assert reply.status_code < 500, reply.text
    if reply.status_code != 200:
        assert set(reply.json()) == ERRORS[path.split("/")[1]], reply.text


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_message_is_a_server_error(client, data):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fetch", "arguments": {"id": "x"}}}
    body["method"] = data.draw(
        st.sampled_from(["tools/call", "tools/list", "resources/list", "resources/read", "initialize", "ping", "x"])
    )
    for _ in range(data.draw(st.integers(0, 2))):
        body = put(body, data.draw(st.sampled_from(list(places(body)))), data.draw(VALUES))
    version = data.draw(st.sampled_from(["2025-06-18", "2026-07-28", "x"]))
    headers = {"MCP-Protocol-Version": version, "Accept": "application/json, text/event-stream"}
    reply = client.post("/mcp", json=body, headers=headers)
    assert reply.status_code < 500, reply.text
