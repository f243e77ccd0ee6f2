"""What a language model is shown and what of its text is kept: evidence within a token budget, citations that exist.

Notes are numbered and delimited. Of the reply only the answer is shown, also while it comes: without thoughts, the
agreed phrase for "not in the notes", and citations of notes that do not exist. Small models put the citation before
what it is of, repeat the question or the prompt, or say what no note says: the first is put right, the rest is no
answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from theworld.prompts import harmless
from theworld.state import Candidate
from theworld.text import begun_pair, cjk_share, split_sentences, tokens, well_formed
from theworld.text.tokens import function_words

LATIN_CHARACTERS_PER_TOKEN = 3.5
"""Estimate for Latin text, on the safe side of the usual four."""
CJK_TOKENS_PER_CHARACTER = 1.2
"""Estimate for Chinese text; common tokenizers need 0.6 to 1.5."""
NOTE_OVERHEAD = 16
"""Tokens for a note's delimiters and title mark-up."""

_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    r"\U000e0000-\U000e01ef]"
)
LONGEST_TITLE = 200
"""Characters of a title that are shown."""


@dataclass(frozen=True, slots=True)
class PackedEvidence:
    """The notes as the model sees them."""

    text: str
    shown: tuple[int, ...]
    """Indexes into the evidence; the note numbered n is shown[n - 1]."""
    tokens: int
    """Estimated tokens of `text`."""


def estimate_tokens(text: str) -> int:
    """Return a stated estimate of a model's tokens: 1.2 per CJK character, one per 3.5 other characters."""
    characters = len(text)
    chinese = cjk_share(text) * len("".join(text.split()))
    return int(chinese * CJK_TOKENS_PER_CHARACTER + (characters - chinese) / LATIN_CHARACTERS_PER_TOKEN) + 1


def pack_evidence(evidence: Sequence[Candidate], budget: int) -> PackedEvidence:
    """Return the notes in their order, whole while they fit; the note that does not is cut after a sentence.

    A note of which not even one sentence fits leaves its room to the next.
    """
    blocks: list[str] = []
    shown: list[int] = []
    used = 0
    for index, note in enumerate(evidence):
        title = clean(note.title[:LONGEST_TITLE]).replace('"', "'").replace("\n", " ").replace(">", "›")
        whole, room = clean(note.text), budget - used - NOTE_OVERHEAD - estimate_tokens(title)
        body = whole if estimate_tokens(whole) <= room else ""
        for sentence in () if body else split_sentences(whole):
            if estimate_tokens(whole[: sentence.end]) > room:
                break
            body = whole[: sentence.end]
        if not body:
            continue
        block = f'<note number="{len(shown) + 1}" title="{title}">\n{body}\n</note>'
        blocks.append(block)
        shown.append(index)
        used += estimate_tokens(block)
    return PackedEvidence("\n".join(blocks), tuple(shown), used)


def clean(text: str) -> str:
    """Return a note's text without control, bidirectional and tag characters, its own `<note` marks made harmless."""
    return harmless(_CONTROL.sub("", _LINE_END.sub("\n", text)), "note").strip()


_WORD = r"(?:(?:notes?|sources?|笔记|筆記|注|註|来源|來源)\s*)?"
_NUMBERS = rf"{_WORD}(?:\d{{1,3}}\s*[-–—~～至到]\s*{_WORD}\d{{1,3}}|\d{{1,4}})"
_JOINED = r"\s*(?:[,，、;；&]|\band\b|和|及|与|與)\s*(?:and\s+)?"
_MARK = re.compile(rf"[\[【［]\s*\^?({_NUMBERS}(?:{_JOINED}{_NUMBERS})*)\s*[\]】］]", re.IGNORECASE)
_LONGEST_RANGE = 50
_NUMBER = re.compile(r"\d+")
_SPACE_BEFORE_END = re.compile(r"[ \t]+(?=[.,;:!?。，；：！？]|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A model's text with only real citations left."""

    text: str
    cited: tuple[int, ...]
    """Numbers cited, in order of first use, all between 1 and the number of notes."""
    invented: tuple[int, ...]
    """Numbers that were cited but do not exist, ascending."""


def check_citations(text: str, notes: int) -> CheckedText:
    """Remove citations of notes that do not exist; every remaining one is written `[n]`."""
    cited: dict[int, None] = {}
    invented: set[int] = set()

    def keep(match: re.Match[str]) -> str:
        numbers: list[int] = []  # those between the ends of a range among them
        for part in re.split(_JOINED, match.group(1), flags=re.IGNORECASE):
            found = [int(number) for number in _NUMBER.findall(part)]
            whole = len(found) == 2 and 0 < found[1] - found[0] < _LONGEST_RANGE
            numbers += range(found[0], found[1] + 1) if whole else found
        real = [number for number in dict.fromkeys(numbers) if 1 <= number <= notes]
        invented.update(number for number in numbers if number not in real)
        cited.update(dict.fromkeys(real))
        return "".join(f"[{number}]" for number in real)

    checked = _MARK.sub(keep, text)
    if invented:
        checked = _SPACE_BEFORE_END.sub("", checked).lstrip(".:;,。：；， ")
    return CheckedText(checked.strip(), tuple(cited), tuple(sorted(invented)))


_LEADING = re.compile(r"(?P<marks>(?:\[\d+\]\s*)+)[.:;,)。：；，、\-–—]*\s*")


def citations_behind(text: str, *, ended: bool = True) -> str:
    """Return a text that begins with its citations with them behind its first sentence.

    "[4]. The code is 7." becomes "The code is 7. [4]". Of a text that has not `ended` the first sentence may go on: its
    citations are left out until another one begins.
    """
    match = _LEADING.match(text)
    rest = text[match.end() :] if match else text
    if match is None or not rest:
        return text if ended or match is None else ""
    first = next(iter(split_sentences(rest)), None)
    end = first.end if first is not None else len(rest)
    if end == len(rest) and not ended:
        return rest
    marks = "".join(match["marks"].split())
    return rest if marks in rest[:end] else f"{rest[:end]} {marks}{rest[end:]}"


HELD = 0.8
"""Share of the content words of an uncited answer's first line that a note holds where it is cited."""


def with_citation(text: str, notes: Sequence[str]) -> str:
    """Return an answer that cites nothing with the note that holds its first line cited there; small models cite none.

    `notes` are the titles and texts of the notes as numbered. Nothing is added where none holds enough of its words.
    """
    first, line_end, rest = text.partition("\n")
    words = set(tokens(first)) - function_words()
    if _MARK.search(text) or not words or not notes:
        return text
    shares = [len(words & set(tokens(note))) / len(words) for note in notes]
    best = max(range(len(notes)), key=lambda i: (shares[i], -i))
    return f"{first.rstrip()} [{best + 1}]{line_end}{rest}" if shares[best] >= HELD else text


REPEATED = 0.9
"""Share of the tokens of question and answer together that both have, from which the answer only repeats it."""
LEAST_REPEATED = 4
"""Tokens of the prompt in a row that are no chance."""
_YES_NO = frozenset(tokens("yes no 是 否 不是 没有 有"))


def no_answer_because(text: str, question: str, notes: Sequence[str], instructions: str) -> str:
    """Return why a checked text answers nothing, empty where it may: what follows "the model's answer"."""
    said = tokens(_MARK.sub(" ", text))
    if not said:
        return "was empty" if not text else "had citations and no words"
    own, asked = set(said), set(tokens(question))
    if len(own & asked) >= REPEATED * len(own | asked):
        return "only repeated the question"
    instructed, size = tokens(instructions), len(said)
    if size >= LEAST_REPEATED and any(instructed[at : at + size] == said for at in range(len(instructed) - size + 1)):
        return "only repeated its instructions"
    shown = "\n".join(notes)
    same_script = (cjk_share(text) > 0) == (cjk_share(shown) > 0)
    content = own - _YES_NO - function_words()
    cited = _MARK.search(text) is not None
    if content:
        unknown = (same_script or not cited) and not content & set(tokens(shown))
    else:
        unknown = not cited and not own & _YES_NO
    if unknown:
        return "had no word of the notes"
    return ""


LONGEST_SHORT = 60
"""Characters of a first line that is the answer in a few words."""


def short_answer(text: str) -> str:
    """Return the first line of a text where it is the answer in a few words and more follows, else nothing.

    A sentence alone is none, a few words before their citation are.
    """
    first, _, rest = text.partition("\n")
    words = _MARK.sub("", first).strip()
    bare = words.rstrip(".。").rstrip()
    more = rest.strip() or (words == bare != first.strip())
    return bare if more and len(bare) <= LONGEST_SHORT else ""


NO_ANSWER = {"en": "Not enough evidence.", "zh": "证据不足。"}
"""What the prompt asks the model to say when the notes do not answer; recognised in its reply."""

_THOUGHT_ENDS = "</think>"
_THOUGHT_BEGINS = "<think>"
_OPEN_MARK = re.compile(r"[\[【［][^\]】］]{0,40}$")
_EDGE = " \t\r\n\"'“”「」*_`。.！!"
_MARKUP = "\"'*_`"
_SENTENCE_END = ".。!！\n"


class Shown(NamedTuple):
    """What one piece of text adds."""

    text: str
    restart: bool = False
    """True when what was shown before turned out not to be the answer."""


def answer_part(text: str) -> str:
    """Return a reply without the thoughts before its answer; nothing while it is still thinking."""
    _, mark, answer = text.partition(_THOUGHT_ENDS)
    if mark:
        return answer.strip()
    begun = text.lstrip()
    thinks = begun.startswith(_THOUGHT_BEGINS) or (bool(begun) and _THOUGHT_BEGINS.startswith(begun))
    return "" if thinks else text.strip()


def declines(text: str) -> bool:
    """Return whether an answer is the agreed phrase for "not in the notes", alone or before an uncited comment."""
    opening = text.lstrip(_EDGE).casefold()
    said = next((phrase for phrase in _REFUSALS if opening.startswith(phrase)), None)
    if said is None:
        return False
    comment = opening[len(said) :]
    checked = check_citations(comment, _ANY_NUMBER)
    alone = not _bare(check_citations(comment, 0).text)
    return alone or (not checked.cited and comment.lstrip(_MARKUP)[:1] in _SENTENCE_END)


def _bare(text: str) -> str:
    return text.strip(_EDGE).casefold()


_ANY_NUMBER = 9_999
_REFUSALS = frozenset({*map(_bare, NO_ANSWER.values()), "證據不足", "i do not know", "i don't know", "我不知道"})


class AnswerStream:
    """Takes a reply piece by piece and says what to show; the shown pieces together are the checked answer.

    `notes` are the titles and texts of the notes as numbered.
    """

    def __init__(self, notes: Sequence[str]) -> None:
        self._notes = notes
        self._raw = ""
        self._shown = ""

    def feed(self, piece: str) -> Shown:
        """Take in a piece; text that may still become a citation, a refusal or a thought is held back."""
        self._raw += piece
        answer = answer_part(well_formed(self._raw.removesuffix(begun_pair(self._raw))))
        bare = _bare(answer)
        if any(refusal.startswith(bare) for refusal in _REFUSALS) or declines(answer):
            return self._turn("")
        return self._turn(_OPEN_MARK.sub("", answer), ended=False)

    def end(self) -> Shown:
        """Return what was held back."""
        answer = answer_part(well_formed(self._raw))
        return self._turn("" if declines(answer) else answer)

    def _turn(self, answer: str, *, ended: bool = True) -> Shown:
        visible = citations_behind(check_citations(answer, len(self._notes)).text, ended=ended)
        visible = with_citation(visible, self._notes) if ended else visible
        before, restart = self._shown, not visible.startswith(self._shown)
        self._shown = visible
        return Shown(visible if restart else visible[len(before) :], restart)
