"""The InferenceService: its schema, its rules, and the LeaderWorkerSets that it is rendered into."""
