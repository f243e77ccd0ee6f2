"""Fusion's arithmetic, recomputed from the logged ranks and scores: what each channel gave each note."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theworld.nodes.fuse_candidates import fuse_by
from theworld.ranking.fusion import Fused, Ranking, found_by
from theworld.ranking.graph_share import channel_weights
from theworld.settings import FusionSettings
from theworld.stores.ledger.request_log import RequestRecord


def logged_rankings(record: RequestRecord) -> dict[str, Ranking]:
    """Return each channel's ranked list as logged, (note id, score) best first."""
    found: dict[str, list[tuple[str, float]]] = {name: [] for name in record.request["outcome"].get("channels") or {}}
    for hit in record.candidates:
        found.setdefault(hit["source"], []).append((hit["note_id"], hit["score"]))
    return dict(found)


def logged_weights(record: RequestRecord) -> dict[str, float]:
    """Return the weight each channel's list was fused with: the router's, shared by what the graph brought."""
    channels = (record.route or {}).get("decision", {}).get("channels", {})
    return channel_weights({name: plan["weight"] for name, plan in channels.items()}, logged_rankings(record))


def fusion_settings(record: RequestRecord) -> tuple[FusionSettings, dict[str, int], int]:
    """Return method and constants, depths by channel, and how many notes were kept."""
    logged = record.request["outcome"]["fusion"]
    return FusionSettings.model_validate(logged["settings"]), dict(logged["depths"]), int(logged["kept"])


def fused_again(record: RequestRecord) -> list[Fused]:
    """Return what fusion makes of the logged lists, in the order it did."""
    settings, depths, kept = fusion_settings(record)
    fused = _fuse(settings, logged_rankings(record), logged_weights(record), depths)
    return found_by(fused, settings.min_channels)[:kept] if fused else []


def terms_by_note(record: RequestRecord) -> dict[str, list[dict[str, Any]]]:
    """Return for every note its terms by channel: rank, score, points, weight and their product.

    The products, added from the left in this order, are the fused score to the last bit.
    """
    settings, depths, _ = fusion_settings(record)
    rankings, weights = logged_rankings(record), logged_weights(record)
    found: dict[str, list[dict[str, Any]]] = {}
    for name in sorted(rankings):
        alone = {name: rankings[name]}
        weight = weights.get(name, 1.0)
        points = {note.note_id: note.score for note in _fuse(settings, alone, {name: 1.0}, depths)}
        for note in _fuse(settings, alone, {name: weight}, depths):
            hit = note.channels[name]
            found.setdefault(note.note_id, []).append(
                {
                    "channel": name,
                    "rank": hit.rank,
                    "score": hit.score,
                    "points": points[note.note_id],
                    "weight": weight,
                    "product": note.score,
                }
            )
    return found


def _fuse(
    settings: FusionSettings, rankings: Mapping[str, Ranking], weights: Mapping[str, float], depths: Mapping[str, int]
) -> list[Fused]:
    try:
        return fuse_by(settings, rankings, weights, depths)
    except ValueError:  # as the node does: what cannot be fused by score is fused by rank
        return fuse_by(settings.model_copy(update={"method": "rrf"}), rankings, weights, depths)
