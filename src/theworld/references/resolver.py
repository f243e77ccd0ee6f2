"""ReferenceResolver: what a query refers to in its history (specification and beyond), and the query by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from theworld.errors import ReferenceConfigError
from theworld.references.assistance import LLMResolver, ask_model
from theworld.references.chinese import ChineseFollowUp
from theworld.references.config import LanguageCode, ReferenceResolverConfig, check_mapping, load_table
from theworld.references.context import (
    CORRECTED,
    ITEM,
    Antecedent,
    Detected,
    FollowUp,
    Span,
    Standalone,
    dependent,
    depends_on_nothing,
)
from theworld.references.detection import find_references, named_topic, order_references
from theworld.references.english import EnglishFollowUp
from theworld.references.frames import root_of, topic_change, with_context
from theworld.references.history import as_messages, text_of
from theworld.references.recall import Conversation, recall_turns, returned_to
from theworld.references.topics import sure_names, topic_in, topic_tokens
from theworld.state import Message, ReferenceMatch, ReferenceType, ResolvedReference
from theworld.text import detect_language
from theworld.text.sentences import in_frame
from theworld.text.tokens import fold_in_place, function_words, has_ideographs

_CODES: dict[str, LanguageCode | None] = {"cn": "cn", "zh": "cn", "en": "en", "auto": None}
_ALIASES = {"just_now_turns": "last_few_turns", "recently_turns": "recent_turns"}  # newer names
DEEPEST = 3  # follow-ups on follow-ups that are traced back
FARTHEST = 2  # questions before the last one that are asked for their topic
LONGEST_DEPENDENT = 300  # characters; a longer query says itself what it is about
MOST_OWN_TOKENS = {"en": 6, "cn": 9}  # of a query that may go on from the one before without saying so


class ReferenceResolver:
    """Resolves the references of a query against its history. Deterministic, thread-safe between updates.

    `language` is `cn` (or `zh`), `en` or `auto`: it decides the labels; keywords of both tables are always tried.
    `llm_resolver` is a callable, sync or async; see `LLMResolver`. `now` is the clock of time words.
    """

    def __init__(
        self,
        config: ReferenceResolverConfig | None = None,
        language: str = "auto",
        llm_resolver: LLMResolver | None = None,
        *,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.config = (config or ReferenceResolverConfig()).copy()
        self.config.validate()
        self.language = _language_code(language) or "auto"
        self.llm_resolver = llm_resolver
        self._now = now or partial(datetime.now, UTC)

    def resolve(
        self,
        query: str,
        history: Iterable[Any] | None = None,
        stance_cache: Mapping[str, Any] | None = None,
        *,
        now: datetime | None = None,
        antecedent: str | None = None,
        use_model: bool = True,
    ) -> ResolvedReference:
        """Return what a query refers to, `NONE`/`CUSTOM` where it refers to nothing. Never raises on any text.

        `antecedent` settles an ambiguous reference (the caller's choice among `options`); `use_model=False` forbids
        the model fallback for this call. Raises TypeError for a query that is no text, and a history that is no list
        of messages.
        """
        if query is not None and not isinstance(query, str):
            raise TypeError(f"query is a {type(query).__name__}; give its text")
        if not query or not query.strip():
            return ResolvedReference(confidence=1.0, metadata={"reason": "empty query"})
        language = _CODES[self.language] or ("cn" if has_ideographs(query) else self._detect_language(query))
        cache = stance_cache if isinstance(stance_cache, Mapping) else None
        conversation = Conversation(as_messages(history), language, self.config, ZoneInfo(self.config.timezone), cache)
        alone = _standalone(query, conversation.history, antecedent)
        moment = now or self._now()
        found = find_references(fold_in_place(query), self.config, moment, conversation.history, conversation.zone)
        result = self._assemble(query, order_references([*found, *alone.references]), conversation, alone)
        return self._assist(result, query, conversation) if use_model else result

    def update_config(self, **settings: Any) -> None:
        """Change settings, named as in ReferenceResolverConfig; None changes nothing.

        `just_now_turns` and `recently_turns` win over their older names `last_few_turns` and `recent_turns`. Raises
        ReferenceConfigError for a value out of range, and changes nothing then.
        """
        known = {item.name for item in fields(ReferenceResolverConfig)} | _ALIASES.keys()
        if unknown := [name for name in settings if name not in known]:
            raise ReferenceConfigError("unknown setting", where=unknown[0], remedy="See ReferenceResolverConfig.")
        given = {name: value for name, value in settings.items() if value is not None}
        renamed = {_ALIASES[name]: given.pop(name) for name in _ALIASES if name in given}
        self.config = replace(self.config, **given | renamed)

    def add_mapping(self, keyword: str, scope: str, ref_type: str, language: str = "cn") -> None:
        """Add or replace a keyword. Raises ReferenceConfigError for an empty keyword or an unknown scope or type."""
        code = _language_code(language)
        if code is None:
            raise ReferenceConfigError("'auto' has no table", where="language", remedy="Use 'cn' or 'en'.")
        name = f"reference_mappings_{code}"
        mapping = {"scope": str(scope), "type": str(ref_type)}
        check_mapping(name, keyword, mapping)
        changed: dict[str, Any] = {name: {**getattr(self.config, name), keyword: mapping}}
        self.config = replace(self.config, **changed)

    def _assemble(
        self, query: str, found: Sequence[Detected], conversation: Conversation, alone: Standalone
    ) -> ResolvedReference:
        evidence = _evidence(query, found, conversation, alone)
        confidence = float(load_table("confidence")[evidence])
        metadata: dict[str, Any] = {"language": conversation.language, "evidence": evidence}
        if not found:
            metadata["reason"] = "nothing in the query refers to the conversation"
            return ResolvedReference(
                confidence=confidence,
                metadata=metadata,
                standalone_query=alone.query if self.config.rewrite else None,
                in_context=_in_context(query, conversation.history, alone) if self.config.rewrite else None,
            )
        matches: list[ReferenceMatch] = []
        for item in found:
            kind, scope, (start, end, keyword) = item.reference_type, item.scope, item.span
            if item.kind in {"continuation", "pronoun"} and alone.sources:
                turns, content, reason = conversation.show(alone.sources, alone.reason)
            else:
                topic = "" if item.kind == "history" else named_topic(query, item, found)
                turns, content, reason = conversation.find(kind, scope, topic, item.interval)
            matches.append(ReferenceMatch(keyword, (start, end), kind, scope, tuple(turns), content, reason))
        first = matches[0]
        metadata |= {"kind": found[0].kind, "reason": first.reason}
        if recall := recall_turns(first.scope, self.config):
            metadata["recall_turns"] = recall
        if alone.antecedents:
            metadata["antecedents"] = list(alone.antecedents)
        depends = found[0].kind in {"pronoun", "continuation"} or alone.reason in {CORRECTED, ITEM}
        supplemented = _supplement(query, matches, conversation.history)
        rewritten = alone.query or supplemented if depends else supplemented or alone.query
        return ResolvedReference(
            reference_type=first.reference_type,
            scope=first.scope,
            resolved_content=first.content,
            confidence=confidence,
            source_turns=list(first.source_turns),
            matched_keyword=first.keyword,
            metadata=metadata,
            matches=tuple(matches),
            standalone_query=rewritten if self.config.rewrite else None,
            options=alone.options,
        )

    def _assist(self, result: ResolvedReference, query: str, conversation: Conversation) -> ResolvedReference:
        if self.llm_resolver is None or not self.config.use_llm_fallback:
            return result
        open_antecedent = self.config.llm_only_if_unsure and str(result.metadata.get("evidence")).startswith("context")
        sure = result.confidence >= self.config.llm_fallback_threshold and not open_antecedent
        if sure and (result.matches or self.config.llm_only_if_unsure):
            return result
        assisted, notes = ask_model(self.llm_resolver, query, conversation.history)
        chosen = assisted or result
        return replace(chosen, metadata={**result.metadata, **chosen.metadata, **notes})

    def _detect_language(self, text: str) -> LanguageCode:
        """Return `cn` when more than 30 % of the non-space characters are Chinese, else `en` (specification 3.7)."""
        return "cn" if detect_language(text) == "zh" else "en"


def _evidence(query: str, found: Sequence[Detected], conversation: Conversation, alone: Standalone) -> str:
    """Return what decided, a key of `data/confidence.yaml`: its figure is the probability that this is right."""
    if not found:
        if not conversation.history:
            return "none_without_history"
        named = conversation.language == "cn" or sure_names(query)
        return f"none_{conversation.language}" if named else "none_en_bare"
    kind = found[0].kind
    if kind in {"pronoun", "continuation"}:
        return "ambiguous" if len(alone.options) > 1 else f"{kind if alone.sure else 'context'}_{conversation.language}"
    return "just" if found[0].span.phrase == "just" else kind


def _standalone(query: str, history: Sequence[Message], antecedent: str | None = None, depth: int = 0) -> Standalone:
    """Return the query rewritten with its antecedents, or with the one chosen; `query` is None where it needs none."""
    if (start := topic_change(query)) is not None:
        return Standalone(query[start:].strip() or None, reason="another topic is announced")
    if not history or len(query) > LONGEST_DEPENDENT or depth > DEEPEST:
        return Standalone()
    if back := returned_to(query, history):
        rest, end = back
        asked = _question_before(history[:end])
        text = _standalone(rest, history[:end], depth=depth + 1).query if rest else asked.text
        goes_on = (dependent(Span(0, len(query), query), "continuation"),)
        text = text or with_context(rest, asked.text) or rest
        return Standalone(text, goes_on, (asked.text,), (asked.source,), (), "the question that it goes back to")
    rules = ChineseFollowUp if has_ideographs(query) else EnglishFollowUp
    follow_up = rules(query, history, antecedent, partial(_alone, depth + 1), depth)
    if depends_on_nothing(query):
        return follow_up.corrected() or Standalone()
    found = follow_up.corrected() or follow_up.again() or follow_up.rewritten()
    return found if depth or found.reason else replace(found, before=follow_up.before)


def _alone(depth: int, text: str, before: Sequence[Message]) -> str:
    return _standalone(text, before, depth=depth).query or text


def _question_before(history: Sequence[Message]) -> Antecedent:
    return FollowUp("", history, None, partial(_alone, 1), 0).before


def _in_context(query: str, history: Sequence[Message], alone: Standalone, depth: int = 0) -> str | None:
    """Return a query of few words with the topic of the question before, None where it has none or opens its own.

    Where that question has few words too, it may have gone on itself, and the topic that it goes back to is added. A
    question in another language than the one before begins anew; a mere term belongs to any.
    """
    chinese = has_ideographs(query)
    few = len(topic_tokens(query)) <= MOST_OWN_TOKENS["cn" if chinese else "en"]
    if alone.reason or not few or depends_on_nothing(query) or depth > FARTHEST:
        return None
    before = alone.before or _question_before(history)
    sentence = chinese or not function_words().isdisjoint(query.casefold().split())
    if sentence and has_ideographs(before.text) != chinese:
        return None
    own, context = in_frame(before.text)
    if not context and own:
        earlier = history[: before.source]
        context = in_frame(_in_context(own, earlier, _standalone(own, earlier), depth + 1) or "")[1]
    return with_context(query, *dict.fromkeys(topic_in(text) for text in (own, root_of(context)) if text))


def _supplement(query: str, matches: Sequence[ReferenceMatch], history: Sequence[Message]) -> str | None:
    """Return the query with what its primary reference points at, None where it needs nothing or nothing is known.

    A correction gets the question that was answered wrongly; a query without a topic the stance, or its turns' topic.
    """
    primary, rest = matches[0], query
    if primary.reference_type is ReferenceType.CORRECTION:
        before = _question_before(history).text
        return with_context(query, before[:LONGEST_DEPENDENT]) if before and primary.source_turns else None
    for start, end in sorted((match.span for match in matches), reverse=True):
        rest = f"{rest[:start]} {rest[end:]}"
    if topic_tokens(rest):
        return None
    if primary.reference_type is ReferenceType.STANCE:
        return with_context(query, primary.content or "")
    asked = [text_of(history[i]) for i in primary.source_turns if history[i].role == "user"]
    return with_context(query, next((topic for text in asked[::-1] if topic_tokens(topic := topic_in(text))), ""))


def _language_code(language: str) -> LanguageCode | None:
    if language not in tuple(_CODES):
        remedy = "It must be one of cn, zh, en, auto."
        raise ReferenceConfigError(f"{language!r} is unknown", where="language", remedy=remedy)
    return _CODES[language]


def create_reference_resolver(
    config_path: str | Path | None = None,
    last_few_turns: int | None = None,
    recent_turns: int | None = None,
    language: str = "auto",
    llm_resolver: LLMResolver | None = None,
    **settings: Any,
) -> ReferenceResolver:
    """Return a resolver from a YAML file (or the defaults); arguments given win over the file.

    `settings` are further fields of ReferenceResolverConfig. Raises ReferenceConfigError.
    """
    config = ReferenceResolverConfig() if config_path is None else ReferenceResolverConfig.from_yaml(config_path)
    resolver = ReferenceResolver(config, language, llm_resolver)
    resolver.update_config(last_few_turns=last_few_turns, recent_turns=recent_turns, **settings)
    return resolver
