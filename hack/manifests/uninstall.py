"""The objects that an uninstallation deletes, in order, by kind and name: `manifests/uninstall.yaml`.

The controller goes first, the policy and the webhook configurations before the pods that answer them. With
the namespace goes all that is in it. Two kinds stay, since users' objects need them: the definitions of
our kinds, and the roles of endpoint pickers that run.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from hack.manifests.objects import find, objects
from intent import Object, yaml

MADE: Final = """\
# generated from manifests/ by `make generate`
# To uninstall: `kubectl delete --ignore-not-found -f manifests/uninstall.yaml`. In this order: the
# controller, the policies, the webhook configurations, then the rest. Left are the definitions of our
# kinds, and with them all InferenceServices and InferenceTemplates, and the roles of endpoint pickers.
"""
KEPT: Final = {
    ("CustomResourceDefinition", "inferenceservices.fusioninfer.io"),
    ("CustomResourceDefinition", "inferencetemplates.fusioninfer.io"),
    ("ClusterRole", "fusioninfer-endpoint-picker"),
    ("ClusterRole", "fusioninfer-endpoint-picker-election"),
}
ORDER: Final = (
    *("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"),
    *("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
    *("ClusterRoleBinding", "ClusterRole", "FlowSchema", "Namespace"),
)
"""The kinds of objects without a namespace. The policy goes before the webhooks, for which it stands in."""
FOLDERS: Final = ("base", "self-signed", "ownership", "templates")
"""Those that have objects without a namespace."""


def deleted() -> Iterator[Object]:
    """Yield what is deleted, in order."""
    yield find("Deployment", "fusioninfer-sync")
    found = [each for each in objects(*FOLDERS) if "namespace" not in each["metadata"]]
    gone = [each for each in found if (each["kind"], each["metadata"]["name"]) not in KEPT]
    yield from sorted(gone, key=lambda each: ORDER.index(each["kind"]))


def texts() -> Mapping[str, str]:
    """Return the file: of each object what names it."""
    named = (yaml.dump(_named(each)) for each in deleted())
    return {"manifests/uninstall.yaml": MADE + "---\n".join(named)}


def _named(found: Object) -> Object:
    metadata = {key: found["metadata"][key] for key in ("name", "namespace") if key in found["metadata"]}
    return {"apiVersion": found["apiVersion"], "kind": found["kind"], "metadata": metadata}
