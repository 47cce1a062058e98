"""llm-d's ModelService: `translate`, with the `variables` of its templates, and mergo's `merge`."""
