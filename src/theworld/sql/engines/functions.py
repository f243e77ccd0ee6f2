"""The only functions a statement may call: as nodes of the tree, and by the names SQLite's engine sees."""

from __future__ import annotations

from sqlglot import exp

TREE_FUNCTIONS: frozenset[type[exp.Expr]] = frozenset(
    {exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Abs, exp.Round, exp.Coalesce, exp.Nullif, exp.Sqrt}
    | {exp.TimeToStr, exp.TsOrDsToTimestamp, exp.Cast, exp.Case, exp.If, exp.And, exp.Or}
)
"""Function classes of sqlglot that the guard lets through."""
TIME_FORMATS = frozenset({"%Y", "%m", "%Y-%m", "%Y-%m-%d"})
"""Formats that TimeToStr may be given."""
CAST_TYPES = frozenset({exp.DataType.Type.INT, exp.DataType.Type.BIGINT, exp.DataType.Type.DOUBLE})
"""Types that Cast may lead to."""
ENGINE_FUNCTIONS = frozenset("count sum avg min max abs round coalesce nullif sqrt strftime like".split())
"""What SQLite's authorizer lets through."""
