"""The test bench in a real browser: two settings of one question side by side, and nothing live that counts them."""

from __future__ import annotations

import pytest

from page_cases import HARM, asked, called, serious
from service_cases import CHINESE, TWO_HOP
from service_process import served
from theworld.demo.credit import load_credit_ontology, write_sample
from theworld.ontology.storing import import_ontology
from theworld.stores.knowledge_store import KnowledgeStore

pytestmark = pytest.mark.slow
DONE = ".bench-results:not([aria-busy=true]) .bench-times"


def tried(seen, question: str) -> None:
    seen.page.fill("#tried", question)
    seen.page.press("#tried", "Enter")
    seen.page.wait_for_selector(DONE)


def searched(site: str, question: str, **more: object) -> list[dict]:
    return called(site, "retrieval/bench", {"query": question, "top_k": 10, **more})["candidates"]


@pytest.mark.parametrize(
    ("scheme", "locale", "width", "question", "skipped"),
    [("light", "en-US", 1280, TWO_HOP, "not reranked"), ("dark", "zh-CN", 390, CHINESE, "未重排")],
)
def test_two_settings_side_by_side(visit, site, scheme, locale, width, question, skipped):
    seen = visit(site, color_scheme=scheme, locale=locale, width=width, bypass_csp=True)  # axe brings its own script
    seen.go("#/bench")
    tried(seen, question)
    lists = [searched(site, question), searched(site, question, enable_rerank=False)]
    ranks = [{note["note_id"]: place for place, note in enumerate(notes)} for notes in lists]
    assert list(ranks[0]) != list(ranks[1]), "reranking moves something here"
    for side, notes, own, other in zip("AB", lists, ranks, reversed(ranks), strict=True):
        shown = seen.page.locator(f"section[data-side={side}] .passage")
        assert shown.locator(".spread a").all_inner_texts() == [note["title"] for note in notes]
        assert shown.locator(".excerpt").all_text_contents() == [note["text"] for note in notes]
        marks = [text.split()[0] for text in shown.locator(".moved").all_text_contents()]
        moves = [(own[note["note_id"]], other.get(note["note_id"])) for note in notes]
        assert [mark[0] in "↑↓=" for mark in marks] == [before is not None for _, before in moves]
        assert [mark[0] for mark, (_, before) in zip(marks, moves, strict=True) if before is not None] == [
            "↑" if now < before else "↓" if now > before else "=" for now, before in moves if before is not None
        ]
        first = shown.first.locator(".scores td").all_inner_texts()
        assert [cell.split()[0] for cell in first[:3]] == [
            str(notes[0]["channels"][name]["rank"]) if name in notes[0]["channels"] else "–"
            for name in ("sparse", "dense", "graph")
        ]
        assert first[5].split()[0] == f"{notes[0]['final_score']:.2f}"
    files = seen.page.locator(".bench-files tbody tr")
    assert files.count() == len({note["document_id"] for notes in lists for note in notes})
    assert skipped in seen.page.inner_text("section.card[data-side=B]")
    stages = seen.page.locator(".bench-times tbody tr").all_inner_texts()
    assert sum("ms" in row for row in stages) == len(stages) >= 5
    assert not serious(seen.page)
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen.unharmed()


def test_each_switch_is_sent_and_one_setting_is_enough(visit, site):
    seen = visit(site)
    seen.go("#/bench")
    seen.page.uncheck("#compare")
    assert seen.page.locator("fieldset").count() == 1
    assert seen.page.locator("[data-name=database], [data-name=ontology]").count() == 0, "there is none"
    for name in ("sparse", "graph", "rerank", "router"):
        seen.page.uncheck(f"[data-name={name}]")
    seen.page.fill("#k-A", "3")
    with seen.page.expect_request("**/retrieval/bench") as sent:
        tried(seen, TWO_HOP)
    body = sent.value.post_data_json
    assert (body["channels"], body["top_k"]) == (["dense"], 3)
    assert (body["enable_rerank"], body["enable_router"]) == (False, False)
    assert seen.page.locator(".passage").count() == 3
    assert seen.page.locator(".moved").count() == 0
    seen.page.uncheck("[data-name=dense]")
    seen.page.press("#tried", "Enter")
    assert "at least one" in seen.page.locator("fieldset input").first.evaluate("box => box.validationMessage")
    seen.page.check("[data-name=sparse]")
    seen.page.fill("#k-A", "0")
    assert seen.page.locator("form:invalid").count() == 1
    seen.unharmed()


def test_nothing_live_counts_it_and_results_stay(visit, site):
    asked(site, TWO_HOP)
    online = called(site, "metrics/online")
    seen = visit(site)
    seen.go("#/bench")
    tried(seen, TWO_HOP)
    assert called(site, "metrics/online") == online
    passages = seen.page.locator(".passage").count()
    seen.page.click(".passage a >> nth=0")
    seen.page.wait_for_selector(".view-documents pre")
    seen.page.go_back()
    seen.page.wait_for_selector(DONE)
    seen.page.click("[data-tool=language]")
    seen.page.wait_for_selector("h2:has-text('设置 A')")
    assert seen.page.locator(".passage").count() == passages
    assert seen.page.input_value("#tried") == TWO_HOP
    seen.unharmed()


def test_the_keyboard_alone_tries_and_stops(visit, site):
    seen = visit(site)
    seen.go("#/bench")
    seen.page.wait_for_selector("#tried")
    for _ in range(20):
        seen.page.keyboard.press("Tab")
        if seen.page.evaluate("document.activeElement.id") == "tried":
            break
    seen.page.keyboard.type(TWO_HOP)
    seen.page.route("**/retrieval/bench", lambda _: None)  # held until the page lets go
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector(".bench-results[aria-busy=true]")
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector(".bench-results[aria-busy=false]", state="attached")
    assert seen.page.inner_text("#announce") == "Stopped."
    seen.page.wait_for_selector("#tried:focus")
    seen.page.unroute("**/retrieval/bench")
    seen.page.focus("[data-name=dense] >> nth=0")
    seen.page.keyboard.press("Space")
    with seen.page.expect_request("**/retrieval/bench") as sent:
        seen.page.keyboard.press("Enter")
    assert sent.value.post_data_json["channels"] == ["sparse", "graph"]
    seen.page.wait_for_selector(DONE)
    seen.unharmed()


def test_what_goes_wrong_is_said_on_its_side(visit, site):
    seen = visit(site)
    seen.go("#/bench")
    sides = iter(["A", "B"])
    reply = {"code": 1006, "message": "Too many requests at once.", "data": None, "trace_id": "t"}
    seen.page.route(
        "**/retrieval/bench",
        lambda route: route.fulfill(status=429, json=reply) if next(sides) == "A" else route.continue_(),
    )
    tried(seen, TWO_HOP)
    assert seen.page.inner_text(".bench-results .problem") == reply["message"]
    assert seen.page.locator("section[data-side=B] .passage").count() == 10
    assert seen.page.locator("section[data-side=A]").count() == 0


def test_texts_of_others_are_shown_and_never_run(visit, site):
    seen = visit(site)
    seen.go("#/bench")
    tried(seen, f"Where was the Zorblatt engine built? {HARM}")
    assert "<script>" in seen.page.inner_text(".passage >> nth=0")
    assert seen.page.locator("main :is(script, iframe, object, img), main svg[onload], main [onerror]").count() == 0
    seen.unharmed()


def test_ontology_and_database_have_switches_where_they_are(visit, copy_of_demo, tmp_path, monkeypatch):
    store, paths = copy_of_demo(), write_sample(tmp_path)
    with KnowledgeStore.open(store, read_only=False) as opened:
        import_ontology(opened, load_credit_ontology())
    for name, value in {"URL": f"sqlite:///{paths['database']}", "ONTOLOGY": str(paths["ontology"])}.items():
        monkeypatch.setenv(f"THEWORLD_DATABASE__{name}", value)
    with served(store) as (_, client, _):
        seen = visit(str(client.base_url).rstrip("/"), locale="zh-CN")
        seen.go("#/bench")
        seen.page.uncheck("fieldset[data-side=B] [data-name=database]")
        seen.page.uncheck("fieldset[data-side=B] [data-name=ontology]")
        tried(seen, "关联企业近30天授信变化与交易波动")
        first, second = (seen.page.locator(f"section.card[data-side={side}]") for side in "AB")
        assert "数据库" in first.locator(".bench-chips").inner_text()
        assert "SELECT" in (first.locator("pre").first.text_content() or "")
        assert seen.page.locator("section[data-side=B] .passage").count() == 10
        assert "本体" not in second.locator(".bench-chips").inner_text()
        seen.page.uncheck("fieldset[data-side=A] [data-name=database]")
        tried(seen, "关联企业近30天授信变化与交易波动")
        assert "本体匹配" in first.locator(".bench-chips").inner_text()
        seen.unharmed()
