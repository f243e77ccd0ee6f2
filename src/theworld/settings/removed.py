"""Settings of earlier versions, and what takes their place: a file that still has one is told what to do."""

from __future__ import annotations

_ENGINES = ("ledger", "sparse", "dense", "graph")
_SHARED = "timeout_s write_timeout_s connections ca_file verify prefix shards replicas".split()
_FIXED = """
dense.exact dense.ef dense.oversampling dense.prefer_grpc dense.grpc_port
"""
_MOVED = {f"{engine}.{name}": f"servers.{name}" for engine in _ENGINES for name in _SHARED}
_CONSTANTS = {f"{engine}.{name}" for engine in _ENGINES for name in ("failures", "probe_s")} | set(_FIXED.split())
NAMES = frozenset({*_MOVED, *_CONSTANTS})
"""Settings that version 0.1 had."""


def remedy(setting: str) -> str | None:
    """Return what to do about a setting of an earlier version; None for what never was one."""
    if setting in _MOVED:
        return f"Use {_MOVED[setting]} instead, which holds for all servers."
    return "Its value is fixed since version 0.2; remove it." if setting in _CONSTANTS else None
