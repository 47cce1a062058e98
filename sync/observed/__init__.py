"""Projections: the fields that the controller uses of an object, kind by kind. Pure."""
