"""Text or tool calls into validated models; usable on its own, and light to import.

from theworld.structure import StructureEngine, parse_structured_output
"""

from theworld.structure.engine import StructureEngine, parse_with_report
from theworld.structure.errors import StructureParseError
from theworld.structure.json_extractor import (
    extract_structured_data,
    register_extraction_strategy,
    unregister_extraction_strategy,
)
from theworld.structure.report import Alternative, ParseReport, Repair
from theworld.structure.schema import get_schema_diff, to_openai_tool
from theworld.structure.search import ExtractionStrategy
from theworld.structure.sync import extract_json_from_text, parse_structured_output

__all__ = [
    "Alternative",
    "ExtractionStrategy",
    "ParseReport",
    "Repair",
    "StructureEngine",
    "StructureParseError",
    "extract_json_from_text",
    "extract_structured_data",
    "get_schema_diff",
    "parse_structured_output",
    "parse_with_report",
    "register_extraction_strategy",
    "to_openai_tool",
    "unregister_extraction_strategy",
]
