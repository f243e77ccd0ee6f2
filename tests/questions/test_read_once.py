"""While a whole request is answered, each reader reads the question once: router, database, ontology, answers share it.

Counted are calls on the question's own text, in any folding. Left out are who must read it for itself: references read
a conversation, engines and models make their own tokens of what they are asked.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from theworld.text import fold

READERS = {
    "theworld.text.tokens": ("tokens", "detect_language"),
    "theworld.text.phrases": ("units",),
    "theworld.text.quantities": ("find_quantities",),
    "theworld.text.time_ranges": ("find_time_ranges",),
    "theworld.text.identity": ("names_in",),
    "theworld.questions.names": ("quoted_names", "capitalised_names", "possible_names"),
    "theworld.questions.question": ("split_parts", "expected_answer_type"),
    "theworld.sql.questions.cutting": ("find_rankings",),
}
"""Module -> its readers, whose first argument is a text or a Question."""
APART = ("theworld.references", "theworld.stores", "theworld.models", "theworld.wikidata", "theworld.entities")
"""Who reads texts of its own: conversations, queries to engines, contexts of mentions with the question in them."""
NOW = datetime(2024, 12, 31, 12, tzinfo=ZoneInfo("Asia/Shanghai"))
"""In the zone of the database: which day a time word means depends on it."""
QUESTIONS = {
    "en": "Which companies did Farsail Bank grant more than 20 million in the last 30 days, and why did Reedbank fail?",
    "zh": "近30天远帆银行授信超过5000万元的企业中，谁因为停产而违约？",
}


@contextmanager
def counted(question: str) -> Iterator[Counter[str]]:
    """Count the readers' calls on a question in the block."""
    from theworld.questions import question as module_of_question

    module_of_question._kept.cache_clear()
    module_of_question._language_of.cache_clear()
    calls: Counter[str] = Counter()
    whole = "".join(fold(question).split())

    def counting(name: str, read: Callable[..., Any]) -> Callable[..., Any]:
        def call(text: Any, *more: Any, **named: Any) -> Any:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if "".join(fold(getattr(text, "text", text)).split()) == whole and not caller.startswith(APART):
                calls[name] += 1
            return read(text, *more, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for module, names in READERS.items():
            for name in names:
                read: Callable[..., Any] = getattr(sys.modules[module], name)
                for user in [m for key, m in sys.modules.items() if key.startswith("theworld")]:
                    if vars(user).get(name) is read:
                        patch.setattr(user, name, counting(name, read))
        yield calls


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The whole graph over the sample domain: notes, ontology and database."""
    from theworld.demo.credit import load_credit_ontology, notes_dir, write_sample
    from theworld.graph import build_graph, open_resources
    from theworld.ingestion import ingest
    from theworld.models.registry import load_models
    from theworld.ontology.storing import import_ontology
    from theworld.settings import Settings
    from theworld.stores.knowledge_store import KnowledgeStore

    folder: Path = tmp_path_factory.mktemp("read_once")
    sample = write_sample(folder / "credit")
    database = {"url": f"sqlite:///{sample['database']}", "ontology": sample["ontology"], "timezone": "Asia/Shanghai"}
    settings = Settings(store=folder / "store", database=database, retrieval={"deadline_ms": 60_000})
    with KnowledgeStore.open(settings.store, create=True) as store:
        ingest([notes_dir()], store, load_models(settings), settings)
        import_ontology(store, load_credit_ontology())
    with open_resources(settings) as resources:
        yield build_graph(resources)


@pytest.mark.slow
@pytest.mark.parametrize("language", QUESTIONS)
def test_every_reader_reads_a_question_once(graph: Any, language: str) -> None:
    from theworld.state import Context

    with counted(QUESTIONS[language]) as calls:
        found = graph.invoke({"question": QUESTIONS[language]}, context=Context(now=NOW, use_model=False))
    stages = {stage.stage for stage in found["stages"]}
    assert {"query_database", "retrieve_graph", "rerank_candidates", "answer_with_entity"} <= stages
    assert found["query"] == QUESTIONS[language]
    assert calls == dict.fromkeys((name for names in READERS.values() for name in names), 1)
