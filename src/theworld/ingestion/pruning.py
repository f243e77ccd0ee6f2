"""Documents whose source has gone from the folders given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from theworld.ingestion.plan import Plan
from theworld.ingestion.sources import as_path, is_url
from theworld.stores.records import StoredNote


def gone_documents(notes: Iterable[StoredNote], roots: Sequence[Path], plan: Plan) -> list[str]:
    """Return the ids of documents that came from one of the roots and are there no longer, ordered.

    A document is gone when its file is, or when its corpus file was read without a failure and lacks it. Files that
    are there but could not be read keep their documents.
    """
    sources = {note.document_id: note.source for note in notes}
    return sorted(
        identity
        for identity, source in sources.items()
        if identity not in plan.owners
        and any(PurePath(source).is_relative_to(PurePath(str(root))) for root in roots)
        and (source in plan.complete or _is_gone(source))
    )


def _is_gone(source: str) -> bool:
    if is_url(source):
        return not as_path(source).exists()
    try:
        os.lstat(source)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
