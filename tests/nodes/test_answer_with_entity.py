"""The node: what it answers, what it cites, and when it is silent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from theworld.answers.confidence import probability_of, span_signs, stated_signs
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.settings import AnswerSettings
from theworld.state import Answer, Candidate, EntityCandidate, EntityJudgement, Mention, QueryState
from theworld.text import entity_key


def note(text: str, mentions: dict[str, str], *, title: str = "", language: str = "zh", start: int = 0) -> Candidate:
    """A note whose mentions are the given names with their types."""
    found = tuple(
        Mention(surface=name, type=kind, start=text.index(name), end=text.index(name) + len(name), key=entity_key(name))
        for name, kind in mentions.items()
    )
    return Candidate(
        note_id=f"{title}#0",
        document_id=title,
        title=title,
        text=text,
        start=start,
        end=start + len(text),
        language=language,
        final_score=0.9,
        mentions=found,
    )


def answer(question: str, evidence: list[Candidate], language: str = "zh", **fields: object) -> Answer | None:
    state = QueryState.model_validate(
        {"question": question, "query": question, "language": language, "evidence": evidence, **fields}
    )
    update = answer_with_entity(state, None, settings=AnswerSettings())  # type: ignore[arg-type]
    assert set(update) == {"result"}
    result: Answer | None = update["result"]
    return result


CURIE = note(
    "居里夫人於1898年發現了釙和鐳。她的丈夫是皮埃爾。",
    {"居里夫人": "person", "皮埃爾": "person"},
    title="化學史",
    start=100,
)


def test_a_span_of_the_expected_type_with_its_document_offsets() -> None:
    result = answer("居里夫人在哪一年發現了釙和鐳？", [CURIE])
    assert result is not None
    assert (result.text, result.kind, result.entity) == ("1898年", "entity", "1898年")
    citation = result.citations[0]
    assert CURIE.text[citation.start - 100 : citation.end - 100] == citation.quote == "1898年"
    assert 0 < result.confidence < 1


def test_silent_without_a_type_without_a_span_and_without_evidence() -> None:
    assert answer("為什麼天空是藍色的？", [CURIE]) is None
    assert answer("居里夫人住在哪一座城市？", [CURIE]) is None
    assert answer("居里夫人在哪一年發現了釙和鐳？", []) is None


def test_silent_when_rivals_stand_as_well() -> None:
    rivals = note("這家公司由王明和李強創立。", {"王明": "person", "李強": "person"}, title="公司")
    assert answer("誰創立了這家公司？", [rivals]) is None


def test_a_linked_answer_carries_its_qid() -> None:
    film = note("Alien is a film directed by Ridley Scott.", {"Ridley Scott": "person"}, title="Alien", language="en")
    selection = EntityCandidate(id="Q56005", url="https://www.wikidata.org/wiki/Q56005", label="Ridley Scott")
    linked = EntityJudgement(label="Ridley Scott", matched=True, selection=selection)
    result = answer("Who directed Alien?", [film], "en", judgements=[linked])
    assert result is not None
    assert (result.text, result.qid) == ("Ridley Scott", "Q56005")


@given(st.text(max_size=80), st.sampled_from(["en", "zh"]))
def test_no_question_breaks_it(question: str, language: str) -> None:
    result = answer(question, [CURIE], language)
    assert result is None or result.citations


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["en", "zh"]))
def test_confidence_grows_with_the_share_and_the_grounding(
    left: float, right: float, other: float, language: str
) -> None:
    def confidence(share: float, grounded: float) -> float:
        return probability_of(span_signs(share, grounded, language))

    low, high = sorted((left, right))
    assert 0 < confidence(low, other) <= confidence(high, other) < 1
    assert 0 < confidence(other, low) <= confidence(other, high) < 1


def test_what_is_stated_is_surer_than_any_span_and_less_so_over_links() -> None:
    stated = [probability_of(stated_signs(links)) for links in range(3)]
    assert stated == sorted(stated, reverse=True)
    assert stated[1] > probability_of(span_signs(1.0, 1.0, "zh")) > probability_of(span_signs(1.0, 1.0, "en"))


LIFE = "錢某1935年赴美國留學。1947年與蔣某結婚。1955年回國，任所長。"


def test_a_chinese_date_stands_with_its_event_or_there_is_silence() -> None:
    evidence = [note(LIFE, {"美國": "place"}, title="錢某")]
    returned = answer("錢某在哪一年回國？", evidence)
    assert returned is None or returned.text == "1955年"
    assert answer("錢某在哪一年獲獎？", evidence) is None
