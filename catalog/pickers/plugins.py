"""The types of the plugins that strategies use: every generation of endpoint pickers has them.

Source: `cmd/epp/runner/runner.go` of kubernetes-sigs/gateway-api-inference-extension and llm-d/llm-d-router.
"""

from typing import Final

PREFIX_SCORER: Final = "prefix-cache-scorer"
QUEUE_SCORER: Final = "queue-scorer"
CACHE_SCORER: Final = "kv-cache-utilization-scorer"
LORA_SCORER: Final = "lora-affinity-scorer"
MAX_SCORE: Final = "max-score-picker"
