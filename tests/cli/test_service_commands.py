"""`theworld keys | explain | replay`, and what `serve` says before it starts."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import sys

import pytest

from theworld.cli import serve
from theworld.errors import StoreError
from theworld.service.requests.record import FinishedRequest, record_of
from theworld.service.requests.running import run_graph
from theworld.settings import Settings
from theworld.state import Context, QueryInput
from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.opening import open_database
from theworld.stores.ledger.request_log import RequestJournal

pytestmark = pytest.mark.slow


@pytest.fixture
def own(store, tmp_path):
    return shutil.copytree(store, tmp_path / "own.store")


def test_a_key_is_shown_once_listed_without_its_secret_and_revoked(cli, own):
    made = cli("keys", "create", "--name", "ci", "--tenant", "red", "--scope", "query", "--store", own)
    assert made.code == 0
    token = made.out.strip()
    listed = cli("keys", "list", "--store", own)
    key_id, secret = token.split("_", 2)[1:]
    assert key_id in listed.out
    assert secret not in listed.out + json.dumps(json.loads(cli("keys", "list", "--json", "--store", own).out))
    with open_database(own, writable=True) as ledger:
        assert KeyRing(ledger).verify(token).tenants == ("red",)
    assert cli("keys", "revoke", key_id, "--store", own).code == 0
    with open_database(own, writable=True) as ledger:
        assert KeyRing(ledger).verify(token) is None
    assert cli("keys", "revoke", key_id, "--store", own).code == 2
    assert cli("keys", "create", "--scope", "everything", "--store", own).code == 2


def test_explain_and_replay_of_a_request_on_record(cli, own):
    from theworld.graph import build_graph, open_resources

    with open_resources(Settings(store=own, retrieval={"deadline_ms": 60_000})) as resources:
        run = run_graph(build_graph(resources), QueryInput(question="Who was the drummer of Rush?"), Context())
        sequence, model = resources.store.ledger.sequence(), resources.reranker.name
        asked = FinishedRequest("default", "abc", "t", "ask", "answer", run, resources.settings, sequence, model, 1.0)
    with open_database(own, writable=True) as ledger:
        RequestJournal(ledger).write([record_of(asked)])
    told = cli("explain", "abc", "--store", own)
    assert told.code == 0
    assert "Neil Peart" in told.out
    assert cli("explain", "--store", own).out == told.out, "without an id it is the last request"
    assert "理由" in cli("explain", "abc", "--language", "zh", "--store", own).out
    assert json.loads(cli("explain", "abc", "--format", "json", "--store", own).out)["request"]["request_id"] == "abc"
    assert cli("explain", "abc", "--format", "mermaid", "--store", own).out.startswith("flowchart")
    again = cli("replay", "abc", "--store", own)
    assert (again.code, again.out) == (0, "The same, byte for byte.\n")
    words = '{"name": "words", "channels": ["sparse"]}'
    compared = cli("replay", "abc", "--strategy", words, "--strategy", '{"name": "same"}', "--store", own)
    assert compared.code == 0
    assert "Strategy words:\nIt differs.\n  it was asked with strategy words\n" in compared.out
    assert compared.out.endswith("Strategy same:\nThe same, byte for byte.\n")
    told = json.loads(cli("replay", "abc", "--strategy", words, "--json", "--store", own).out)
    assert not told["strategies"]["words"]["stages"]["channels"]
    wrong = cli("replay", "abc", "--strategy", "{", "--store", own)
    assert (wrong.code, "--strategy" in wrong.err) == (2, True)
    unknown = cli("explain", "nothing", "--store", own)
    assert unknown.code == 4
    assert "nothing" in unknown.err
    assert "theworld serve" in " ".join(unknown.err.split()), "it says who puts requests on record"


def test_a_replay_that_differs_says_so_and_exits_with_1(cli, own, tmp_path):
    from theworld.graph import build_graph, open_resources

    with open_resources(Settings(store=own, retrieval={"deadline_ms": 60_000})) as resources:
        run = run_graph(build_graph(resources), QueryInput(question="Who was the drummer of Rush?"), Context())
        asked = FinishedRequest("default", "abc", "t", "ask", "answer", run, resources.settings, 1, "m", 1.0)
    with open_database(own, writable=True) as ledger:
        RequestJournal(ledger).write([record_of(asked)])
    assert cli("delete", "peart.md", "--store", own).code == 0
    again = cli("replay", "abc", "--json", "--store", own)
    assert again.code == 1
    found = json.loads(again.out)
    assert not found["exact"]
    assert found["causes"]
    assert found["differences"]


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ({}, "need no API key"),
        ({"keys": "required"}, "No API key exists yet"),
        ({"host": "0.0.0.0"}, "Requests need an API key"),
    ],
)
def test_serve_says_on_which_terms_it_is_open(own, capsys, service, said):
    serve._check(Settings(store=own, service={"port": 0} | service))
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_port_in_use_is_told_before_models_are_loaded(cli, own):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = cli("serve", "--store", own, "--port", str(port))
    assert refused.code == 2
    assert f"port {port} of 127.0.0.1" in refused.err
    assert "--port" in refused.err
    assert "Loading" not in refused.err


def test_a_store_that_can_only_be_read_is_refused_in_one_line(cli, own, monkeypatch):
    def only_read(folder, *given, writable=False, **options):
        if writable:  # what SQLite says on a read-only file system, which permission bits are not for the superuser
            raise StoreError("the ledger failed: unable to open database file.", where=str(folder))
        return open_database(folder, *given, **options)

    monkeypatch.setattr("theworld.stores.ledger.opening.open_database", only_read)
    monkeypatch.setattr("uvicorn.run", lambda *_given, **_options: pytest.fail("it went on"))
    refused = cli("serve", "--store", own, "--port", "0")
    assert (refused.code, refused.err.count("\n")) == (4, 1)
    assert "unable to open database file" in refused.err


@pytest.mark.parametrize(("workers", "said"), [("1", "Open http"), ("2", "Starting 2 processes.")])
def test_the_address_is_told_as_one_that_answers_or_will(monkeypatch, workers, said):
    monkeypatch.setenv("THEWORLD_SERVICE__WORKERS", workers)
    line = logging.LogRecord("x", 20, "", 0, "Uvicorn running on http://127.0.0.1:1 (Press CTRL+C to quit)", None, None)
    assert serve._say_open(line)
    assert line.msg.startswith(said)
    assert line.msg.endswith("Open http://127.0.0.1:1 in a browser (Ctrl-C stops)")


def test_a_service_without_its_packages_says_how_to_install_them(cli, own, monkeypatch):
    monkeypatch.setitem(sys.modules, "theworld.service.api.access", None)
    refused = cli("serve", "--store", own, "--port", "0")
    assert refused.code == 2
    assert refused.err.startswith(
        "theworld: `theworld serve` needs theworld.service.api.access. Install it: pip install"
    )
