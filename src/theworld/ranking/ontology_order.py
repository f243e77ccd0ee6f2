"""What the ontology leads to stays in the list: what a question describes comes first, the fused order last.

The reranker compares words. It is right about which few notes answer together, but knows nothing of what hangs together
without sharing a word: a guarantor's rating, a note in the other language. Those it puts last, behind every note that
repeats the question. Where an ontology has spoken, only the first notes are the reranker's; and where it knows what a
description stands for ("the guarantor of X"), the notes that name that and say most of the rest come before them.
"""

from __future__ import annotations

from collections.abc import Sequence

from theworld.questions import Question, read_question
from theworld.state import Candidate, OntologyEvidence
from theworld.text import fold, tokens
from theworld.text.tokens import token_set

MOST_ABOUT = 3
"""Notes about what a question describes that are put first."""


def about_described_first(
    reranked: Sequence[Candidate], question: Question, ontology: OntologyEvidence
) -> list[Candidate]:
    """Return the candidates with the notes first that name what the question describes and share most of its words.

    Only notes in the question's language, since words decide. They take the relevance of the best.
    """
    names = [fold(alias) for one in ontology.described for alias in one.aliases]
    asked = [fold(alias) for one in ontology.described[-1:] for alias in one.aliases]
    own = [c for c in reranked if c.language == question.language]
    # What is known by the facts need not be said by the notes.
    rest = question.simplified.replace(ontology.described[-1].text, " ")
    texts = {c.note_id: f"{c.title} {c.text}" for c in own}
    wanted = read_question(rest, question.language).words_over(list(texts.values()))
    known = {token for name in names for token in tokens(name)}

    def worth(candidate: Candidate) -> tuple[float, float]:
        said = token_set(texts[candidate.note_id])
        return wanted.share(said - known), wanted.share(said)

    about = [c for c in own if any(name in fold(texts[c.note_id]) for name in asked)]
    about = sorted((c for c in about if worth(c)[0] > 0), key=worth, reverse=True)[:MOST_ABOUT]
    best = max((c.final_score for c in reranked), default=0.0)
    first = [candidate.model_copy(update={"final_score": best}) for candidate in about]
    taken = {candidate.note_id for candidate in about}
    return [*first, *(c for c in reranked if c.note_id not in taken)]


def keep_fused_tail(reranked: Sequence[Candidate], head: int) -> list[Candidate]:
    """Return the first `head` candidates as they are and the others by fused rank; relevance never increases."""
    last = len(reranked) + 1
    tail = sorted(reranked[head:], key=lambda c: (c.fused_rank or last, c.note_id))
    ordered = list(reranked[:head])
    floor = ordered[-1].final_score if ordered else 1.0
    for candidate in tail:
        floor = min(floor, candidate.final_score)
        ordered.append(candidate.model_copy(update={"final_score": floor}))
    return ordered
