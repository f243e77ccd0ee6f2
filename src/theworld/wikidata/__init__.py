"""Wikidata without the graph: the client of its service, and snapshots of its dumps that are searched offline."""

from theworld.wikidata.build import BuildReport, build_snapshot
from theworld.wikidata.client import ReplyCache, WikidataClient
from theworld.wikidata.items import EntriesByName, Item, NamedEntry, as_candidate, read_item
from theworld.wikidata.snapshot_file import Snapshot
from theworld.wikidata.transport import Endpoint, WikidataTransport

__all__ = [
    "BuildReport",
    "Endpoint",
    "EntriesByName",
    "NamedEntry",
    "Item",
    "ReplyCache",
    "Snapshot",
    "WikidataClient",
    "WikidataTransport",
    "as_candidate",
    "build_snapshot",
    "read_item",
]
