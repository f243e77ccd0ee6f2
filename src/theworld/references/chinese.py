"""Chinese follow-ups: an ellipsis gets the frame of the question before, an ordinal its item, a pronoun its antecedent.

A pronoun stands for the name that the last answer gives, else for the topic of the last question. What has no sure
antecedent keeps its words and gets the question before in brackets, with the beginning of an answer that may be meant.
"""

from __future__ import annotations

import re
from dataclasses import replace

from theworld.references.config import ASKING, any_of, pattern_of
from theworld.references.context import REFILLED, Antecedent, FollowUp, Standalone
from theworld.references.frames import MEASURE, ORDINAL, with_context
from theworld.references.history import last_answer
from theworld.references.topics import TIME, answering, bare, joined_names, topic_of, topic_tokens
from theworld.text.sentences import in_frame
from theworld.text.tokens import CJK_RANGES, fold_in_place, has_ideographs

MOST_UNLIKE = 1  # characters by which fillers of one place may differ in length: else one has more words than the other
_BY_WHAT = re.compile("[由用被靠](?:什么|哪|几)")  # with or by what it was done: the next turn may be about either
_PLACES = ("里", "儿", "边", "地")
_GOVERNED = re.compile(
    r"(?:怎么|怎样|如何|为什么|为何|什么时候|何时|能不能|可以|应该|需要|想|要|把|将|给|对|让|用|从|跟|在)[^，。,的是]{0,4}$"
    r"|[^，。,]{1,8}(?:时|时候|[之以][前后])$"
)
_UNSURE = re.compile("[，。；,;].*[^，。；,;？?]|^[对把用在从跟给按想要]|[上里中内下]$")
"""Several clauses, a verb at the beginning (of a topic: 用Docker部署), the end of a place (火星上): it is not sure."""
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
LONGEST_NAME = 14  # characters of an answer that is nothing but a name
_ASKS_FOR = re.compile(
    rf"谁|哪位|哪一?[个条座家款种部本所国只位]|叫什么|(?:什么|啥|多少|几[个种款项克毫]?)(?!时候|地方|年|月|天|人|钱)[{CJK_RANGES}a-z]{{2,8}}?"
    r"(?:[吗呢啊]|[\s，。？?,!！]|$)"
)
_WHO_IS = re.compile("[^的]+是(?:谁|哪位|什么人)")
_CLAUSE = re.compile("[了过着]$|[被把让没在]")  # what happens is no topic: 被查到了呢, 放假在家的呢
_DESCRIBED = re.compile(rf".的.|\d|[一二两三四五六七八九十几百][年月天周日岁]|{TIME.pattern}")  # no mere name
_SAYS = re.compile(rf"都[很是不有没]|很|非常|更|没有|由|.比|.是|[\d一二两三四五六七八九十]\s*{MEASURE}")
_WHO = re.compile("谁|哪位")
_BESIDE_A_NAME = r"等人?|[由被是在的了和与为]|[^\w·•‧・]"
_BEGINS_WITH_ITS_TITLE = re.compile(r"《([^》]{2,12})》：\W*(?:\1\W+)?\1[，,（(]")
_NAME = re.compile(rf"[{CJK_RANGES}\w·•.\- ]+")
_NO_PERSON = r"\d|[一两几]个|«chinese.things»$"


class ChineseFollowUp(FollowUp):
    """A Chinese query being made to stand alone."""

    filler = re.compile(
        rf"^(?:那么|那|还有|至于|换成|如果是)?(?P<value>(?:(?!{ASKING.pattern})[^，。！？,!?]){{1,14}}?)\s*的?呢?[？?。！!\s]*$"
    )  # X呢, where X asks nothing itself

    def rewritten(self) -> Standalone:
        """Return the query with its antecedents inserted, or its context added; untouched where it needs neither."""
        self.folded = fold_in_place(self.query)
        self.text = bare(self.folded)
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
        """Return the question before with a value in the place of its like, or the value of its topic; else None."""
        if alone := super().refill(value):
            return alone
        query = _filled(value, in_frame(self.filled)[0].strip(" ？?。！!"))
        return self.changed(query, self.whole, "continuation", REFILLED, self.before) if query else None

    def _pronouns(self) -> Standalone | None:
        matches = pattern_of(_PRONOUN).finditer(self.folded)
        match = next((m for m in matches if not _bound(self.folded[: m.start()])), None)
        if match is None:
            return None
        word, span = match.group(), self.span(match)
        found = Antecedent(self.forced, -1) if self.forced else self._antecedent(word)
        if found is None:
            return self.in_context(span, "pronoun")
        options = () if self.forced or "们" in word else joined_names(found.text)
        used = Antecedent(options[0], found.source) if options else found
        after = self.query[span.end :]
        text = used.text.removesuffix(after[:1]) if len(used.text) > 2 else used.text  # 她家 of 赵倩家
        query = self.query[: span.start] + text + ("的" if word == "其" else "") + after
        alone = self.changed(query, span, "pronoun", "the antecedent in the last turns", used)
        return replace(alone, options=options)

    def _antecedent(self, word: str) -> Antecedent | None:
        """Return what a pronoun stands for: the name the last answer gives, else the topic of the last question."""
        before, asked = self.before, self.asked
        if label := self.history[before.source].topic:
            return Antecedent(label, before.source)
        person, thing = word in {"他", "她"}, word.startswith(("它", "其"))
        other = not re.search("[谁哪叫]", fold_in_place(asked)) if person else thing and "谁" in asked
        if asks_for(asked) and not (word[1:] in _PLACES or other):
            return self._name_asked(thing=thing)
        about, context = in_frame(before.text)
        topic = topic_of(about)
        goes_on = context and bare(about) == bare(asked)  # 管理员密码是多少, of what stands in its context
        if goes_on or any(map(_UNSURE.search, (about, topic))) or not has_ideographs(before.text):
            return None
        if person and (title := any_of("chinese", "honorifics").search(fold_in_place(topic))):
            topic = topic[: title.end()]  # of 陈女士投诉什么
        no_person = person and pattern_of(_NO_PERSON).search(fold_in_place(topic))
        return Antecedent(topic, before.source) if topic and not no_person else None

    def _name_asked(self, *, thing: bool) -> Antecedent | None:
        """Return the name that the last answer gives, of names compared the one it holds."""
        compared = joined_names(bare(re.split("[谁哪]", fold_in_place(self.asked))[0]))
        answer, said = last_answer(self.history)
        chosen = [name for name in compared if name in fold_in_place(answer)]
        name = chosen[0] if len(chosen) == 1 else "和".join(compared)
        if not (name or (thing and _BY_WHAT.search(self.asked))):
            name = name_given(self.asked, answer, person=not thing)
        return Antecedent(name, self.before.source if compared else said) if name else None

    def _dependent(self) -> Standalone:
        """Read 这种, 第二种, a correction, a sequel (接着), and what names nothing at all ("为什么？")."""
        ordinal = ORDINAL.search(self.folded)
        pointing = ordinal if ordinal and self.counted(ordinal) is not None else None
        match = pattern_of(_POINTING).search(self.folded) or pointing
        if match and not _bound(self.folded[: match.start()], 3):
            return self.in_context(self.span(match), "pronoun")
        goes_on = not topic_tokens(self.text) or pattern_of(_SEQUEL).match(self.text)
        return self.in_context(self.whole, "continuation") if goes_on else Standalone()


def _filled(value: str, question: str) -> str | None:
    """Return a question with a value in the place of its Latin words or its topic; an attribute is asked of that."""
    topic = topic_of(question)
    if any_of("chinese", "attributes").fullmatch(fold_in_place(value)):
        return f"{topic or question}的{value}"
    latin = [] if has_ideographs(value) else _LATIN_WORDS.findall(question)
    if len(latin) == 1 or (latin and question.startswith(latin[0])):  # a sentence begins with its topic
        return question.replace(latin[0], value)  # of "怎么在 nginx 上部署" the like of express is nginx
    before, _, after = question.partition(topic) if topic else (question, "", "")
    whole = not after.strip("吗呢吧") and (not before or ASKING.match(before))  # of "怎么申请休假" all but how
    kinds = [(has_ideographs(text), _DESCRIBED.search(text) is None) for text in (topic, value)]
    alike = not _CLAUSE.search(value) and kinds[0] == kinds[1] and abs(len(topic) - len(value)) <= MOST_UNLIKE
    if topic and alike and not whole and not asks_for(question):
        said = next(n for n in range(len(value), -1, -1) if after.startswith(value[len(value) - n :]))
        return before + value + after[said:]
    return None


def _bound(before: str, least: int = 2) -> bool:
    """Whether a name of at least so many characters stands before the pronoun: neither a verb nor what describes it."""
    before = _GOVERNED.sub("", before)
    return not before.endswith("的") and bool(topic_tokens(before)) and len(bare(before)) >= least


def asks_for(question: str) -> bool:
    """Return whether a question asks for a name or a kind of thing ("谁发明了电话？", "有什么毒素？").

    The next turn may speak of that. No attribute is one ("代表作是什么？"), nor who someone is ("鲁迅是谁？").
    """
    folded = bare(fold_in_place(question))
    asked = any_of("chinese", "attributes").sub("", folded)
    return _ASKS_FOR.search(asked) is not None and not _WHO_IS.fullmatch(folded)


def name_in_answer(answer: str) -> str:
    """Return the name that is all an answer says in its first line ("是贝尔。" -> "贝尔"); empty for other answers."""
    name = re.sub("^(?:是|在|位于|应该是|答案是)", "", bare(answer.strip().partition("\n")[0]))
    folded = fold_in_place(name)
    says = _SAYS.search(folded) or any_of("chinese", "verbs").search(folded)
    return name if len(name) <= LONGEST_NAME and _NAME.fullmatch(name) and not says and topic_tokens(name) else ""


def name_given(question: str, answer: str, *, person: bool) -> str:
    """Return the name that is all an answer says; of a person asked for, the first one in the sentence that answers.

    That is the first run of characters that neither the question has nor a verb, a particle or a time is. Unless that
    sentence is all, or says the predicate again, it has to be there twice; else a passage is about its title.
    """
    asked = fold_in_place(question)
    name = name_in_answer(answer)
    who = _WHO.search(asked)
    if name or not person or who is None:
        return name
    sentence = answering(question, answer)
    folded = fold_in_place(sentence)
    said = [(start, start + 2) for start in range(len(folded) - 1) if folded[start : start + 2] in asked]
    no_name = f"{TIME.pattern}|{any_of('chinese', 'verbs').pattern}|{_BESIDE_A_NAME}"
    said += [match.span() for match in re.finditer(no_name, folded)]
    known = {place for span in said for place in range(*span)}
    runs = "".join(" " if place in known else character for place, character in enumerate(sentence)).split()
    names = (name_in_answer(run) for run in runs if len(run) > 1 and not pattern_of(_NO_PERSON).search(run))
    name = next(filter(None, names), "")
    predicate = bare(asked[who.end() :]).removesuffix("的")
    again = len(predicate) > 1 and predicate in folded
    if again or sentence.strip() == answer.strip() or answer.count(name) > 1:
        return name
    about = _BEGINS_WITH_ITS_TITLE.match(answer)
    return about[1] if about and about[1] not in asked else ""
