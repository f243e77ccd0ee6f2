"""The service as its users start it: a process of its own, asked over TCP, stopped, and killed."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import suppress

import httpx
import pytest
import uvicorn

from service_cases import TWO_HOP, settings_over, wait_until
from service_process import START_S, served
from theworld.service.app import create_app
from theworld.service.documents import DocumentWriter
from theworld.stores.ledger.opening import open_database
from theworld.stores.ledger.request_log import RequestJournal

pytestmark = pytest.mark.slow


def test_serve_says_its_terms_answers_and_finishes_what_runs(copy_of_demo):
    store = copy_of_demo()
    with served(store) as (process, client, lines):
        assert any("need no API key" in line for line in lines)
        ready = client.get("/readyz").json()
        assert ready["data"]["ready"], ready
        assert {engine["name"] for engine in ready["data"]["engines"]} >= {"ledger", "sparse", "dense", "graph"}
        with client.stream("POST", "/api/v1/ask", json={"question": TWO_HOP}) as reply:
            request_id = reply.headers["x-request-id"]
            events = reply.iter_lines()
            assert next(events) == "event: stage", "it is under way"
            process.send_signal(signal.SIGTERM)
            told = "\n".join(events)
        assert "event: final" in told
        assert "Vienna" in told
        assert process.wait(START_S) in {0, -signal.SIGTERM, 128 + signal.SIGTERM}
    with open_database(store, writable=True) as ledger:
        record = RequestJournal(ledger).read(request_id, tenant="default")
    assert record is not None, "what was answered is on record"


def test_a_second_interrupt_ends_what_runs_without_a_traceback(copy_of_demo):
    with served(copy_of_demo()) as (process, client, lines):
        sent = (
            b"POST /api/v1/ask HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        with socket.create_connection((client.base_url.host, client.base_url.port)) as waiting:
            waiting.sendall(sent)
            assert client.get("/readyz").status_code == 200
            process.send_signal(signal.SIGINT)
            wait_until(lambda: any("Waiting for connections" in line for line in lines))
            process.send_signal(signal.SIGINT)
            process.wait(START_S)
    assert not [line for line in lines if "Traceback" in line or "Error" in line]


def test_a_new_store_is_made_and_filled_over_http(tmp_path):
    with served(tmp_path / "new.store") as (_, client, _):
        documents = [
            {"id": "rush", "title": "Rush", "text": "Rush was a Canadian rock band. Its drummer was Neil Peart."},
            {"id": "tiantan", "title": "天坛", "text": "天坛位于北京市东城区，始建于1420年。"},
            {"id": "bad", "text": "\u0000"},
        ]
        assert "load models" in note_of(client, "documents")
        written = client.post("/api/v1/documents", json={"documents": documents}).json()["data"]
        assert (written["written"], [item["id"] for item in written["failed"]]) == (2, ["bad"])
        assert note_of(client, "documents") == ""
        ask = {"question": "Who was the drummer of Rush?", "stream": False}
        assert "Neil Peart" in client.post("/api/v1/ask", json=ask).json()["data"]["answer"]
        found = client.post("/api/v1/retrieval/search", json={"query": "天坛在哪里？"}).json()["data"]
        assert found["candidates"][0]["document_id"] == "tiantan"
        again = client.post("/api/v1/documents", json={"documents": documents[:2]}).json()["data"]
        assert (again["written"], again["unchanged"]) == (0, 2)
        gone = client.request("DELETE", "/api/v1/documents", json={"ids": ["rush", "unknown"]}).json()["data"]
        assert gone == {"deleted": 1}
        found = client.post("/api/v1/retrieval/search", json={"query": "drummer of Rush"}).json()["data"]
        assert "rush" not in {candidate["document_id"] for candidate in found["candidates"]}


def test_killed_under_load_no_request_is_half_written(copy_of_demo):
    store = copy_of_demo()
    with served(store) as (process, client, _):
        done = []

        def ask():
            with suppress(httpx.TransportError), httpx.Client(base_url=client.base_url, timeout=START_S) as own:
                while True:
                    data = own.post("/api/v1/retrieval/search", json={"query": TWO_HOP}).json()["data"]
                    done.append(data["request_id"])

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)]
        for thread in threads:
            thread.start()
        while len(done) < 30 or not metric(client, "theworld_log_written"):
            assert any(thread.is_alive() for thread in threads)
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        for thread in threads:
            thread.join(60)
    with open_database(store, writable=True) as ledger:
        assert_whole(ledger, least=1)


def note_of(client, name):
    engines = client.get("/readyz").json()["data"]["engines"]
    return next(engine["note"] for engine in engines if engine["name"] == name)


def metric(client, name, label=""):
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name) and label in line)


def assert_whole(ledger, *, least):
    journal = RequestJournal(ledger)
    rows = list(journal.requests("default"))
    assert len(rows) >= least
    for row in rows:
        record = journal.read(row["request_id"], tenant="default")
        assert record.route is not None
        assert len(record.ranking) == 20
        assert {hit["source"] for hit in record.candidates} == {"sparse", "dense", "graph"}
    with ledger.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def test_several_workers_share_store_and_metrics(copy_of_demo):
    with served(copy_of_demo(), "--workers", "2") as (_, client, _):
        for _ in range(20):
            with httpx.Client(base_url=client.base_url, timeout=START_S) as own:
                assert own.post("/api/v1/retrieval/route", json={"query": TWO_HOP}).status_code == 200
        # Whichever worker is asked tells of all; a reply is counted when it has been sent, a record when it is written.
        expected = {"requests_total": 20, "log_written": 20, "log_waiting": 0, "requests_present": 0}
        wait_until(lambda: {name: told(client, name) for name in expected} == expected)


def test_several_workers_take_turns_at_writing(copy_of_demo, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "light.md").write_text("# Old Light\n\nIt stands on a granite island.\n", "utf-8")
    replies = []

    def write(number):
        for turn in range(3):  # each time by a connection of its own: any worker may take it
            content = f"# Note {number}\n\nText {turn} of note {number}.\n"
            reply = httpx.post(
                f"{url}/documents/file", params={"name": f"{number}.md"}, content=content, timeout=START_S
            )
            replies.append((reply.status_code, reply.text))

    with served(copy_of_demo(), "--workers", "2", "--watch", str(folder)) as (_, client, lines):
        url = f"{client.base_url}/api/v1".replace("//api", "/api")
        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(START_S)
        assert [text for status, text in replies if status != 200] == []
        assert len(replies) == 12
        wait_until(lambda: any("1 documents written" in line for line in lines))
    assert not [line for line in lines if "waits" in line]


@pytest.mark.parametrize(("uploads", "statuses"), [(1, [200]), (2, [200, 503])])
def test_an_upload_under_way_ends_properly_when_the_server_stops(copy_of_demo, monkeypatch, uploads, statuses):
    """What has begun is done and told; what still waits is told that the service stops."""
    begun, replies = threading.Event(), []
    put = DocumentWriter.put_file

    def slow(*given, **options):
        begun.set()
        time.sleep(4)
        return put(*given, **options)

    monkeypatch.setattr(DocumentWriter, "put_file", slow)
    app = create_app(settings=settings_over(copy_of_demo()), bound_to="127.0.0.1")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/api/v1/documents/file"

    def upload(number):
        content = f"# Note {number}\n\nText of it.\n"
        replies.append(httpx.post(url, params={"name": f"{number}.md"}, content=content, timeout=START_S))

    clients = [threading.Thread(target=upload, args=(number,)) for number in range(uploads)]
    for client in clients:
        client.start()
    assert begun.wait(START_S)
    time.sleep(1)  # the other waits by now
    server.should_exit = True
    for running in (*clients, thread):
        running.join(START_S)
    assert sorted(reply.status_code for reply in replies) == statuses
    for reply in replies:
        if reply.status_code == 200:
            assert reply.json()["data"]["written"] == 1
        else:
            assert reply.json()["code"] == 2005
            assert "The service is stopping." in reply.json()["message"]


def told(client, name):
    return metric(client, f"theworld_{name}", "route" if name == "requests_total" else "")
