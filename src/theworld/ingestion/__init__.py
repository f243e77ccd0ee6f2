"""From files to the store: readers, the splitter, title links and the pipeline."""

from theworld.ingestion.pipeline import ingest, ingest_given
from theworld.ingestion.readers import SourceDocument
from theworld.ingestion.report import FailedSource, IngestInterrupted, IngestProgress, IngestReport

__all__ = [
    "FailedSource",
    "IngestInterrupted",
    "IngestProgress",
    "IngestReport",
    "SourceDocument",
    "ingest",
    "ingest_given",
]
