"""KServe's LLMInferenceService and LLMInferenceServiceConfig, `serving.kserve.io` v1alpha1 and v1alpha2.

`bases`      which presets and bases belong to a service     `merge`      how they are merged
`variables`  what their templates refer to                   `launch`     the script of presets as a command
`pods`, `routes`, `scaling`, `service`  the parts of an InferenceService
`drops`      why a field is not in the output                `account`    the outcomes of parts left out
`translate`  all of it
"""
