"""The InferenceTemplate: its schema, and the rules for what its author writes."""
