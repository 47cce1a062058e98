"""The InferenceService: its schema, its rules, and the LeaderWorkerSets rendered from it."""
