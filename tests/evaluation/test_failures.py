"""Section 7.4: failures are clustered by culprit (wrong route, missing recall, reranking, ...), by counterfactual."""

from __future__ import annotations

import json
import re

import pytest

from theworld.evaluation import failures
from theworld.evaluation.failures import CHANNELS, CULPRITS, Change, Seen, explain_failure, failed, is_complete
from theworld.stores.ledger.evaluations import Query

GOLD = Query("q", "Where was he born?", ("Vienna",), "two-hop", {"a": 1, "b": 1})
EVERYTHING = {"a", "b", *(f"x{n}" for n in range(300))}
NOISE = tuple(f"x{n}" for n in range(10))
WRONG = Seen(
    ("a", *NOISE), answer="Graz", kind="entity", evidence=(("a", "a\nsomething"),), channels=CHANNELS, path="hybrid"
)
RIGHT = Seen(("a", "b"), answer="Vienna", kind="entity", evidence=(("b", "He was born in Vienna."),))
MENDED = Seen(("b", "a", *NOISE), answer="Graz", kind="entity", channels=CHANNELS)


def culprit_when(fixes, base=WRONG, query=GOLD, corpus=EVERYTHING):
    asked = []

    def ask(change):
        asked.append(change)
        return (RIGHT if change.given else MENDED) if fixes(change) else WRONG

    return explain_failure(query, base, ask, corpus), asked


@pytest.mark.parametrize(
    ("fixes", "culprit", "by"),
    [
        (lambda c: c.channels == ("dense",), "wrong_route", "dense alone"),
        (lambda c: c.rerank is False, "reranking", "without reranking"),
        (lambda c: c.top_k == 100, "missing_recall", "K raised to 100"),
        (lambda c: c.depth == 1000, "missing_recall", "every depth raised to 1,000"),
        (lambda c: c.given == ("a", "b"), "missing_recall", "the gold documents alone"),
        (lambda c: False, "unexplained", ""),
    ],
)
def test_section_7_the_first_change_that_mends_names_the_culprit(fixes, culprit, by):
    found, asked = culprit_when(fixes)
    assert (found.culprit, found.fixed_by) == (culprit, by)
    assert by in {"", asked[-1].name}, "nothing is tried after what fixed"


def test_the_router_is_forced_first_where_it_left_a_channel_out():
    base = Seen(WRONG.documents, kind="none", channels=("sparse",), path="sparse")
    found, asked = culprit_when(lambda c: c.channels == CHANNELS, base)
    assert (found.culprit, found.fixed_by) == ("wrong_route", "every channel")
    assert asked == [Change("every channel", channels=CHANNELS)]
    _, asked = culprit_when(lambda c: False, base)
    assert Change("sparse alone", channels=("sparse",)) not in asked, "it was that already"


def test_what_is_not_in_the_corpus_is_not_asked_for():
    found, asked = culprit_when(lambda c: True, corpus={"a"})
    assert (found.culprit, asked) == ("not_in_corpus", [])
    assert "'b'" in found.detail


@pytest.mark.parametrize(
    ("seen", "fixes", "culprit", "by"),
    [
        ({"kind": "entity", "answer": "Graz"}, True, "entity", "the gold documents alone"),
        ({"kind": "extractive", "answer": "He studied in Graz."}, True, "answer", "the gold documents alone"),
        ({"kind": "none"}, True, "answer", "the gold documents alone"),
        ({"kind": "entity", "answer": "Graz", "passages": "Born in Vienna."}, False, "entity", "the passages"),
        ({"kind": "entity", "answer": "Graz", "passages": "He was born."}, False, "answer", ""),
        ({"kind": "none"}, False, "answer", ""),
    ],
)
def test_with_complete_evidence_answering_is_run_again_on_the_gold_documents_alone(seen, fixes, culprit, by):
    base = Seen(("b", "x0", "a"), evidence=(("b", "b\nHe was born in Vienna."),), channels=CHANNELS, **seen)
    assert is_complete(GOLD, base)
    found, asked = culprit_when(lambda c: fixes, base)
    assert asked == [Change("the gold documents alone", given=("a", "b"))]
    assert found.culprit == culprit
    assert found.fixed_by.startswith(by)
    assert bool(found.fixed_by) == bool(by)


def test_where_no_documents_are_gold_those_that_state_the_answer_are():
    query = Query("q", "Where was he born?", ("Vienna",))
    evidence = (("x1", "He studied in Graz."), ("b", "Born in Vienna."), ("x2", "He died in Linz."))
    base = Seen(("x1", "b", "x2"), answer="Graz", kind="entity", evidence=evidence, channels=CHANNELS)
    found, asked = culprit_when(lambda c: True, base, query)
    assert [change.given for change in asked] == [("b",)]
    assert (found.culprit, found.fixed_by) == ("entity", "the gold documents alone")


def test_what_not_even_the_gold_documents_state_is_said():
    silent = Seen(("a", "b"), kind="none", evidence=(("a", "a\nHe was a director."),))
    base = Seen(("b", "a"), kind="none", evidence=(("b", "b\nHe was a director."),), channels=CHANNELS)
    found = explain_failure(GOLD, base, lambda _change: silent, EVERYTHING)
    assert found.culprit == "answer"
    assert "do not state the gold answer" in found.detail
    told = explain_failure(GOLD, base, lambda _change: Seen(("a",), evidence=RIGHT.evidence), EVERYTHING)
    assert "do not state" not in told.detail


def test_a_raised_k_tells_how_deep_the_evidence_was():
    deep = Seen((*NOISE, "a", "b"), channels=CHANNELS)
    found = explain_failure(GOLD, WRONG, lambda c: deep if c.top_k else WRONG, EVERYTHING)
    assert found.detail == "the last gold document is at rank 12"


def test_a_right_answer_is_no_failure_although_evidence_is_missing():
    assert not failed(GOLD, Seen(("a",), answer="Vienna", kind="entity"))
    assert failed(GOLD, Seen(("a", "b"), answer="Graz", kind="entity"))
    assert not failed(Query("q", "?", grades={"a": 1}), Seen(("a",)))
    assert failed(Query("q", "?", grades={"a": 1}), Seen(NOISE))


@pytest.fixture
def report():
    nasty = Query("n", "<script>alert(1)</script> 谁|who?", ("<b>",), "", {"b": 1})
    found = [explain_failure(q, WRONG, lambda c: MENDED, EVERYTHING) for q in (GOLD, nasty)]
    lost = explain_failure(GOLD, WRONG, lambda c: WRONG, EVERYTHING)
    return failures.failure_report("set <i>", 10, [*found, lost])


def test_the_report_counts_and_names(report):
    found = report
    assert (found["asked"], found["failed"], found["named"]) == (10, 3, 0.666667)
    assert list(found["clusters"]) == ["wrong_route", "unexplained"]
    assert found["clusters"]["wrong_route"]["fixed_by"] == {"sparse alone": 2}
    assert failures.failure_report("empty", 5, [])["named"] is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_as_markdown_and_html_escapes_what_it_quotes(report, language):
    plain = json.loads(json.dumps(report))
    text, page = failures.as_markdown(plain, language), failures.as_html(plain, language)
    assert ("路由错选" in text) == (language == "zh")
    assert "\\<script\\>" in text
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert [int(share) for share in re.findall(r'<div style="width:(\d+)%">', page)] == [100, 50, 100]


def test_every_culprit_has_its_words_in_both_languages():
    words = failures._words()
    assert set(words["culprits"]) == set(CULPRITS)
    for entry in [*words["words"].values(), *(part for c in words["culprits"].values() for part in c.values())]:
        assert set(entry) == {"en", "zh"}
