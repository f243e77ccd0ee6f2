"""The Haystack component in a pipeline of Haystack, also saved and loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("haystack", reason="haystack-ai is not installed")

from haystack import Pipeline
from haystack.components.builders import PromptBuilder

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
