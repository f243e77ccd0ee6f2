"""The extractive answer: a few sentences of the evidence, chosen as a set and quoted with their sources."""

from theworld.nodes.answer_with_extract.node import answer_with_extract
from theworld.nodes.answer_with_extract.question_tokens import question_weights, said_tokens
from theworld.nodes.answer_with_extract.sentences import ChosenSentence, Extract, choose_sentences

__all__ = ["ChosenSentence", "Extract", "answer_with_extract", "choose_sentences", "question_weights", "said_tokens"]
