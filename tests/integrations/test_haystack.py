"""The Haystack component in a pipeline of Haystack, also saved and loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("haystack", reason="haystack-ai is not installed")

from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from theworld.errors import SettingsError
from theworld.integrations.haystack import TheWorldRetriever

pytestmark = pytest.mark.slow
TEMPLATE = "{% for d in documents %}{{ d.meta['title'] }}: {{ d.content }}\n{% endfor %}Q: {{ question }}"


def test_in_a_pipeline_that_was_saved(demo_store: Path) -> None:
    made = Pipeline()
    made.add_component("retriever", TheWorldRetriever(str(demo_store), top_k=3))
    made.add_component("prompt", PromptBuilder(TEMPLATE, required_variables=["documents", "question"]))
    made.connect("retriever.documents", "prompt.documents")
    pipeline = Pipeline.loads(made.dumps(), allowed_modules=["theworld.integrations.haystack"])
    question = "Where was Isaac Newton born?"
    given = {"retriever": {"query": question}, "prompt": {"question": question}}
    done = pipeline.run(given, include_outputs_from={"retriever"})
    documents = done["retriever"]["documents"]
    assert [d.meta["rank"] for d in documents] == [1, 2, 3]
    assert documents[0].content in done["prompt"]["prompt"]
    assert pipeline.run(given | {"retriever": {"query": question, "top_k": 1}}, {"retriever"})["retriever"]


def test_filters_of_a_run_add_to_the_own(demo_store: Path) -> None:
    newton = "en/isaac-newton.md"
    retriever = TheWorldRetriever(str(demo_store), top_k=3)
    one = {"field": "meta.document_id", "operator": "==", "value": newton}
    some = {"operator": "AND", "conditions": [{**one, "operator": "in", "value": [newton, "en/danube.md"]}, one]}
    for filters in ({"document_id": newton}, one, some):
        found = retriever.run(query="Where was he born?", filters=filters)["documents"]
        assert {d.meta["document_id"] for d in found} == {newton}
    own = TheWorldRetriever(str(demo_store), filters={"document_id": "en/danube.md"})
    found = own.run(query="Where was he born?", filters=one)["documents"]
    assert {d.meta["document_id"] for d in found} == {"en/danube.md"}
    with pytest.raises(SettingsError, match=r"filters: '>' is not known. Use ==, in and AND."):
        retriever.run(query="?", filters={**one, "operator": ">"})
