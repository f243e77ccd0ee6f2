"""Looks at everything a store needs, changes nothing, and says how to fix what is wrong."""

from theworld.doctor.checks import Finding, Status
from theworld.doctor.examination import examine

__all__ = ["Finding", "Status", "examine"]
