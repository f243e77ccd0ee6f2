"""Ask in a real browser: an answer streamed, its evidence, follow-ups, stopping, feedback, and nothing run by texts."""

from __future__ import annotations

import json
import threading
import time

import httpx
import pytest

from page_cases import HARM, called, serious
from scripted_server import Handler
from service_cases import TWO_HOP
from service_process import START_S, served
from theworld.demo.credit import write_sample

pytestmark = pytest.mark.slow
HOW = "Why is Metropolis remembered, and what did its director do before it?"


def test_an_answer_comes_with_evidence_and_its_document_opens_at_the_passage(visit, site):
    seen = visit(site)
    seen.go()
    seen.ask(TWO_HOP)
    seen.page.wait_for_selector(".rendered")
    assert "Vienna" in seen.page.inner_text(".rendered")
    assert seen.page.inner_text(".sureness .chip:first-child") in {"Sure", "Likely", "Not sure"}
    cards = seen.page.locator(".evidence-card")
    assert cards.count() >= 1
    assert seen.page.locator(".evidence-quote.rendered > p mark").count() >= 1, "rendered, with the question's words"
    assert seen.page.locator("[data-tool=account]").inner_text() == "Tenant", "no key is needed on this machine"
    seen.page.click(".rendered a.cite >> nth=0")
    seen.page.wait_for_selector(".document-text mark")
    quoted = seen.page.inner_text(".document-text mark")
    assert quoted.strip()
    assert seen.page.evaluate("document.activeElement.tagName") == "H2", "the focus goes with the reader"
    inside = (
        "m => { const a = m.getBoundingClientRect(), b = m.closest('.document-text').getBoundingClientRect();"
        " return a.top >= b.top - 1 && a.top < b.bottom }"
    )
    assert seen.page.locator(".document-text mark").first.evaluate(inside), "the passage is in sight"
    seen.unharmed()


def test_the_first_screen_says_what_there_is_and_asks_a_title_that_is_a_question(visit, site):
    made = {"id": "how.md", "title": "How to wind the Quillonian clock", "text": "Turn the brass key **twice**."}
    assert called(site, "documents", {"documents": [made]})["written"] == 1
    seen = visit(site)
    seen.go()
    seen.page.click(f".welcome button:has-text('{made['title']}')")
    seen.page.wait_for_selector(".rendered strong:has-text('twice')")
    seen.go("?")
    held = called(site, "store")["documents"]
    seen.page.evaluate("sessionStorage.clear()")
    seen.page.reload()
    seen.page.wait_for_selector(f".welcome p:has-text('Documents here: {held}')")
    assert called(site, "documents", {"ids": ["how.md"]}, "DELETE")["deleted"] == 1
    seen.unharmed()


def test_a_follow_up_says_what_it_was_understood_as(visit, site):
    seen = visit(site, locale="zh-CN")
    seen.go()
    assert seen.page.locator("#nav a[aria-current]").inner_text() == "提问"
    seen.ask("《授时历》是谁编的？")
    seen.page.wait_for_selector(".turn:nth-child(1) .rendered")
    assert "郭守敬" in seen.page.inner_text(".rendered")
    seen.ask("他是哪里人？")
    seen.page.wait_for_selector(".turn:nth-child(2) .rendered")
    understood = seen.page.inner_text(".turn:nth-child(2) .understood")
    assert understood.startswith("理解为")
    assert "郭守敬" in understood
    seen.page.reload()
    seen.page.wait_for_selector(".turn:nth-child(2) .rendered")
    seen.unharmed()


def test_rows_of_a_database_stand_below_their_answer(visit, copy_of_demo, tmp_path, monkeypatch):
    paths = write_sample(tmp_path)
    for name, value in {"URL": f"sqlite:///{paths['database']}", "ONTOLOGY": str(paths["ontology"])}.items():
        monkeypatch.setenv(f"THEWORLD_DATABASE__{name}", value)
    with served(copy_of_demo()) as (_, client, _):
        seen = visit(str(client.base_url).rstrip("/"), locale="zh-CN", width=390)
        seen.go()
        for place, question in enumerate(["你好", "天一阁是由谁主持建造的？", "2024年每月的交易笔数"], start=1):
            seen.ask(question)
            seen.page.wait_for_selector(f".turn:nth-child({place}) .rendered")
        chips = [seen.page.locator(f".turn:nth-child({n}) .sureness .chip").all_inner_texts() for n in (1, 2, 3)]
        assert chips[0] == [], "small talk is neither answered nor left without an answer"
        assert len(chips[1]) == 1, "that it is none for the database is no fallback"
        assert chips[2] == ["置信度 0.90", "由数据库行计算得出"]
        assert seen.page.locator(".answer .rows tbody tr").count() == 12
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert serious(seen.page) == []
        seen.page.click(".turn:nth-child(3) a.cite")
        assert seen.page.evaluate("document.activeElement.matches('div.evidence-open')"), "rows are no document to open"
        assert "SELECT" in seen.page.inner_text(".evidence-quote")
        seen.page.click(".turn:nth-child(3) footer a")
        seen.page.wait_for_selector(".record .rows")
        assert "由数据库行计算得出 · 置信度 0.90" in seen.page.inner_text(".record .facts")
        seen.unharmed()


def test_feedback_reaches_the_record(visit, site):
    seen = visit(site)
    seen.go()
    seen.ask(TWO_HOP)
    seen.page.click("button[aria-label='This answer is wrong']")
    seen.page.wait_for_selector("button[aria-label='This answer is wrong'][aria-pressed=true]")
    request_id = seen.page.get_attribute("footer a", "href").rpartition("/")[2]
    explained = called(site, f"retrieval/explain/{request_id}")["explanation"]
    assert [item["verdict"] for item in explained["feedback"]] == ["bad"]


def test_what_is_asked_back_is_answered_by_a_button(visit, site):
    seen = visit(site)
    seen.go()
    seen.ask("Compare Metropolis and Fritz Lang.")
    seen.page.wait_for_selector(".turn:nth-child(1) footer")
    seen.ask("When was it made?")
    seen.page.wait_for_selector(".turn:nth-child(2) .answer:not(.running)")
    options = seen.page.locator(".turn:nth-child(2) .option")
    assert options.count() >= 2, seen.page.inner_text(".turn:nth-child(2)")
    options.first.click()
    seen.page.wait_for_selector(".turn:nth-child(2) .rendered")
    assert seen.page.locator(".turn").count() == 2


def test_texts_of_others_are_shown_and_never_run(visit, site):
    seen = visit(site)
    seen.go()
    seen.ask(f"Where was the Zorblatt engine built? {HARM}")
    seen.page.wait_for_selector(".rendered")
    assert "Quillonia" in seen.page.inner_text(".rendered")
    assert "<script>" in seen.page.inner_text(".evidence-list"), "shown as text"
    assert seen.page.locator("main :is(script, iframe, object, img), main svg[onload], main [onerror]").count() == 0
    assert not seen.page.evaluate("[...document.querySelectorAll('main a')].some(a => a.protocol === 'javascript:')")
    seen.page.click(".rendered a.cite >> nth=0")
    seen.page.wait_for_selector(".document-text mark")
    seen.page.click("footer a >> nth=0")
    seen.page.wait_for_selector(".facts")
    seen.page.fill("#watched", HARM)
    seen.page.press("#watched", "Enter")
    seen.page.wait_for_function("text => document.querySelector('.asked-question')?.textContent === text", arg=HARM)
    seen.go("#/ask/<img src=x onerror=window.harmed=1>")
    seen.page.wait_for_selector("#question")
    seen.unharmed()


@pytest.mark.parametrize(("locale", "everything"), [("en-US", "All documents"), ("zh-CN", "全部文档")])
def test_chosen_documents_are_asked_alone(visit, site, locale, everything):
    seen = visit(site, locale=locale)
    seen.go()
    assert everything in seen.page.inner_text(".scope")
    seen.page.click(".scope summary >> nth=0")
    seen.page.fill("#scope-documents", "lang")
    seen.page.click(".pick:has-text('Fritz Lang')")
    seen.page.wait_for_selector(".pick[aria-pressed=true]")
    assert seen.page.locator(".scope .chip").inner_text().startswith("Fritz Lang")
    seen.ask("Who directed Metropolis, and where was he born?")
    seen.page.wait_for_selector(".turn:nth-child(1) footer")
    seen.page.reload()
    seen.page.wait_for_selector(".scope .chip")
    with seen.page.expect_request("**/api/v1/ask") as asking:
        seen.ask("Where was Fritz Lang born?")
    assert asking.value.post_data_json["filters"] == {"document_id": ["en/fritz-lang.md"]}
    assert asking.value.post_data_json["enable_database"] is asking.value.post_data_json["enable_ontology"] is False
    seen.page.wait_for_selector(".turn:nth-child(2) .rendered")
    assert "Vienna" in seen.page.inner_text(".turn:nth-child(2) .rendered")
    assert set(seen.page.locator(".evidence-title").all_inner_texts()) == {"Fritz Lang"}
    seen.page.click(".scope .chip-remove")
    assert everything in seen.page.inner_text(".scope")
    seen.page.fill("#scope-documents", "Zorblatt")
    seen.page.click(".pick:has-text('<script>')")
    seen.page.wait_for_selector(".scope .chip:has-text('<script>')")
    seen.page.fill("#scope-documents", "no document is called so")
    seen.page.wait_for_selector(".pick", state="detached")
    seen.unharmed()


def chunk(text: str) -> dict:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}


def test_output_of_a_model_streams_and_is_never_run(visit, site_with_model, model):
    seen_first = threading.Event()

    def slowly(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(f"data: {json.dumps(chunk('Fritz Lang '))}\n\n".encode())
        handler.wfile.flush()
        seen_first.wait(START_S)
        rest = json.dumps(chunk(f"was **born** in Vienna [1]. {HARM} [x](javascript:window.harmed=1)"))
        handler.wfile.write(f"data: {rest}\n\ndata: [DONE]\n\n".encode())
        handler.close_connection = True

    model.script.clear()
    model.script.append(slowly)
    seen = visit(site_with_model)
    seen.go()
    seen.ask(HOW)
    seen.page.wait_for_selector(".tokens:has-text('Fritz Lang')")
    assert seen.page.locator(".rendered").count() == 0, "shown before the answer is whole"
    seen_first.set()
    seen.page.wait_for_selector(".rendered")
    assert "Vienna" in seen.page.inner_text(".rendered")
    assert seen.page.locator(".rendered script, .rendered img").count() == 0
    seen.unharmed()


def test_stop_breaks_off_and_frees_the_place(visit, site_with_model, model):
    held = threading.Event()

    def refused_late(handler: Handler) -> None:
        held.wait(START_S)
        handler.send_response(400)  # what is broken off would be tried again
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    model.script.clear()
    model.requests.clear()  # an earlier test asks the same: its request would be taken for this one's
    model.script.append(refused_late)
    seen = visit(site_with_model)
    seen.go()
    seen.ask(HOW)
    end = time.monotonic() + START_S
    while not any("Metropolis" in body["messages"][-1]["content"] for _, _, body in model.requests):
        assert time.monotonic() < end
        seen.page.wait_for_timeout(100)
    question = {"question": TWO_HOP, "stream": False}
    busy = httpx.post(f"{site_with_model}/api/v1/ask", json=question, timeout=START_S)
    assert busy.status_code == 429, "the only place is taken"
    seen.page.click("button.stop")
    seen.page.wait_for_selector("text=Stopped.")
    held.set()  # the model's call under way ends; nothing more is done for the one who went
    asked = len(model.requests)
    again = question | {"use_model": False}
    while httpx.post(f"{site_with_model}/api/v1/ask", json=again, timeout=START_S).status_code != 200:
        assert time.monotonic() < end
        seen.page.wait_for_timeout(200)
    assert len(model.requests) == asked
    assert not seen.page.locator("button.stop").is_visible()
