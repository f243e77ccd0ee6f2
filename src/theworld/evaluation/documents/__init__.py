"""How well questions over a folder of documents are answered: asked through the graph, measured, compared."""

from theworld.evaluation.documents.question_set import (
    DocumentAnswer,
    DocumentQuestion,
    QuestionSet,
    ask_questions,
    load_question_set,
)
from theworld.evaluation.documents.report import DocumentsReport
from theworld.evaluation.documents.rivals import RIVALS, Rivals, measure_rivals

__all__ = [
    "RIVALS",
    "DocumentAnswer",
    "DocumentQuestion",
    "DocumentsReport",
    "QuestionSet",
    "Rivals",
    "ask_questions",
    "load_question_set",
    "measure_rivals",
]
