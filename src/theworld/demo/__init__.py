"""A small bilingual corpus written for this project, with questions that show every way an answer is made."""

from theworld.demo.corpus import corpus_dir
from theworld.demo.questions import DemoBranch, DemoQuestion, load_questions

__all__ = ["DemoBranch", "DemoQuestion", "corpus_dir", "load_questions"]
