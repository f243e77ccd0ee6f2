"""An answer as OpenAI's clients show it: its text with links, annotations, and sources as Open WebUI takes them.

A citation stands in the text as `[n]`. Below it stands a Markdown link definition for each, `[n]: address "place"`, so
that any renderer makes a link of it while the text stays what the graph said, and offsets into it hold. `url_citation`
annotations name the same places by offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from theworld.service.api.ask import ask_data
from theworld.service.api.links import linked
from theworld.service.api.serving import RequestContext
from theworld.service.requests.running import Run
from theworld.state import Answer, Citation, ModelUsage

_MARK = re.compile(r"\[(\d{1,4})\]")


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a citation stands in the text."""

    start: int
    end: int
    """Offsets in the text, the end exclusive."""
    url: str
    title: str

    def annotation(self) -> dict[str, Any]:
        """Return it as the responses API has it; chat completions hold it one level deeper."""
        return {
            "type": "url_citation", "start_index": self.start, "end_index": self.end,
            "url": self.url, "title": self.title,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer ready to be shown."""

    text: str
    marks: tuple[Mark, ...]
    sources: tuple[dict[str, Any], ...]
    """The quotes in the form of Open WebUI's `sources`, in the order of their numbers."""
    usage: ModelUsage


def cited(current: RequestContext, run: Run, base: str) -> Cited:
    """Return a run's answer with its links; `base` is the address they begin with."""
    data = ask_data(current, run)
    places = {one.number: linked(one, base) for one in data.citations}
    links = {number: (place["url"], _title(place["title"])) for number, place in places.items()}
    text = data.answer
    found = list(_marks(text, data.result, links))
    if links and not found:  # an answer that cites as a whole
        text += " " + "".join(f"[{number}]" for number in links)
        found = list(_marks(text, None, links))
    used = sorted({number for _, _, number in found})
    definitions = [f'[{number}]: {links[number][0]} "{links[number][1]}"' for number in used]
    return Cited(
        text="\n\n".join(filter(None, [text, "\n".join(definitions)])),
        marks=tuple(Mark(start, end, *links[number]) for start, end, number in found),
        sources=tuple(_source(one, *links[one.number]) for one in data.citations),
        usage=data.usage,
    )


def _marks(text: str, result: Answer | None, links: dict[int, tuple[str, str]]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, number) of the citations in a text; a document's own `[1]` within a passage is none."""
    places = {passage.number: passage.place for passage in result.passages} if result is not None else {}
    for match in _MARK.finditer(text):
        number = int(match[1])
        before = f"{places[number]} " if number in places else ""
        if number in links and text.endswith(before, 0, match.start()):
            yield match.start(), match.end(), number


def _title(place: str) -> str:
    """Return a place on one line, without what would end a Markdown title."""
    return " ".join(place.replace('"', "'").replace("\\", "/").split())


def _source(citation: Citation, url: str, title: str) -> dict[str, Any]:
    # Open WebUI numbers sources by `metadata.source`, so it must differ from note to note.
    return {
        "source": {"id": url, "name": title, "url": url},
        "document": [citation.quote],
        "metadata": [{"source": url, "name": title, "start": citation.start, "end": citation.end}],
    }
