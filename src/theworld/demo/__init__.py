"""A small bilingual corpus written for this project, with questions that show every way an answer is made."""

from theworld.demo.questions import SILENT, DemoBranch, DemoQuestion, Expected, corpus_dir, load_questions

__all__ = ["SILENT", "DemoBranch", "DemoQuestion", "Expected", "corpus_dir", "load_questions"]
