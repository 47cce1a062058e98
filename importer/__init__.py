"""Objects of other systems as ours, with a report on each of their fields. Pure. Begins at `table`."""
