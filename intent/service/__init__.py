"""A service: the LeaderWorkerSets that make it, and the rules that no single one of them can break."""
