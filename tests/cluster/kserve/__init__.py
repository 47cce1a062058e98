"""Imported services beside KServe's own controller: what each makes of the same files, field by field."""
