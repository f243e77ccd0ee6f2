"""Quality in a real browser: figures and feedback, a request again and differently, and a whole evaluation."""

from __future__ import annotations

import json

import pytest

from page_cases import HARM, asked, called, serious
from service_cases import CHINESE, TWO_HOP
from service_process import served

pytestmark = pytest.mark.slow
QUERIES = [
    {"text": TWO_HOP, "answers": ["Vienna"], "grades": {"en/fritz-lang.md": 2, "en/metropolis-film.md": 1}},
    {"text": CHINESE, "answers": ["范钦"], "grades": {"zh/tianyi-pavilion.md": 1}},
    {"text": f"Who painted The Starry Night? {HARM}", "answers": ["Lee"], "grades": {"not-there.md": 1}},
]
WORDS = {
    "en-US": {"set": "Upload questions", "job": "Start an evaluation", "culprit": "Not in the corpus", "done": "done"},
    "zh-CN": {"set": "上传问题", "job": "开始评测", "culprit": "语料缺失", "done": "完成"},
}


@pytest.fixture(scope="module")
def own(copy_of_demo):
    """Address of a server of these tests alone, whose jobs do not wait for an idle processor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEWORLD_SERVICE__JOB_PRIORITY", "normal")
        with served(copy_of_demo()) as (_, client, _):
            yield str(client.base_url).rstrip("/")


def judged(site: str, question: str, verdict: str, comment: str = "") -> str:
    request_id = asked(site, question)
    called(site, "feedback", {"request_id": request_id, "verdict": verdict, "comment": comment})
    return request_id


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_figures_failures_and_feedback(visit, own, locale):
    from playwright.sync_api import expect

    good, bad = judged(own, TWO_HOP, "good"), judged(own, f"How many kangaroos? {HARM}", "bad", HARM)
    seen = visit(own, locale=locale)
    seen.go("#/quality")
    page = seen.page
    page.wait_for_selector(".tiles")
    figures = called(own, "metrics/online")
    assert page.locator(".tiles dd").first.inner_text() == str(figures["requests"])
    groups = called(own, "metrics/failures")["groups"]
    assert groups
    expect(page.locator(".group")).to_have_count(len(groups))
    page.locator(".group summary").first.click()
    expect(page.locator(f'.group a[href="#/quality/replay/{bad}"]').first).to_be_visible()
    row = page.locator("tr", has=page.locator(f'a[href="#/found/{bad}"]')).first
    assert HARM in row.inner_text()
    expect(page.locator(f'a[href="#/found/{good}"]')).to_have_count(1)
    with page.expect_response(lambda reply: "metrics/failures?hours=1" in reply.url):
        page.select_option(".period select", "1")
    expect(page.locator(".tiles dd").first).to_have_text(str(figures["requests"]))
    seen.unharmed()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_a_request_again_and_differently(visit, own, locale):
    from playwright.sync_api import expect

    request_id = asked(own, TWO_HOP)
    before = called(own, "metrics/online")["requests"]
    seen = visit(own, locale=locale)
    page = seen.page
    seen.go(f"#/quality/replay/{request_id}")
    page.click("button.primary")
    page.wait_for_selector(".same")
    assert page.locator(".differs").count() == page.locator(".moved").count() == 0
    page.check("input[value=other]")
    page.locator("fieldset input[type=checkbox]").first.uncheck()
    for place in (2, 3):
        page.locator("fieldset input[type=checkbox]").nth(place).uncheck()
    page.click("button.primary")
    page.wait_for_selector(".differs")
    expect(page.locator(".side-of")).to_have_count(2)
    assert "Vienna" in page.locator(".side-of").first.inner_text()
    page.fill("fieldset textarea", "{not json")
    page.click("button.primary")
    page.wait_for_selector(".problem")
    page.fill("fieldset textarea", '{"retrieval": {"nothing": 1}}')
    page.click("button.primary")
    expect(page.locator(".problem")).to_contain_text("nothing")
    assert called(own, "metrics/online")["requests"] == before
    assert not [text for text in seen.complaints if "422" not in text], seen.complaints


@pytest.mark.parametrize(("locale", "width", "scheme"), [("en-US", 1280, "light"), ("zh-CN", 390, "dark")])
def test_an_evaluation_from_the_file_to_the_report(visit, own, locale, width, scheme):
    from playwright.sync_api import expect

    words = WORDS[locale]
    seen = visit(own, locale=locale, width=width, color_scheme=scheme, bypass_csp=True)  # axe brings its own script
    page = seen.page
    seen.go("#/quality")
    page.wait_for_selector(".tiles, .muted")
    upload = page.locator("details", has=page.locator(f"summary:text-is('{words['set']}')"))
    upload.locator("summary").click()
    lines = "\n".join(json.dumps(query) for query in QUERIES)
    give = {"name": f"{locale} {HARM[:30]}.jsonl", "mimeType": "application/json"}
    page.set_input_files("input[type=file]", {**give, "buffer": f"{lines}\n{{broken".encode()})
    upload.locator("button").click()
    upload.locator(".problem").wait_for()
    assert " 4" in upload.locator(".problem").inner_text(), "it names the line"
    page.set_input_files("input[type=file]", {**give, "buffer": b'{"id": "1", "text": "Who?"}\n'})
    upload.locator("button").click()
    expect(upload.locator(".problem")).to_contain_text("queries.0")
    page.set_input_files("input[type=file]", {**give, "buffer": lines.encode()})
    upload.locator("button").click()
    upload.locator(".notice").wait_for()
    start = page.locator("details", has=page.locator(f"summary:text-is('{words['job']}')"))
    start.locator("summary").click()
    for label in ("compare", "explain"):
        start.locator("p.row input").nth(["compare", "explain"].index(label)).check()
    start.locator("fieldset:visible").nth(1).locator("select").select_option("false")
    assert not serious(page)
    start.locator("button.primary").click()
    page.wait_for_selector(".report")
    job = called(own, "eval/jobs")["jobs"][0]
    assert job["status"] == "done"
    compared = page.locator(".card:has(.gain-open, .gain-better, .gain-worse) tbody tr")
    assert compared.count() == len(job["comparison"]["metrics"])
    assert words["culprit"] in page.locator(".report").first.inner_text()
    assert HARM in page.locator(".report").first.inner_text()
    with page.expect_download() as saved:
        page.locator(".card:has(.report) button").first.click()
    assert "<svg" not in saved.value.path().read_text("utf-8")[:200]
    assert not serious(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("window.harmed") is None
    assert not [text for text in seen.complaints if "422" not in text], seen.complaints


def test_a_waiting_job_is_cancelled_and_an_unknown_one_is_said_to_be_unknown(visit, own):
    from playwright.sync_api import expect

    made = called(
        own, "eval/datasets", {"name": "many", "queries": [{**q, "id": str(n)} for n, q in enumerate(QUERIES * 1000)]}
    )
    job = called(own, "eval/jobs", {"dataset_id": made["dataset_id"]})["job_id"]
    seen = visit(own)
    seen.go(f"#/quality/job/{job}")
    seen.page.click("section.card button")
    expect(seen.page.locator("progress")).to_be_hidden()
    assert called(own, f"eval/jobs/{job}")["status"] == "cancelled"
    seen.go("#/quality/job/unknown")
    seen.page.wait_for_selector(".problem")
    seen.go("#/quality")
    seen.page.wait_for_selector(f'a[href="#/quality/job/{job}"]')


@pytest.mark.parametrize(
    ("locale", "question", "summary"),
    [("en-US", "Who was Ada Lovelace?", "From logs"), ("zh-CN", "南仁东是谁？", "从日志生成")],
)
def test_a_set_is_made_from_logs(visit, own, locale, question, summary):
    judged(own, question, "good")
    seen = visit(own, locale=locale)
    seen.go("#/quality")
    part = seen.page.locator("details", has=seen.page.locator(f"summary:text-is('{summary}')"))
    part.locator("summary").click()
    part.locator("input").first.fill(f"{locale} <i>judged</i>")
    part.locator("button").click()
    part.locator(".notice").wait_for()
    assert f"{locale} <i>judged</i>" in part.locator(".notice").inner_text()
    first = seen.page.locator("option").filter(has_text=f"{locale} <i>judged</i>")
    assert first.count() == 1
    made = called(own, "eval/datasets")["datasets"][0]
    assert (made["name"], made["questions"] > 0) == (f"{locale} <i>judged</i>", True)
    seen.unharmed()
