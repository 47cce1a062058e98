"""A service: its LeaderWorkerSets (members), and the rules that need more than one of them."""
