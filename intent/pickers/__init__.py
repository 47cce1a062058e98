"""Endpoint pickers as data: their generations, plugins and fields, and what a strategy is to each."""
