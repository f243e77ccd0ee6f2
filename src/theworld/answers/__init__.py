"""What is shown as an answer: passages with their places, and how sure they are."""

from theworld.answers.excerpts import QuestionCoverage
from theworld.answers.passages import compose_passages, relevant, see_also
from theworld.answers.sureness import probability_in, sureness_of
from theworld.answers.wording import answer_text, said_text, shown_text

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
