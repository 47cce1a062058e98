"""Projections: the fields of each watched object that the controller uses. Pure."""
