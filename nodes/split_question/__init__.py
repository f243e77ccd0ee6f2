"""Questions of several parts: split where the parts need different ways, answered part by part, joined."""

from theworld.nodes.split_question.joining import join_parts
from theworld.nodes.split_question.node import FindParts, answer_parts, parts_finder
from theworld.nodes.split_question.splitting import split_parts

__all__ = ["FindParts", "answer_parts", "join_parts", "parts_finder", "split_parts"]
