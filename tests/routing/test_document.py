"""Section 6 of the specification, a test for each sentence."""

import pytest

from theworld.routing import Rules, features_of, route
from theworld.settings import Settings
from theworld.state import Context

EXAMPLE = "关联企业近30天授信变化与交易波动"


@pytest.fixture
def decide(mapped_settings, read, asked):
    def run(question, outcomes=None, **context):
        chosen = asked.model_copy(update=context)
        view = read(question, chosen)
        return route(question, chosen, mapped_settings, Rules(), database=view, outcomes=outcomes)

    return run


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("授信总额是多少", "statistics"),
        ("星槎精工的成立日期", "detail"),
        ("星槎精工和九桥贸易之间有什么关联", "relation"),
        ("谁主持建造了天一阁", "question"),
    ],
)
def test_6_1_1_intent_statistics_detail_relation_inference_question_answering(decide, question, intent):
    assert decide(question).intent == intent


def test_6_1_2_structure_explicit_fields_and_time_ranges(read, asked, mapped_settings):
    seen = features_of(EXAMPLE, asked, mapped_settings, database=read(EXAMPLE, asked)).database
    assert seen.fields >= 2
    assert seen.periods == 1
    plain = features_of(
        "谁主持建造了天一阁", asked, mapped_settings, database=read("谁主持建造了天一阁", asked)
    ).database
    assert (plain.fields, plain.periods) == (0, 0)


def test_6_1_3_history_effect_by_feedback(decide):
    question = "星槎精工和九桥贸易之间有什么关联"
    assert decide(question).path == "graph"
    told = decide(question, outcomes={"graph": (1, 50), "hybrid": (48, 50)})
    assert told.path == "hybrid"
    assert any(reason.startswith("history:") for reason in told.reasons)


def test_6_1_4_budget_of_latency_and_tokens(decide):
    assert not decide("谁主持建造了天一阁", deadline_ms=50).rerank
    assert not decide("谁主持建造了天一阁", tokens_left=0).model


@pytest.mark.parametrize(
    ("question", "path"),
    [
        (EXAMPLE, "sql"),
        ("合同编号 HT-2023-0097", "sparse"),
        ("解释一下为什么天空是蓝色的", "dense"),
        ("星槎精工和九桥贸易之间有什么关联", "graph"),
        ("谁主持建造了天一阁", "hybrid"),
    ],
)
def test_6_2_1_the_path_is_sql_sparse_dense_graph_or_hybrid(decide, question, path):
    assert decide(question).path == path


def test_6_2_2_top_k_and_weight_of_each_channel(decide):
    for question in (EXAMPLE, "合同编号 HT-2023-0097", "谁主持建造了天一阁"):
        plans = decide(question).channels
        assert set(plans) == {"sparse", "dense", "graph"}
        assert all(plan.top_k == 100 and plan.weight > 0 for plan in plans.values())


def test_6_2_3_whether_to_rerank(decide):
    assert decide("谁主持建造了天一阁").rerank
    assert not decide("谁主持建造了天一阁", rerank=False).rerank
    assert not route("x", Context(), Settings(rerank={"kind": "none"}), Rules()).rerank
