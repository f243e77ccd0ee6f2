"""The router by rules: intents, paths, what each path means for the channels, and who wins."""

import pytest

from theworld.routing import OFF, Choice, Rules, features_of, route, with_history
from theworld.settings import Settings
from theworld.state import Context

SETTINGS = Settings()


def decide(question, context=None, settings=SETTINGS, **more):
    return route(question, context or Context(), settings, Rules(), **more)


INTENTS = [
    ("hello", "smalltalk"),
    ("你好！", "smalltalk"),
    ("Thanks!", "smalltalk"),
    ("hello world was printed by which program?", "question"),
    ("how many moons has Mars?", "statistics"),
    ("近30天授信余额合计多少", "statistics"),
    ("what is the relation between A and B", "relation"),
    ("甲和乙有什么关系", "relation"),
    ("who wrote Dream of the Red Chamber?", "question"),
    ("红楼梦的作者是谁", "question"),
    ("this country is counted among the best", "question"),
    ("error code E4031", "detail"),
]


@pytest.mark.parametrize(("question", "intent"), INTENTS)
def test_intents(question, intent):
    assert decide(question).intent == intent


def test_all_channels_by_default_with_reasons():
    decision = decide("who wrote it")
    assert decision.path == "hybrid"
    assert list(decision.channels) == ["sparse", "dense", "graph"]
    assert decision.reasons
    assert decision.strategy == "rules-v1"
    assert not decision.database


@pytest.mark.parametrize(
    ("question", "path"), [('"to be or not to be"', "sparse"), ("explain why the sky is blue", "dense")]
)
def test_no_wording_changes_a_channels_weight(question, path):
    """How much a channel counts is decided by what it brings, not by how the question is worded."""
    decision = decide(question)
    assert decision.path == path
    assert decision.channels == decide("who wrote it").channels


@pytest.mark.parametrize(
    "question",
    [
        "In which city was the director of Metropolis born?",
        "Are both directors from the same country?",
        "which company would be affected if its guarantor defaulted?",
        "云麓新材的担保人的控股股东是谁",
    ],
)
def test_questions_over_several_hops_keep_every_channel_at_its_weight(question):
    decision = decide(question)
    plain = decide("who wrote it")
    assert decision.channels == plain.channels
    assert decision.rerank


def test_small_talk_needs_no_channel():
    decision = decide("谢谢")
    assert (decision.path, decision.channels) == ("none", {})


def test_the_caller_wins():
    decision = decide("hello", Context(channels=["graph"], rerank=False))
    assert (decision.path, list(decision.channels), decision.rerank) == ("graph", ["graph"], False)
    assert decision.confidence == 1.0
    decision = decide("授信总额", Context(database=True))
    assert not decision.database, "there is none to ask"


def test_history_lowers_confidence_and_so_widens():
    outcomes = {"graph": (2, 40), "hybrid": (38, 40)}
    decision = decide("甲和乙有什么关系", outcomes=outcomes)
    assert decision.path == "hybrid"
    assert any("widened" in reason for reason in decision.reasons)
    assert decide("甲和乙有什么关系", outcomes={"graph": (38, 40), "hybrid": (38, 40)}).path == "graph"
    few = with_history(Choice("graph", "relation", 0.7, ()), {"graph": (0, 5), "hybrid": (30, 40)})
    assert few.confidence == 0.7, "a handful of requests says nothing"


def test_the_budget_shrinks_what_is_asked_for():
    assert decide("who", Context(deadline_ms=100)).channels["dense"].top_k == 50
    assert decide("who", Context(deadline_ms=100)).rerank
    assert not decide("who", Context(deadline_ms=40)).rerank
    assert not decide("who", Context(tokens_left=0)).model
    assert decide("who", Context(tokens_left=10)).model


def test_the_router_can_be_off():
    for decision in (
        decide("谢谢", Context(router=False)),
        decide("谢谢", settings=Settings(router={"enabled": False})),
    ):
        assert decision.strategy == OFF
        assert decision.path == "hybrid"
        assert set(decision.channels) == {"sparse", "dense", "graph"}


def test_the_features_are_told_apart():
    found = features_of('find "force majeure" in HT-2023-0097', Context(tokens_left=5, deadline_ms=300), SETTINGS)
    assert found.quoted
    assert found.literal == 1.0
    assert (found.language, found.deadline_ms, found.tokens_left) == ("en", 300, 5)


def test_the_whole_requests_budget_counts_too():
    assert not decide("who wrote it?", Context(total_deadline_ms=50)).rerank
    assert decide("who wrote it?", Context(total_deadline_ms=5000)).rerank


def test_english_words_count_beside_chinese_characters():
    assert features_of("请explain一下缓存", Context(), SETTINGS).has("open")
    assert not features_of("unexplained", Context(), SETTINGS).has("open")
