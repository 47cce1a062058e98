"""How long a test waits for an event that must come."""

from typing import Final

PATIENCE: Final = 90.0
"""Seconds. A machine of two cores needs less than 30, and tests shall pass on one at a third of its speed.

A test that passes does not take longer for it. A time limit that is itself under test has its own value.
"""
