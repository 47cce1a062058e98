"""KServe's LLMInferenceService and LLMInferenceServiceConfig, `serving.kserve.io` v1alpha1 and v1alpha2.

`bases`      a service over the presets and bases that belong to it
`merge`      how they are merged
`variables`  what their templates refer to
`pods`, `routes`, `service`  the parts of an InferenceService
`translate`  all of it, and why a field is not in the output
"""
