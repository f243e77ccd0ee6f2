"""Looks at everything a store needs, changes nothing, and says how to fix what is wrong."""

from theworld.doctor.examination import examine
from theworld.doctor.finding import Finding, Status

__all__ = ["Finding", "Status", "examine"]
