"""Overlays: combine, apply and revert them, and record what was applied."""
