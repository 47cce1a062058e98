"""KServe's LLMInferenceService and LLMInferenceServiceConfig, `serving.kserve.io` v1alpha1 and v1alpha2."""
