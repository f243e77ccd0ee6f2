"""Which types a checkpointer may restore: the values of the state, by name."""

from __future__ import annotations

import copy
import inspect

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Checkpointer

import theworld.state


def state_types() -> list[tuple[str, str]]:
    """Return (module, name) of every class that a checkpoint of this graph can hold."""
    classes: list[type] = [AIMessage, HumanMessage, SystemMessage, ToolMessage]
    classes += [value for name, value in vars(theworld.state).items() if inspect.isclass(value) and name[0].isupper()]
    return sorted({(value.__module__, value.__name__) for value in classes})


def allow_state_types(checkpointer: Checkpointer) -> Checkpointer:
    """Return a checkpointer that restores this graph's values, and nothing that is not on the list.

    LangGraph's default restores any class and warns of each. A serializer the caller made (an encrypting one, or one
    with other types allowed) is the caller's choice and stays as it is.
    """
    if not isinstance(checkpointer, BaseCheckpointSaver) or type(checkpointer.serde) is not JsonPlusSerializer:
        return checkpointer
    clone = copy.copy(checkpointer)
    clone.serde = JsonPlusSerializer(allowed_msgpack_modules=state_types())
    return clone
