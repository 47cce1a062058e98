"""Plans beside the real Volcano scheduler: random services and nodes, compared after each node."""
