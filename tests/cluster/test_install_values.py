"""The chart's values, rendered by Helm: each does what it says, and the labels hold whatever they are."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.manifests.objects import at
from hack.manifests.values import VALUES
from hack.manifests.workloads import PROBES
from intent import Object
from tests.cluster.test_manifests import HOOK
from tests.cluster.testbed import chart
from tests.cluster.testbed.chart import NAMESPACE, Values, rendering

RELEASE: Final = "release"
RECOMMENDED: Final = {
    "app.kubernetes.io/name": "fusioninfer",
    "app.kubernetes.io/instance": RELEASE,
    "app.kubernetes.io/part-of": "fusioninfer",
    "app.kubernetes.io/managed-by": "Helm",
}
ALSO: Final = {"app.kubernetes.io/component", "app.kubernetes.io/version"}
CHART: Final = "helm.sh/chart"
SELECTED: Final = {"app.kubernetes.io/name", "app.kubernetes.io/component"}
"""The labels of selectors, which cannot be changed."""
Name = tuple[str, str]
Rendered = tuple[Values, dict[Name, Object]]
"""Values, and what the chart makes of them."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What values change: a place in some objects, and what stands there; of arguments, one of them."""

    values: Values
    objects: tuple[Name, ...]
    place: str
    expected: Any


_ANTI: Final = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
        ]
    }
}
_RESOURCES: Final = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
_SPREAD: Final = [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
_MOUNT: Final = {"name": "more", "mountPath": "/more"}
_VOLUME: Final = {"name": "more", "configMap": {"name": "more"}}
_MORE: Final = {"extraVolumes": [_VOLUME], "extraVolumeMounts": [_MOUNT]}
_ENV: Final = {"name": "A", "value": "b"}
_TOLERATION: Final = {"operator": "Exists"}
_LABELS: Final = {"team": "ml"}
_MONITORED: Final = {"monitoring.enabled": True}
_BUNDLE: Final = {"certificates.mode": "provided", "certificates.caBundle": "Q0E="}
_ISSUED: Final = {
    "certificates.mode": "cert-manager",
    "certificates.issuerRef": {"name": "own", "kind": "ClusterIssuer"},
}
_KNOWN: Final = {
    "webhook.clientCA": "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n",
    "webhook.clientNames": ["kube-apiserver"],
}
_SCRAPED: Final = {"webhook.metricsClientCA": _KNOWN["webhook.clientCA"]}
DIGEST: Final = f"sha256:{'0' * 64}"
_PINNED: Final = {"image.repository": "x", "image.digest": DIGEST}
_TAGGED: Final = {"image.registry": "registry", "image.repository": "x", "image.tag": "t", "image.digest": ""}
_USERS: Final = {"runAsUser": 1_000_680_000, "fsGroup": 1_000_680_000}
_ACCOUNT: Final = {
    "serviceAccount.create": True,
    "serviceAccount.name": "",
    "serviceAccount.annotations": {"role": "r"},
}
_OFTEN: Final = {"periodSeconds": 7}
_SURGE: Final = {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}
_UNKEPT: Final = {"crds.enabled": True, "crds.keep": False, "commonAnnotations": {"note": "1"}}
_BLOCK: Final = {"ipBlock": {"cidr": "10.0.0.0/28"}}
_SPACE: Final = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
_EXISTS: Final = {"key": "llm", "operator": "Exists"}
_HOST: Final = {"webhook.hostNetwork": True, "webhook.port": 9443}
_NOT_HOST: Final = {"webhook.hostNetwork": False}
_TEMPLATES: Final = {"templates.enabled": True, "templates.anyCaller": True}

POD: Final = "spec template spec"
CONTAINER: Final = f"{POD} containers 0"
TEAM: Final = "metadata labels team"
META: Final = "spec template metadata"
DEPLOYMENTS: Final = ("fusioninfer-webhook", "fusioninfer-sync")
DEPLOYED: Final = dict(zip(("webhook", "sync"), DEPLOYMENTS, strict=True))
BOTH: Final = tuple(("Deployment", name) for name in DEPLOYMENTS)
WEBHOOK: Final = BOTH[:1]
SYNC: Final = BOTH[1:]
CONFIGURATIONS: Final = (
    ("MutatingWebhookConfiguration", "mutate.fusioninfer.io"),
    ("ValidatingWebhookConfiguration", "validate.fusioninfer.io"),
)
MUTATING: Final = CONFIGURATIONS[:1]
BACKSTOP: Final = (("ValidatingAdmissionPolicy", "backstop.fusioninfer.io"),)
OWNERSHIP: Final = (("ValidatingAdmissionPolicy", "ownership.fusioninfer.io"),)
BINDING: Final = (("ValidatingAdmissionPolicyBinding", "backstop.fusioninfer.io"),)
TO_WEBHOOK: Final = (("NetworkPolicy", "fusioninfer-webhook"),)
TO_SYNC: Final = (("NetworkPolicy", "fusioninfer-sync"),)
CALLERS: Final = (("ConfigMap", "fusioninfer-client-ca"),)
SCRAPERS: Final = (("ConfigMap", "fusioninfer-metrics-client-ca"),)
SETTINGS: Final = (("ConfigMap", "fusioninfer-settings"),)
KINDS: Final = tuple(
    ("CustomResourceDefinition", f"{name}.fusioninfer.io")
    for name in ("inferenceservices", "inferencetemplates")
)
MONITOR: Final = (("ServiceMonitor", "fusioninfer"),)
RULE: Final = (("PrometheusRule", "fusioninfer"),)
VIEW: Final = (("ClusterRole", "fusioninfer-view"),)
ISSUED: Final = (("Certificate", "fusioninfer-webhook"),)
OF_PARTS: Final[tuple[tuple[str, Values, str, Any], ...]] = (
    ("Deployment", {"replicas": 0}, "spec replicas", 0),
    ("Deployment", {"resources": _RESOURCES}, f"{CONTAINER} resources", _RESOURCES),
    ("Deployment", {"affinity": _ANTI}, f"{POD} affinity", _ANTI),
    ("Deployment", {"topologySpreadConstraints": _SPREAD}, f"{POD} topologySpreadConstraints", _SPREAD),
    ("ServiceAccount", _ACCOUNT, "metadata annotations role", "r"),
    ("Deployment", {"serviceAccount.name": "own"}, f"{POD} serviceAccountName", "own"),
    ("Deployment", {"strategy": _SURGE}, "spec strategy", _SURGE),
    ("Deployment", dict.fromkeys(PROBES, _OFTEN), f"{CONTAINER} livenessProbe periodSeconds", 7),
    ("Deployment", {"extraArgs": ["--more"]}, f"{CONTAINER} args", "--more"),
    ("Deployment", {"extraEnv": [_ENV]}, f"{CONTAINER} env -1", _ENV),
    ("Deployment", _MORE, f"{CONTAINER} volumeMounts -1", _MOUNT),
)
"""What values of both Deployments change in an object of that kind: the values, a place, what is there."""
EFFECTS: Final = (
    Effect(_TAGGED, BOTH, f"{CONTAINER} image", "registry/x:t"),
    Effect({"image.registry": "r", **_PINNED}, BOTH, f"{CONTAINER} image", f"r/x@{DIGEST}"),
    Effect({"image.pullPolicy": "Always"}, BOTH, f"{CONTAINER} imagePullPolicy", "Always"),
    Effect({"imagePullSecrets": [{"name": "s"}]}, BOTH, f"{POD} imagePullSecrets", [{"name": "s"}]),
    Effect({"commonLabels": _LABELS}, BOTH, f"{META} labels team", "ml"),
    Effect({"commonAnnotations": {"note": "1"}}, MUTATING + BACKSTOP, "metadata annotations note", "1"),
    Effect({"podLabels": {"pod": "a"}}, BOTH, f"{META} labels pod", "a"),
    Effect({"podAnnotations": {"x": "1"}}, BOTH, f"{META} annotations x", "1"),
    Effect({"priorityClassName": "high"}, BOTH, f"{POD} priorityClassName", "high"),
    Effect({"nodeSelector": {"a": "b"}}, BOTH, f"{POD} nodeSelector", {"a": "b"}),
    Effect({"tolerations": [_TOLERATION]}, BOTH, f"{POD} tolerations", [_TOLERATION]),
    Effect({"podSecurityContext": _USERS}, BOTH, f"{POD} securityContext runAsUser", _USERS["runAsUser"]),
    Effect({"securityContext": {"runAsGroup": 7}}, BOTH, f"{CONTAINER} securityContext runAsGroup", 7),
    *(
        Effect({f"{part}.{name}": value for name, value in values.items()}, ((kind, DEPLOYED[part]),), *seen)
        for part in DEPLOYED
        for kind, values, *seen in OF_PARTS
    ),
    Effect({"webhook.timeoutSeconds": 9}, CONFIGURATIONS, "webhooks 0 timeoutSeconds", 9),
    Effect({"webhook.logLevel": "debug"}, WEBHOOK, f"{CONTAINER} args", "--log-level=debug"),
    Effect({"webhook.port": 8443}, WEBHOOK, f"{CONTAINER} ports 0 containerPort", 8443),
    Effect({"webhook.metricsPort": 8081}, WEBHOOK, f"{CONTAINER} ports 1 containerPort", 8081),
    Effect(
        {**_HOST, "webhook.strategy": {}},
        WEBHOOK,
        "spec strategy rollingUpdate",
        {"maxSurge": 0, "maxUnavailable": 1},
    ),
    Effect(_TEMPLATES, WEBHOOK, f"{CONTAINER} args", f"--templates-namespace={NAMESPACE}"),
    Effect(_TEMPLATES, WEBHOOK, f"{CONTAINER} args", "--templates-any-caller"),
    Effect(_KNOWN, WEBHOOK, f"{CONTAINER} args", "--client-name=kube-apiserver"),
    Effect(_KNOWN, CALLERS, "data ca.crt", _KNOWN["webhook.clientCA"]),
    Effect(
        {**_NOT_HOST, "webhook.callerCIDRs": ["10.0.0.0/28"]},
        WEBHOOK,
        f"{CONTAINER} args",
        "--caller-cidr=10.0.0.0/28",
    ),
    Effect({**_NOT_HOST, "networkPolicy.webhookFrom": [_BLOCK]}, TO_WEBHOOK, "spec ingress 0 from 0", _BLOCK),
    Effect({**_NOT_HOST, "networkPolicy.metricsFrom": [_SPACE]}, TO_WEBHOOK, "spec ingress 1 from 0", _SPACE),
    Effect({"networkPolicy.metricsFrom": [_SPACE]}, TO_SYNC, "spec ingress 0 from 0", _SPACE),
    Effect({"sync.secureMetrics": False}, (("Service", DEPLOYMENTS[1]),), "spec ports 0 name", "metrics"),
    Effect(_SCRAPED, WEBHOOK, f"{CONTAINER} ports -1 name", "https-metrics"),
    Effect(_SCRAPED, SCRAPERS, "data ca.crt", _KNOWN["webhook.clientCA"]),
    Effect({"sync.observeOnly": True}, SYNC, f"{CONTAINER} args", "--observe-only"),
    Effect({"sync.gangsOnly": True}, SYNC, f"{CONTAINER} args", "--gangs-only"),
    Effect({"sync.namespaces": ["a"]}, SYNC, f"{CONTAINER} args", "--watch-namespace=a"),
    Effect({"sync.workers": 12}, SYNC, f"{CONTAINER} args", "--workers=12"),
    Effect({"sync.logLevel": "debug"}, SYNC, f"{CONTAINER} args", "--log-level=debug"),
    Effect({"settings": {"launcher": "none"}}, SETTINGS, "data settings.yaml", "launcher: none"),
    Effect({"files": {"x.yaml": "a"}}, SETTINGS, "data x.yaml", "a"),
    Effect(
        {"excludedNamespaces": ["x", "kube-system"]},
        CONFIGURATIONS,
        "webhooks 0 namespaceSelector matchExpressions 0 values",
        ["kube-system", NAMESPACE, "x"],
    ),
    Effect(
        {"namespaceSelector": {"matchLabels": {"llm": "yes"}}},
        BACKSTOP,
        "spec matchConstraints namespaceSelector matchLabels",
        {"llm": "yes"},
    ),
    Effect(
        {"namespaceSelector": {"matchExpressions": [_EXISTS]}},
        CONFIGURATIONS,
        "webhooks 0 namespaceSelector matchExpressions 1",
        _EXISTS,
    ),
    Effect(
        {"userRoles.aggregate": False},
        VIEW,
        "metadata labels rbac.authorization.k8s.io/aggregate-to-view",
        None,
    ),
    Effect(_ISSUED, ISSUED, "spec issuerRef kind", "ClusterIssuer"),
    Effect(_BUNDLE, MUTATING, "webhooks 0 clientConfig caBundle", "Q0E="),
    Effect({"networkPolicy.apiServerPorts": [8443]}, TO_SYNC, "spec egress 0 ports", [{"port": 8443}]),
    Effect({"policies.ownership": True}, OWNERSHIP, "spec failurePolicy", "Fail"),
    Effect({"backstop.actions": ["Deny"]}, BINDING, "spec validationActions", ["Deny"]),
    Effect({**_MONITORED, "monitoring.serviceMonitor.labels": _LABELS}, MONITOR, TEAM, "ml"),
    Effect(
        {**_MONITORED, "monitoring.serviceMonitor.tlsConfig": {"serverName": "x"}},
        MONITOR,
        "spec endpoints 1 tlsConfig serverName",
        "x",
    ),
    Effect(
        {**_MONITORED, "monitoring.serviceMonitor.interval": "15s"},
        MONITOR,
        "spec endpoints 0 interval",
        "15s",
    ),
    Effect({**_MONITORED, "monitoring.prometheusRule.labels": _LABELS}, RULE, TEAM, "ml"),
    Effect(
        {**_MONITORED, "monitoring.prometheusRule.runbooks": "https://wiki/alerts"},
        RULE,
        "spec groups 0 rules 0 annotations runbook_url",
        "https://wiki/alerts#fusioninferwebhookdown",
    ),
    Effect(_UNKEPT, KINDS, "metadata annotations helm.sh/resource-policy", None),
)
NO_OBJECT: Final = {
    "crds.enabled": KINDS[0],
    "sync.serviceAccount.create": ("ServiceAccount", "fusioninfer-sync"),
    "webhook.serviceAccount.create": ("ServiceAccount", "fusioninfer-webhook"),
    "networkPolicy.enabled": ("NetworkPolicy", "fusioninfer-webhook"),
    "policies.controller": ("ValidatingAdmissionPolicy", "controller.fusioninfer.io"),
}
"""Values without which an object is not there."""


# --- what each value does -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def render(helm: Path) -> Any:
    """Return the function that renders values."""

    @cache
    def rendered(values: tuple[tuple[str, str], ...]) -> dict[Name, Object]:
        done = rendering(helm, {path: json.loads(value) for path, value in values})
        assert done.returncode == 0, (values, done.stderr)
        found = [each for text in done.stdout.split("\n---\n") if (each := _loaded(text))]
        return {(each["kind"], each["metadata"]["name"]): each for each in found}

    return lambda values: rendered(tuple((path, json.dumps(value)) for path, value in values.items()))


def _loaded(text: str) -> Object:
    """Read an object; of the definition only what is before its large schema."""
    if "\nkind: CustomResourceDefinition\n" in text:
        text = text.partition("\nspec:\n")[0]
    found: Object = yaml.load(text, yaml.CSafeLoader) or {}
    return found


def test_every_value_has_an_effect_here() -> None:
    tried = {path for effect in EFFECTS for path in effect.values} | NO_OBJECT.keys()

    assert tried == {value.path for value in VALUES}


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: " ".join(effect.values))
def test_a_value_does_what_it_says(rendered: list[Rendered], effect: Effect) -> None:
    made = next(
        made
        for values, made in rendered
        if all(values.get(path) == value for path, value in effect.values.items())
        and made.keys() >= {*effect.objects}
    )

    for name in effect.objects:
        found = _at(made[name], effect.place)
        assert effect.expected in found if effect.place.endswith(" args") else found == effect.expected


def _at(found: Object, place: str) -> Any:
    *above, last = (int(part) if part.lstrip("-").isdigit() else part for part in place.split())
    parent = at(found, above)
    return parent.get(last) if isinstance(parent, dict) else parent[last]


@pytest.mark.parametrize("path", NO_OBJECT)
def test_without_a_value_its_object_is_not_there(render: Any, path: str) -> None:
    assert NO_OBJECT[path] in render({})
    assert NO_OBJECT[path] not in render({path: False})


def test_no_object_names_another_account_than_the_one_of_the_values(helm: Path) -> None:
    values = {"sync.serviceAccount.name": "reconciler", "webhook.serviceAccount.name": "admission"}
    made = rendering(helm, {**values, **_TEMPLATES, "policies.ownership": True}).stdout

    places = r"(?:serviceAccountName: |kind: ServiceAccount\n(?:metadata:\n)? *name: )(\S+)"
    assert set(re.findall(places, made)) == {"reconciler", "admission", "fusioninfer-test"}
    names = set(re.findall(rf"system:serviceaccount:{NAMESPACE}:([-a-z]+)", made))
    assert names == {"reconciler"}
    assert re.findall(r"serviceAccount:\n +name: (\S+)", made) == ["admission"]


def test_an_issuer_of_ones_own_needs_no_ca(render: Any) -> None:
    kinds = [kind for kind, _ in render(_ISSUED)]

    assert (kinds.count("Issuer"), kinds.count("Certificate")) == (0, 1)


def test_with_the_network_of_nodes_the_webhook_has_no_policy(render: Any) -> None:
    policies = {name for kind, name in render(_HOST) if kind == "NetworkPolicy"}

    assert policies == {"fusioninfer-sync"}


@pytest.mark.parametrize(
    ("watched", "bindings"),
    [([], {("ClusterRoleBinding", None)}), (["a", "b"], {("RoleBinding", "a"), ("RoleBinding", "b")})],
)
def test_the_controller_has_its_rights_in_the_namespaces_that_it_watches(
    helm: Path, watched: list[str], bindings: set[tuple[str, str | None]]
) -> None:
    made = chart.rendered(helm, {"sync.namespaces": watched})

    of_role = [one for one in made if one.get("roleRef", {}).get("name") == "fusioninfer-sync"]
    bound = {
        (one["kind"], one["metadata"].get("namespace"))
        for one in of_role
        if one["roleRef"]["kind"] == "ClusterRole"
    }
    assert bound == bindings


ANY_POD: Final = "Any pod of the cluster can slow admission"


@pytest.mark.parametrize(
    ("values", "says", "not_says"),
    [
        ({}, ANY_POD, "hostNetwork"),
        (_HOST, "has no NetworkPolicy", "every InferenceTemplate"),
        (_KNOWN, "is installed", ANY_POD),
        ({"webhook.callerCIDRs": ["10.0.0.0/28"]}, "is installed", ANY_POD),
        ({"networkPolicy.webhookFrom": [_BLOCK]}, "is installed", ANY_POD),
        (_TEMPLATES, "every InferenceTemplate", "hostNetwork"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, dict) else "",
)
def test_the_notes_say_what_any_pod_can_do(helm: Path, values: Values, says: str, not_says: str) -> None:
    notes = rendering(helm, values, "install", "--dry-run=client").stdout.partition("\nNOTES:\n")[2]

    assert says in notes
    assert not_says not in notes


# --- laws over all values -----------------------------------------------------------------------------


def combined() -> list[Values]:
    """Return combinations: no values, those of every effect where they fit, and those without an object."""
    made: list[dict[str, Any]] = []
    for effect in EFFECTS:
        fits = (
            one for one in made if all(one.get(path, value) == value for path, value in effect.values.items())
        )
        if (chosen := next(fits, None)) is None:
            made.append(chosen := {})
        chosen |= effect.values
    return [{}, *made, dict.fromkeys(NO_OBJECT, False)]


@pytest.fixture(scope="module")
def rendered(render: Any) -> list[Rendered]:
    """Render every combination."""
    return [(values, render(values)) for values in combined()]


def test_every_object_has_the_recommended_labels(rendered: list[Rendered]) -> None:
    for values, made in rendered:
        for name, found in made.items():
            labels = found["metadata"]["labels"]
            assert RECOMMENDED.items() <= labels.items(), (name, values)
            assert {*ALSO, CHART} <= labels.keys(), (name, values)


def test_every_pod_has_the_recommended_labels(rendered: list[Rendered]) -> None:
    for values, made in rendered:
        for name in BOTH:
            labels = at(made[name], ("spec", "template", "metadata", "labels"))
            assert RECOMMENDED.items() <= labels.items(), (name, values)
            assert labels.keys() >= ALSO, (name, values)


def test_common_labels_and_annotations_are_on_every_object(render: Any) -> None:
    for name, found in render({"commonLabels": _LABELS, "commonAnnotations": {"note": "1"}}).items():
        assert found["metadata"]["labels"]["team"] == "ml", name
        assert found["metadata"]["annotations"]["note"] == "1", name


def test_selectors_are_the_same_with_all_values(rendered: list[Rendered]) -> None:
    """They cannot be changed: with another one, an upgrade with other values would be refused."""
    for values, made in rendered:
        for _, deployment in BOTH:
            labels = made["Deployment", deployment]["spec"]["selector"]["matchLabels"]
            assert labels.keys() == SELECTED, values
            assert labels == made["Service", deployment]["spec"]["selector"], values
            assert labels == made["PodDisruptionBudget", deployment]["spec"]["selector"]["matchLabels"], (
                values
            )


def test_no_combination_selects_the_pod_of_the_test(rendered: list[Rendered]) -> None:
    for _, made in rendered:
        test = made["Pod", "fusioninfer-test"]["metadata"]
        assert HOOK in test["annotations"]
        assert test["labels"]["app.kubernetes.io/component"] == "test"


@pytest.mark.parametrize("parts", [1, None], ids=["objects", "fields"])
def test_values_that_are_null_or_absent_have_their_defaults(render: Any, parts: int | None) -> None:
    """`--reuse-values` takes those of an earlier chart, which lack newer ones."""
    absent = {".".join(value.path.split(".")[:parts]): None for value in VALUES}

    assert render(absent) == render({})


# --- values that are refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"webhok.replicas": 3}, "at '': additional properties 'webhok' not allowed"),
        ({"webhook.replica": 3}, "at '/webhook': additional properties 'replica' not allowed"),
        (
            {"sync.resources": {"limts": {}}},
            "at '/sync/resources': additional properties 'limts' not allowed",
        ),
        (
            {"tolerations": [{"operater": "Exists"}]},
            "at '/tolerations/0': additional properties 'operater' not",
        ),
        ({"webhook.timeoutSeconds": 31}, "at '/webhook/timeoutSeconds': maximum: got 31, want 30"),
        ({"commonLabels": {"app.kubernetes.io/name": "x"}}, "at '/commonLabels/app.kubernetes.io~1name'"),
        ({"podLabels": {"a": "not a label"}}, "at '/podLabels/a'"),
        ({"webhook.hostNetwork": True}, "webhook.port: 10250 is a port of the kubelet"),
        ({**_HOST, "webhook.metricsPort": 10255}, "webhook.metricsPort: 10255 is a port of the kubelet"),
        ({"webhook.port": 8080}, "webhook.metricsPort: must differ from webhook.port"),
        ({"certificates.issuerRef": {"name": "own"}}, "set certificates.mode=cert-manager"),
        ({"certificates.issuerRef": {"kind": "ClusterIssuer"}}, "at '/certificates/issuerRef'"),
        ({"webhook.clientCA": "x"}, "webhook.clientCA: requires webhook.clientNames"),
        ({"webhook.clientNames": ["x"]}, "webhook.clientNames: requires webhook.clientCA"),
        ({"templates.enabled": True}, "templates.enabled: requires webhook.clientCA"),
        ({**_HOST, "webhook.callerCIDRs": ["10.0.0.0/28"]}, "webhook.callerCIDRs: with webhook.hostNetwork"),
        ({"webhook.callerCIDRs": ["10.0.0.0/8", "::ffff:a00:0/104"]}, "write them in the form 10.0.0.0/24"),
        ({**_HOST, "networkPolicy.webhookFrom": [_BLOCK]}, "networkPolicy.webhookFrom: has no effect"),
        ({"networkPolicy.metricsFrom": [{"podSelektor": {}}]}, "at '/networkPolicy/metricsFrom/0'"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, dict) else "",
)
def test_a_value_that_cannot_be_is_refused_with_its_path(helm: Path, values: Values, said: str) -> None:
    refused = rendering(helm, values)

    assert said in refused.stderr
    assert refused.returncode
