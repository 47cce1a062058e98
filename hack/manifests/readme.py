"""The README of the chart, with a table of its values, generated from the one table of them."""

from itertools import groupby
from typing import Final

from catalog.release import VERSION
from hack.manifests.values import VALUES, Value, short
from hack.markdown import table

START: Final = """\
<!-- generated from hack/manifests by `make generate` -->
# fusioninfer

Turns an annotated LeaderWorkerSet into a gang-scheduled, multi-node LLM service, at admission: a webhook, and
a controller for PodGroups, routes and InferenceServices. Requires Kubernetes 1.30, LeaderWorkerSet and
Volcano 1.14.1.

```console
$ helm install fusioninfer manifests/chart --namespace fusioninfer-system --create-namespace \\
    --set image.repository=registry.example.com/fusioninfer
$ helm test fusioninfer --namespace fusioninfer-system
$ helm upgrade fusioninfer manifests/chart --namespace fusioninfer-system --reset-then-reuse-values
$ helm uninstall fusioninfer --namespace fusioninfer-system
```

`docs/install.md` explains the installation, `docs/certificates.md` the certificates, and `docs/operations.md`
what to know before an upgrade or an uninstallation: both restart no pods of your services. InferenceServices
and their definition stay when the chart is uninstalled. This is the chart of version VERSION.

## Values

Helm refuses values that this list does not have, and names their path. Every object has the labels that
Kubernetes recommends.
"""
TITLES: Final = {
    "image": "The image",
    "common": "All objects and pods",
    "webhook": "The webhook",
    "sync": "The controller",
    "settings": "Settings, and the namespaces and users that they apply to",
    "certificates": "Certificates",
    "networkPolicy": "Network policies, and policies of admission",
    "monitoring": "Monitoring",
}
SECTIONS: Final = {
    **{name: name for name in ("image", "webhook", "sync", "settings", "certificates", "monitoring")},
    "imagePullSecrets": "image",
    "files": "settings",
    "excludedNamespaces": "settings",
    "namespaceSelector": "settings",
    "userRoles": "settings",
    "networkPolicy": "networkPolicy",
    "backstop": "networkPolicy",
    "policies": "networkPolicy",
}
"""The section of a value by its first name; others apply to all objects and pods."""


def readme() -> str:
    """Render the page."""
    sections = groupby(VALUES, key=lambda value: SECTIONS.get(value.path.partition(".")[0], "common"))
    texts = (f"\n### {TITLES[name]}\n\n{table([_row(one) for one in values])}" for name, values in sections)
    return START.replace("VERSION", VERSION) + "".join(texts)


def _row(value: Value) -> dict[str, str]:
    return {
        "value": f"`{value.path}`",
        "default": f"`{short(value.default)}`",
        "what it is": value.meaning,
    }
