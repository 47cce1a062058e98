"""Admission: the mutating and the validating webhook, and the server that answers both."""
