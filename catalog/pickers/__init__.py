"""Endpoint pickers: their generations, and the plugins of strategies."""
