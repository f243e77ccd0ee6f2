"""Text or tool calls into validated models; usable on its own.

    from theworld.structure import StructureEngine, parse_structured_output

Light to import: adapters for other libraries (`theworld.structure.langchain`) are imported where they are used.
"""

from theworld.structure.engine import StructureEngine, parse_with_report
from theworld.structure.errors import StructureParseError
from theworld.structure.json_extractor import extract_structured_data
from theworld.structure.model_repair import ModelRepair
from theworld.structure.partial import Partial, PartialParser, parse_partial
from theworld.structure.report import Alternative, ParseReport, Policy, Repair
from theworld.structure.schema import get_schema_diff, to_openai_tool
from theworld.structure.schemas.differences import explain_data, explain_schemas
from theworld.structure.schemas.prompting import format_instructions, reask_message
from theworld.structure.schemas.providers import gemini_schema, openai_strict_schema, schema_for
from theworld.structure.strategies import (
    ExtractionStrategy,
    register_extraction_strategy,
    unregister_extraction_strategy,
)
from theworld.structure.sync import extract_json_from_text, parse_structured_output

__all__ = [
    "Alternative",
    "ExtractionStrategy",
    "ModelRepair",
    "ParseReport",
    "Partial",
    "PartialParser",
    "Policy",
    "Repair",
    "StructureEngine",
    "StructureParseError",
    "explain_data",
    "explain_schemas",
    "extract_json_from_text",
    "extract_structured_data",
    "format_instructions",
    "gemini_schema",
    "get_schema_diff",
    "openai_strict_schema",
    "parse_partial",
    "parse_structured_output",
    "parse_with_report",
    "reask_message",
    "register_extraction_strategy",
    "schema_for",
    "to_openai_tool",
    "unregister_extraction_strategy",
]
