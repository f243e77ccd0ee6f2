"""What a question asks, read once: `read_question` gives the `Question` that every consumer shares."""

from theworld.questions.question import Question, read_question, spoken_language

__all__ = ["Question", "read_question", "spoken_language"]
