"""The DestinationRule of a picker: Istio calls a Service on TLS only if it is told to.

The certificate is made by the picker itself at its start, so it is not verified. Source:
`config/charts/inferencepool/templates/istio.yaml` of kubernetes-sigs/gateway-api-inference-extension v1.5.0.
"""

from typing import Final

from intent import Object
from sync.desired.names import picker_name
from sync.desired.render.metadata import metadata
from sync.desired.routes import Routes

API_VERSION: Final = "networking.istio.io/v1"
"""Since Istio 1.22; gateways that know InferencePools are later ones."""
KIND: Final = "DestinationRule"


def destination_rule(routes: Routes) -> Object:
    """Render the rule. A host without dots is in its own namespace, whatever the domain of the cluster."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(routes, picker_name(routes.service)),
        "spec": {
            "host": picker_name(routes.service),
            "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
        },
    }
