"""The parser as a LangChain output parser: `prompt | model | StructureOutputParser(model=User)`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from langchain_core.exceptions import OutputParserException
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.outputs import ChatGeneration, Generation

from theworld.structure.engine import parse_content
from theworld.structure.errors import StructureParseError
from theworld.structure.report import Policy
from theworld.structure.schemas.prompting import format_instructions, reask_message

T = TypeVar("T")


class StructureOutputParser(BaseOutputParser[T], Generic[T]):
    """Parses a message's tool calls, then its text, into `model`.

    Raises LangChain's OutputParserException, with a message to send back to the language model as `observation`.
    """

    model: Any
    """The wanted type."""
    tool_name: str | None = None
    """Name the tool call must have."""
    policy: Policy = "repair-syntax"
    """How much repair is allowed."""
    language: str = "en"
    """Language of instructions and re-ask messages: `en` or `zh`."""

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Parse the first generation: tool calls of its message first, then the text; `partial` while streaming."""
        generation = result[0]
        message = generation.message if isinstance(generation, ChatGeneration) else None
        if partial:
            from theworld.structure.partial import parse_partial

            so_far: Any = parse_partial(generation.text, self.model).value
            return so_far  # type: ignore[no-any-return]
        calls = getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None) or None
        return self._parse(generation.text, calls)

    def parse(self, text: str) -> T:
        """Parse a text."""
        return self._parse(text, None)

    def _parse(self, text: str, calls: Any) -> T:
        try:
            parsed: T = parse_content(text, self.model, calls, tool_name=self.tool_name, policy=self.policy)
        except StructureParseError as error:
            observation = reask_message(error, self.model, content=text, language=self.language)
            raise OutputParserException(
                error.get_detailed_error(), observation=observation, llm_output=text, send_to_llm=True
            ) from error
        return parsed

    def get_format_instructions(self) -> str:
        """Return the instructions for the prompt."""
        return format_instructions(self.model, language=self.language)

    @property
    def _type(self) -> str:
        return "theworld_structure"
