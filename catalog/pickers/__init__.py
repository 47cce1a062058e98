"""Endpoint pickers: their generations, plugins and configuration fields."""
