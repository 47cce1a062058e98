"""Plans beside the real schedulers: random services and nodes, compared after each node."""
