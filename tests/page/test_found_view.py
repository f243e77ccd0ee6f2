"""How it was found in a real browser: the graph, the record behind an answer, and why there was none."""

from __future__ import annotations

import pytest

from page_cases import asked, called
from service_cases import CHINESE, TWO_HOP

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("locale", "question", "ran"), [("en-US", TWO_HOP, "Walk the graph"), ("zh-CN", CHINESE, "图谱检索")]
)
def test_the_record_is_drawn(visit, site, locale, question, ran):
    seen = visit(site, locale=locale)
    request_id = asked(site, question)
    seen.go(f"#/found/{request_id}")
    seen.page.wait_for_selector(".facts")
    assert any(ran in text for text in seen.page.locator(".node.ran").all_text_contents())
    explained = called(site, f"retrieval/explain/{request_id}")["explanation"]
    stages = [stage["stage"] for stage in explained["timings"]["stages"]]
    nodes = [stage for stage in stages if not stage.startswith("second_hop")]  # parts of one node
    assert seen.page.locator(".node.ran:not(.terminal)").count() == len(nodes)
    assert seen.page.locator(".ranks tbody tr").count() == min(12, len(explained["rerank"]["results"]))
    facts = seen.page.locator(".facts").inner_text()
    assert ("意图：" in facts, "intent " in facts) == (locale == "zh-CN", locale == "en-US")
    relations = " ".join(seen.page.locator(".relation").all_inner_texts())
    assert ("mentions" in relations) == (locale == "en-US")
    best = seen.page.locator(".ranks tbody tr").first.inner_text()
    assert explained["rerank"]["results"][0]["note_id"] in best
    assert seen.page.locator(".evidence-way").count() == min(12, len([p for p in explained["paths"] if p["steps"]]))
    seen.unharmed()


EVENTS_ONE_BY_ONE = """
const whole = window.fetch;
window.fetch = async (...given) => {
  const reply = await whole(...given);
  if (!reply.headers.get("content-type").startsWith("text/event-stream")) return reply;
  let rest = "";
  const transform = (text, into) => {
    const events = (rest + text).split("\\n\\n");
    rest = events.pop();
    for (const one of events) into.enqueue(`${one}\\n\\n`);
  };
  const texts = reply.body.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream({ transform }));
  return new Response(texts.pipeThrough(new TextEncoderStream()), { headers: reply.headers });
};
"""
"""Before a busy machine several events may come in one piece, and be shown at once."""


def test_stages_light_up_while_a_question_runs(visit, site):
    seen = visit(site)
    seen.page.add_init_script(EVENTS_ONE_BY_ONE)
    seen.go("#/found")
    seen.page.wait_for_selector(".node-graph")
    assert seen.page.locator(".node.ran").count() == 0
    seen.page.evaluate(
        "() => { window.lit = new Set();"
        " const count = () => window.lit.add(document.querySelectorAll('.node.ran').length);"
        " const graph = document.querySelector('.node-graph');"
        " new MutationObserver(count).observe(graph, {subtree: true, attributes: true}) }"
    )
    seen.page.fill("#watched", TWO_HOP)
    seen.page.press("#watched", "Enter")
    seen.page.wait_for_selector(".facts")
    assert len(seen.page.evaluate("[...window.lit]")) >= 3, "they lit up one after the other"


def test_it_says_why_evidence_was_not_enough_and_what_the_history_gave(visit, site):
    seen = visit(site)
    seen.go(f"#/found/{asked(site, 'How many kangaroos does the mayor of Zurich own?')}")
    seen.page.wait_for_selector(".near li")
    assert "not enough" in seen.page.inner_text(".record")
    history = [{"role": "user", "content": TWO_HOP}, {"role": "assistant", "content": "Vienna"}]
    seen.go(f"#/found/{asked(site, 'And the director of The Starry Night?', history=history)}")
    seen.page.wait_for_selector(".query mark")
    seen.unharmed()


def test_a_request_nobody_made_is_said_to_be_unknown(visit, site):
    seen = visit(site)
    seen.go("#/found/0123456789abcdef0123456789abcdef")
    assert "not on record" in seen.page.inner_text(".record .problem")
