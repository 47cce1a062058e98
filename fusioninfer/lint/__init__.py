"""Manifests in files: read them, judge them as admission does, and report on each field."""
