"""The ontology channel: the notes that what the question speaks of leads to, over the ontology's relations."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.retrieval.channel import ranked, search_channel
from theworld.retrieval.ontology import OntologyChannel
from theworld.settings import RetrievalSettings
from theworld.state import ChannelPlan, Context, QueryState, Update


def retrieve_ontology(
    state: QueryState, runtime: Runtime[Context], *, ontology: OntologyChannel | None, settings: RetrievalSettings
) -> Update:
    """Rank notes by how closely the ontology ties them to what the query names or describes.

    Descriptions that its facts resolve ("the guarantor of X") are replaced by names in the query.
    """

    def search(plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        findings = ontology.ask(state.query, state.language, context, deadline, plan.top_k) if ontology else None
        if findings is None:
            return ranked("ontology", [], "nothing recognised")
        evidence, notes = findings
        named = ", ".join(dict.fromkeys(match.label for match in evidence.matches))
        update = ranked("ontology", notes, f"recognised: {named}")
        return {**update, "query": evidence.understood or state.query, "ontology": evidence}

    return search_channel("ontology", state, runtime, settings, search)
