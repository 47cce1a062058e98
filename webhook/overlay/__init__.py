"""Overlays: merge them, apply and revert them, record what was applied."""
