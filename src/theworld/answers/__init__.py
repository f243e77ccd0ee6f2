"""What is shown as an answer: passages with their places, and how sure they are."""

from theworld.answers.excerpts import QuestionCoverage
from theworld.answers.passages import answer_text, compose_passages, relevant, said_text, see_also, shown_text
from theworld.answers.sureness import probability_in, sureness_of

__all__ = [
    "QuestionCoverage",
    "answer_text",
    "compose_passages",
    "probability_in",
    "relevant",
    "said_text",
    "shown_text",
    "see_also",
    "sureness_of",
]
