"""A note reached over a bridge is read together with the note it was reached from."""

from __future__ import annotations

import pytest

from reranker_suite import candidate
from theworld.ranking.pointwise import LONGEST_BRIDGE, distinct, evidence_texts
from theworld.stores.graph import MemoryGraph
from theworld.testing.conformance.documents import TENANT, feed, put

FILM = candidate("film#0", "Metropolis", "Metropolis was directed by Fritz Lang.")
OTHER = candidate("other#0", "Rain", "Nothing but rain.")
MAN = candidate("man#0", "Fritz Lang", "He was born in Vienna.", hop=2, bridge="Fritz Lang")
CITY = candidate("city#0", "Vienna", "A city on the Danube.", hop=3, bridge="Vienna")
ZH_FILM = candidate("zh-film#0", "红高粱", "《红高粱》改编自莫言的小说。")
ZH_MAN = candidate("zh-man#0", "莫言", "他出生于山东高密。", hop=2, bridge="莫言")


@pytest.fixture(scope="module")
def graph() -> MemoryGraph:
    made = MemoryGraph()
    names = {"film#0": ["Fritz Lang"], "man#0": ["Vienna"], "zh-film#0": ["莫言"]}
    notes = [FILM, OTHER, MAN, CITY, ZH_FILM, ZH_MAN]
    feed(made, *(put(n.note_id, n.text, title=n.title, names=names.get(n.note_id, ())) for n in notes))
    return made


def test_a_note_given_twice_stands_where_it_stood_first() -> None:
    assert distinct([OTHER, FILM, OTHER, MAN, FILM]) == [OTHER, FILM, MAN]


def test_each_hop_is_read_with_the_one_before(graph: MemoryGraph) -> None:
    texts = evidence_texts([OTHER, CITY, FILM, MAN, ZH_MAN, ZH_FILM], graph, TENANT)
    assert texts == [
        "Rain\nNothing but rain.",
        "Fritz Lang\nHe was born in Vienna.\nVienna\nA city on the Danube.",
        "Metropolis\nMetropolis was directed by Fritz Lang.",
        "Metropolis\nMetropolis was directed by Fritz Lang.\nFritz Lang\nHe was born in Vienna.",
        "红高粱\n《红高粱》改编自莫言的小说。\n莫言\n他出生于山东高密。",
        "红高粱\n《红高粱》改编自莫言的小说。",
    ]


def test_the_best_of_several_bridges_is_taken(graph: MemoryGraph) -> None:
    second = candidate("film2#0", "M", "M was directed by Fritz Lang too.")
    feed(graph, put("film2#0", second.text, title="M", names=["Fritz Lang"]))
    assert evidence_texts([second, FILM, MAN], graph, TENANT)[2].startswith("M\n")
    assert evidence_texts([FILM, second, MAN], graph, TENANT)[2].startswith("Metropolis\n")


def test_without_a_link_the_title_is_the_bridge() -> None:
    titled = candidate("lang#0", "fritz lang", "A director.")
    assert (
        evidence_texts([titled, MAN], MemoryGraph(), TENANT)[1] == f"fritz lang\nA director.\n{MAN.title}\n{MAN.text}"
    )


def test_without_any_bridge_the_note_stands_alone() -> None:
    assert evidence_texts([OTHER, MAN], MemoryGraph(), TENANT)[1] == f"{MAN.title}\n{MAN.text}"


def test_two_notes_of_one_hop_are_no_bridge_to_each_other(graph: MemoryGraph) -> None:
    twin = MAN.model_copy(update={"note_id": "film#0"})
    assert evidence_texts([twin, MAN], graph, TENANT) == [f"{n.title}\n{n.text}" for n in (twin, MAN)]


@pytest.mark.parametrize(
    ("film", "man", "filler", "naming"),
    [
        (FILM, MAN, " It rained all day.", " Fritz Lang directed it."),
        (ZH_FILM, ZH_MAN, "那天一直下雨。", "莫言写了原著。"),
    ],
)
def test_a_long_bridge_leaves_room_for_the_note(graph, film, man, filler, naming) -> None:
    long = film.model_copy(update={"text": filler * 200 + naming + filler * 200})
    text = evidence_texts([long, man], graph, TENANT)[1]
    assert text == f"{film.title}\n{naming.strip()}\n{man.title}\n{man.text}"
    endless = film.model_copy(update={"text": naming.strip(".。") * 300})
    text = evidence_texts([endless, man], graph, TENANT)[1]
    assert text.endswith(f"\n{man.title}\n{man.text}")
    assert len(text) <= LONGEST_BRIDGE[film.language] + len(f"{film.title}\n\n{man.title}\n{man.text}")
