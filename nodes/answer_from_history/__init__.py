"""Answers from the conversation itself."""

from theworld.nodes.answer_from_history.node import CONVERSATION, answer_from_history
from theworld.nodes.answer_from_history.quoting import Quote, asks_what_was_said, quote_for

__all__ = ["CONVERSATION", "Quote", "answer_from_history", "asks_what_was_said", "quote_for"]
