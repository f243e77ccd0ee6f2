"""Fusion of the channels' ranked lists."""

from theworld.nodes.fuse_candidates.by_score import fuse_minmax
from theworld.nodes.fuse_candidates.combining import Fused, found_by
from theworld.nodes.fuse_candidates.graph_share import channel_weights, graph_share
from theworld.nodes.fuse_candidates.node import fuse_candidates
from theworld.nodes.fuse_candidates.rrf import fuse

__all__ = ["Fused", "channel_weights", "found_by", "fuse", "fuse_candidates", "fuse_minmax", "graph_share"]
