"""Evidence paths in words."""

from theworld.nodes.retrieve_graph import word_path, word_paths
from theworld.state import EvidencePath, PathStep

CHAIN = (
    PathStep(source="Metropolis", relation="mentions", target="Fritz Lang"),
    PathStep(source="Fritz Lang", relation="title_of", target="Fritz Lang"),
)
LOOP = (
    PathStep(source="Vienna", relation="has_title", target="Vienna"),
    PathStep(source="Vienna", relation="title_of", target="Vienna"),
)


def test_in_both_languages():
    assert word_path(CHAIN, "en") == "Metropolis —mentions→ Fritz Lang —is the title of→ Fritz Lang"
    assert word_path(CHAIN, "zh") == "Metropolis —提到→ Fritz Lang —是其标题→ Fritz Lang"
    assert word_path((), "en") == ""


def test_a_relation_without_words_is_shown_by_name():
    assert word_path((PathStep(source="a", relation="inherits", target="b"),), "en") == "a —inherits→ b"


def test_a_document_led_to_itself_is_left_out():
    paths = [EvidencePath(note_id="m#0", steps=CHAIN), EvidencePath(note_id="v#1", steps=LOOP)]
    assert [path.note_id for path in word_paths(paths, "en")] == ["m#0"]
