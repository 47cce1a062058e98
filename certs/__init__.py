"""Certificates of the webhook: issue, rotate, store, and reload them."""
