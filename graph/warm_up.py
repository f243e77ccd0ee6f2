"""Questions asked before anybody waits for an answer, so that what loads on first use is loaded."""

from __future__ import annotations

import logging
from typing import Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.graph.resources import Resources
from theworld.state import Context

QUESTIONS = {
    "en": "Where was the author of the first novel about the moon born?",
    "zh": "第一部月球小说的作者出生在哪里？",
}
"""One in each language, of more than one hop, so that it takes the whole way."""

_LOG = logging.getLogger(__name__)


def warm_up(graph: Any, resources: Resources) -> None:
    """Ask the graph in the languages of the notes, of the tenant that has most of them, without a language model.

    A warm-up that fails is logged: the first question may then be late, and says itself what is wrong.
    """
    tenants = resources.store.info()["tenants"]
    if not tenants:
        return
    tenant = max(sorted(tenants), key=lambda name: tenants[name]["notes"])
    context = Context(tenant=tenant, use_model=False, deadline_ms=BACKGROUND_DEADLINE_MS)
    for language, question in QUESTIONS.items():
        if language in tenants[tenant]["languages"]:
            try:
                graph.invoke({"question": question}, context=context)
            except Exception as error:  # what is wrong is for the first question to say
                _LOG.warning("the warm-up failed, the first question may be late: %s", error)
