"""llm-d's ModelService with its BaseConfig, a ConfigMap of templates, as an InferenceService.

`variables`   what the templates refer to, and their functions
`merge`       mergo: the ModelService over its base
`service`     the output: roles, router, and the ConfigMaps
`translate`   the importer, and the outcome of what is left out

Source: llm-d-model-service, `internal/controller`: `child_resources.go`, `merge_transformers.go` and others.
"""
