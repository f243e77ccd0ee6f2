"""Other retrievers measured in the same run: the same notes, the same vectors, each with its usual work around them."""

from theworld.evaluation.peers.comparison import Comparison, PeerResult, compare_peers
from theworld.evaluation.peers.retrievers import PEERS, PeerEntry

__all__ = ["PEERS", "Comparison", "PeerEntry", "PeerResult", "compare_peers"]
