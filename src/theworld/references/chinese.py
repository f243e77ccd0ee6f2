"""Chinese follow-ups: an ellipsis gets the frame of the question before, an ordinal its item.

Where a topic ends nothing in Chinese writing shows. What may stand for one keeps its place, and the query gets the
question before in brackets, with the sentence of the answer that may be meant: on conversations not tuned on that finds
as much as a guess in the place of a pronoun, and says nothing wrong. Latin words take the place of Latin words, and of
two names side by side in the question before either may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from theworld.references.config import ASKING, any_of, pattern_of
from theworld.references.context import REFILLED, Antecedent, FollowUp, Standalone
from theworld.references.frames import CLOSING, MEASURE, ORDINAL, with_context
from theworld.references.topics import TIME, bare, pair_in, topic_of, topic_tokens
from theworld.text.sentences import in_frame
from theworld.text.tokens import fold_in_place, has_ideographs

_GOVERNED = re.compile(
    r"(?:怎么|怎样|如何|为什么|为何|什么时候|何时|能不能|可以|应该|需要|想|要|把|将|给|对|让|用|从|跟|在)[^，。,的是]{0,4}$"
    r"|[^，。,]{1,8}(?:时|时候|[之以][前后])$"
)
_LATIN_WORDS = re.compile(r"[A-Za-z][\w.+#/-]*(?: [A-Za-z][\w.+#/-]*)*", re.ASCII)
_ONE_SIDED = (
    "(?:那么?|还)?(?:(?:和(?![平尚服谐解田睦])|跟(?![踪进单])|与(?!会)|比(?![例赛较如特萨]))[^和跟与]{2,}?(?:有|比|相|哪|一样)"
    "|(?:能不能|会不会|可以|应该|需要|必须|能(?![力量源耗效级])|会(?![议计员场所馆长谈])|要(?![求点素塞闻]))[^，。,;；]{1,12}$)"
)  # It begins with the other side of a comparison, or with a modal verb: what it is about was said before
_PRONOUN = (
    r"^(?:那么?)?[那这]一?个(?=是|有|在|能|会|可以|要|多[高长大久远重快深宽少]|怎么|什么时候|何时|为什么|的)"
    r"|(?<!其)(?:[他她它]们|(?<!吉)(?<!排)他(?!人|乡|国|汀)|她|它)|(?<![尤与极])其(?=[^他它实中余次间])|[那这][里儿边]|当地"
)
_POINTING = (
    "^其中(?!间)|^该(?![不怎如去是])..(?=«chinese.after_said»)"
    f"|(?<!在)(?!{TIME.pattern})[这那](?:[一几]?(?:{MEASURE}|«chinese.pointed_units»)|«chinese.pointed_times»)(?!们|么)"
    "|第.[种步]|最后[一那][个种步]|[前后]者"
)  # What points at something said: 其中, 该设置有, 这种, 那时, 第二种
_ALLOWED = (
    "^[^，。,的]{1,8}(?:可以|能|行|会|要|需要|算|有)(?:吗|么|嘛|不)$"  # whether what was asked of goes for another
)
_SEQUEL = (
    f"^«chinese.rejections»|^{_ONE_SIDED}|{_ALLOWED}"
    "|^(?=.{1,15}$)(?:«chinese.additions»|那.*呢$|.*?«chinese.orders»)"
)  # What rejects or goes on; in a longer query 接着 follows on something in it


class ChineseFollowUp(FollowUp):
    """A Chinese query being made to stand alone."""

    filler = re.compile(
        rf"^(?:那么|那|还有|至于|换成|如果是)?(?P<value>(?:(?!{ASKING.pattern})[^，。！？,!?]){{1,14}}?)\s*的?呢?[？?。！!\s]*$"
    )  # X呢, where X asks nothing itself

    def rewritten(self) -> Standalone:
        """Return the query with its antecedents inserted, or its context added; untouched where it needs neither."""
        self.folded = fold_in_place(self.query)
        self.text = bare(self.folded)
        if label := self.history[self.before.source].topic:
            self.heading = Antecedent(label, self.before.source)
        return self.item() or self._about() or self._pronouns() or self._dependent()

    def _about(self) -> Standalone | None:
        """ "X呢？": the question before with X in the place of its like, or X of its topic."""
        own = bare(self.query)
        match = self.filler.match(fold_in_place(own)) if own.endswith("呢") else None
        value = own[slice(*match.span("value"))].strip() if match else ""
        goes_on = any_of("chinese", "continuations").fullmatch(self.text.rstrip("呢吗吧啊呀么嘛"))
        if not value or goes_on or not (topic_tokens(value) or value.isascii()):
            return None
        joins = own.endswith("的呢") and not bare(self.asked).endswith("的呢")  # X's of what was said last
        framed = with_context(value, self.before.text if joins else self.filled)
        return self.refill(value) or self.changed(framed, self.whole, "continuation", REFILLED, self.before)

    def refill(self, value: str) -> Standalone | None:
        """Return the question before with a value in the place of its like, or an attribute of its topic; else None."""
        if alone := super().refill(value):
            return alone
        question, query = in_frame(self.filled)[0].strip(CLOSING), None
        latin = [] if has_ideographs(value) else _LATIN_WORDS.findall(question)
        if any_of("chinese", "attributes").fullmatch(fold_in_place(value)):
            query = f"{topic_of(question).partition('的')[0] or question}的{value}"
        elif len(latin) == 1 or (latin and question.startswith(latin[0])):  # a sentence begins with its topic
            query = question.replace(latin[0], value)
        return self.changed(query, self.whole, "continuation", REFILLED, self.before) if query else None

    def _pronouns(self) -> Standalone | None:
        matches = pattern_of(_PRONOUN).finditer(self.folded)
        match = next((m for m in matches if not _bound(self.folded[: m.start()])), None)
        if match is None:
            return None
        word, span = match.group(), self.span(match)
        names = self._side_by_side()
        names = ["和".join(names)] if names and "们" in word else names
        found = [Antecedent(self.forced, -1)] if self.forced else [Antecedent(n, self.before.source) for n in names]
        if not found:
            return self.in_context(span, "pronoun")
        query = self.query[: span.start] + found[0].text + "的" * (word == "其") + self.query[span.end :]
        alone = self.changed(query, span, "pronoun", "the antecedent in the last turns", found[0])
        return replace(alone, options=tuple(name.text for name in found) if len(found) > 1 else ())

    def _side_by_side(self) -> Sequence[str]:
        """Return the names that the question before puts side by side, or the one of them that the answer names."""
        names = pair_in(self.before.text)
        answer = fold_in_place(self.answer.text)
        chosen = [name for name in names if fold_in_place(name) in answer]
        return chosen if len(chosen) == 1 else names

    def _dependent(self) -> Standalone:
        """Read 这种, 第二种, a correction, a sequel (接着), and what names nothing at all ("为什么？")."""
        ordinal = ORDINAL.search(self.folded)
        pointing = ordinal if ordinal and self.counted(ordinal) is not None else None
        match = pattern_of(_POINTING).search(self.folded) or pointing
        if match and not _bound(self.folded[: match.start()], 3):
            return self.in_context(self.span(match), "pronoun")
        goes_on = not topic_tokens(self.text) or pattern_of(_SEQUEL).match(self.text)
        return self.in_context(self.whole, "continuation") if goes_on else Standalone()


def _bound(before: str, least: int = 2) -> bool:
    """Whether a name of at least so many characters stands before the pronoun: neither a verb nor what describes it."""
    before = _GOVERNED.sub("", before)
    return not before.endswith("的") and bool(topic_tokens(before)) and len(bare(before)) >= least
