"""Admission: what to add, what may not be, and the path that both doors share."""
