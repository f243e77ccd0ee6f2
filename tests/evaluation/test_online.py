"""Section 7.1: the online metrics, by their definitions."""

from __future__ import annotations

import pytest

from theworld.evaluation.online import Outcome, online_metrics

CHANNELS = ("retrieve_sparse", "retrieve_dense", "retrieve_graph")


def test_section_7_answer_success_counts_what_was_judged_only():
    found = online_metrics(
        [
            Outcome(asked=True, kind="entity", success=True),
            Outcome(asked=True, kind="extractive", success=False),
            Outcome(asked=True, kind="entity"),
            Outcome(asked=False, success=True),
        ]
    )
    assert (found.answer_success, found.judged, found.requests) == (0.5, 2, 4)


def test_section_7_tool_success_is_by_run_and_other_stages_do_not_count():
    found = online_metrics(
        [
            Outcome(asked=True, kind="entity", stages=(*CHANNELS, "fuse_candidates"), degraded=("retrieve_dense",)),
            Outcome(
                asked=True, kind="entity", stages=("receive_question", "retrieve_sql"), degraded=("receive_question",)
            ),
        ]
    )
    assert found.tool_success == 0.75


def test_section_7_clarify_rate():
    found = online_metrics([Outcome(asked=True, kind=kind) for kind in ("clarify", "entity", "none", "entity")])
    assert found.clarify_rate == 0.25


@pytest.mark.parametrize(
    ("outcome", "recovered"),
    [
        (Outcome(asked=True, kind="extractive", degraded=("rerank_candidates",)), True),
        (Outcome(asked=True, kind="none", degraded=("rerank_candidates",)), False),
        (Outcome(asked=True, kind="", failed=True), False),
        (Outcome(asked=False, found=True, degraded=("retrieve_dense",)), True),
        (Outcome(asked=False, found=False, degraded=("retrieve_dense",)), False),
        (Outcome(asked=True, kind="entity"), None),
    ],
)
def test_section_7_recovery_rate(outcome, recovered):
    rate = online_metrics([outcome]).recovery_rate
    assert rate == (None if recovered is None else float(recovered))


def test_section_7_latency_is_in_percentiles():
    found = online_metrics(Outcome(asked=True, elapsed_ms=float(n)) for n in range(1, 101))
    assert found.latency_ms == {"p50": 50.0, "p95": 95.0, "p99": 99.0}


def test_nothing_gives_nothing():
    assert online_metrics([]).model_dump() == {
        "requests": 0, "judged": 0, "answer_success": None, "tool_success": None, "clarify_rate": None,
        "recovery_rate": None, "latency_ms": {},
    }  # fmt: skip
