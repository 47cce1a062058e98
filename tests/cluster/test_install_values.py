"""The chart's values, rendered by Helm: each does what it says, and the labels hold whatever they are."""

import json
import random
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.manifests.objects import MANIFESTS, at
from hack.manifests.values import VALUES
from intent import Object
from tests.cluster.test_manifests import HOOK

NAMESPACE: Final = "fusioninfer-system"
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
SPEC: Final = ("spec", "template", "spec")
CONTAINER: Final = (*SPEC, "containers", 0)
DEPLOYMENTS: Final = ("fusioninfer-webhook", "fusioninfer-sync")
BOTH: Final = tuple(("Deployment", name) for name in DEPLOYMENTS)
MUTATING: Final = ("MutatingWebhookConfiguration", "mutate.fusioninfer.io")
VALIDATING: Final = ("ValidatingWebhookConfiguration", "validate.fusioninfer.io")
POLICY: Final = ("ValidatingAdmissionPolicy", "backstop.fusioninfer.io")

Name = tuple[str, str]
Values = Mapping[str, Any]
"""Values by their paths."""
Rendered = tuple[Values, dict[Name, Object]]
"""Values, and what the chart makes of them."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What values change: a place in some objects, and what stands there; of arguments, one of them."""

    values: Values
    objects: tuple[Name, ...]
    place: tuple[str | int, ...]
    expected: Any


def _of_each(part: str, name: str, value: Any, place: str, *, inside: bool = False) -> Effect:
    """Return the effect of a value of one Deployment on its pod, or on its container."""
    path = (*CONTAINER, place) if inside else (*SPEC, place)
    return Effect({f"{part}.{name}": value}, (("Deployment", f"fusioninfer-{part}"),), path, value)


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
_LABELS: Final = {"team": "ml"}
_MONITORED: Final = {"monitoring.enabled": True}
_RULE: Final = ("PrometheusRule", "fusioninfer")
_BUNDLE: Final = {"certificates.mode": "provided", "certificates.caBundle": "Q0E="}
_ISSUED: Final = {
    "certificates.mode": "cert-manager",
    "certificates.issuerRef": {"name": "own", "kind": "ClusterIssuer"},
}
_KNOWN: Final = {
    "webhook.clientCA": "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n",
    "webhook.clientNames": ["kube-apiserver"],
}
_BLOCK: Final = {"ipBlock": {"cidr": "10.0.0.0/28"}}
_SPACE: Final = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
_HOST: Final = {"webhook.hostNetwork": True, "webhook.port": 9443}
_ARGS: Final = ("Deployment", "fusioninfer-sync")
EFFECTS: Final = (
    Effect({"image.repository": "registry/x", "image.tag": "t"}, BOTH, (*CONTAINER, "image"), "registry/x:t"),
    Effect({"image.pullPolicy": "Always"}, BOTH, (*CONTAINER, "imagePullPolicy"), "Always"),
    Effect({"imagePullSecrets": [{"name": "s"}]}, BOTH, (*SPEC, "imagePullSecrets"), [{"name": "s"}]),
    Effect({"commonLabels": _LABELS}, BOTH, ("spec", "template", "metadata", "labels", "team"), "ml"),
    Effect(
        {"commonAnnotations": {"note": "1"}}, (MUTATING, POLICY), ("metadata", "annotations", "note"), "1"
    ),
    Effect({"podLabels": {"pod": "a"}}, BOTH, ("spec", "template", "metadata", "labels", "pod"), "a"),
    Effect({"podAnnotations": {"x": "1"}}, BOTH, ("spec", "template", "metadata", "annotations", "x"), "1"),
    Effect({"priorityClassName": "high"}, BOTH, (*SPEC, "priorityClassName"), "high"),
    Effect({"nodeSelector": {"a": "b"}}, BOTH, (*SPEC, "nodeSelector"), {"a": "b"}),
    Effect({"tolerations": [{"operator": "Exists"}]}, BOTH, (*SPEC, "tolerations"), [{"operator": "Exists"}]),
    *(
        effect
        for part in ("webhook", "sync")
        for effect in (
            Effect(
                {f"{part}.replicas": 0}, (("Deployment", f"fusioninfer-{part}"),), ("spec", "replicas"), 0
            ),
            _of_each(part, "resources", _RESOURCES, "resources", inside=True),
            _of_each(part, "affinity", _ANTI, "affinity"),
            _of_each(part, "topologySpreadConstraints", _SPREAD, "topologySpreadConstraints"),
            Effect(
                {f"{part}.serviceAccount.annotations": {"role": "r"}},
                (("ServiceAccount", f"fusioninfer-{part}"),),
                ("metadata", "annotations", "role"),
                "r",
            ),
            Effect(
                {f"{part}.extraArgs": ["--more"]},
                (("Deployment", f"fusioninfer-{part}"),),
                (*CONTAINER, "args"),
                "--more",
            ),
            Effect(
                {f"{part}.extraEnv": [{"name": "A", "value": "b"}]},
                (("Deployment", f"fusioninfer-{part}"),),
                (*CONTAINER, "env", -1),
                {"name": "A", "value": "b"},
            ),
            Effect(
                {f"{part}.extraVolumes": [_VOLUME], f"{part}.extraVolumeMounts": [_MOUNT]},
                (("Deployment", f"fusioninfer-{part}"),),
                (*CONTAINER, "volumeMounts", -1),
                _MOUNT,
            ),
        )
    ),
    Effect({"webhook.timeoutSeconds": 9}, (MUTATING, VALIDATING), ("webhooks", 0, "timeoutSeconds"), 9),
    Effect({"webhook.logLevel": "debug"}, BOTH[:1], (*CONTAINER, "args"), "--log-level=debug"),
    Effect({"webhook.port": 8443}, BOTH[:1], (*CONTAINER, "ports", 0, "containerPort"), 8443),
    Effect({"webhook.metricsPort": 8081}, BOTH[:1], (*CONTAINER, "ports", 1, "containerPort"), 8081),
    Effect(
        _HOST,
        BOTH[:1],
        ("spec", "strategy", "rollingUpdate"),
        {"maxSurge": 0, "maxUnavailable": 1},
    ),
    *(
        Effect({"templates.enabled": True, "templates.anyCaller": True}, BOTH[:1], (*CONTAINER, "args"), flag)
        for flag in (f"--templates-namespace={NAMESPACE}", "--templates-any-caller")
    ),
    Effect(_KNOWN, BOTH[:1], (*CONTAINER, "args"), "--client-name=kube-apiserver"),
    Effect(_KNOWN, (("ConfigMap", "fusioninfer-client-ca"),), ("data", "ca.crt"), _KNOWN["webhook.clientCA"]),
    Effect(
        {"webhook.hostNetwork": False, "webhook.callerCIDRs": ["10.0.0.0/28"]},
        BOTH[:1],
        (*CONTAINER, "args"),
        "--caller-cidr=10.0.0.0/28",
    ),
    Effect(
        {"webhook.hostNetwork": False, "networkPolicy.webhookFrom": [_BLOCK]},
        (("NetworkPolicy", "fusioninfer-webhook"),),
        ("spec", "ingress", 0, "from", 0),
        _BLOCK,
    ),
    *(
        Effect(
            {"networkPolicy.metricsFrom": [_SPACE]},
            (("NetworkPolicy", name),),
            ("spec", "ingress", at_rule, "from", 0),
            _SPACE,
        )
        for name, at_rule in zip(DEPLOYMENTS, (1, 0), strict=True)
    ),
    Effect({"sync.observeOnly": True}, (_ARGS,), (*CONTAINER, "args"), "--observe-only"),
    Effect({"sync.gangsOnly": True}, (_ARGS,), (*CONTAINER, "args"), "--gangs-only"),
    Effect({"sync.namespaces": ["a"]}, (_ARGS,), (*CONTAINER, "args"), "--watch-namespace=a"),
    Effect({"sync.workers": 12}, (_ARGS,), (*CONTAINER, "args"), "--workers=12"),
    Effect({"sync.qps": 0.5}, (_ARGS,), (*CONTAINER, "args"), "--qps=0.5"),
    Effect({"sync.logLevel": "debug"}, (_ARGS,), (*CONTAINER, "args"), "--log-level=debug"),
    Effect(
        {"settings": {"launcher": "none"}},
        (("ConfigMap", "fusioninfer-settings"),),
        ("data", "settings.yaml"),
        "launcher: none",
    ),
    Effect({"files": {"x.yaml": "a"}}, (("ConfigMap", "fusioninfer-settings"),), ("data", "x.yaml"), "a"),
    Effect(
        {"excludedNamespaces": ["x", "kube-system"]},
        (MUTATING, VALIDATING),
        ("webhooks", 0, "namespaceSelector", "matchExpressions", 0, "values"),
        ["kube-system", NAMESPACE, "x"],
    ),
    Effect(
        {"namespaceSelector": {"matchLabels": {"llm": "yes"}}},
        (POLICY,),
        ("spec", "matchConstraints", "namespaceSelector", "matchLabels"),
        {"llm": "yes"},
    ),
    Effect(
        {"namespaceSelector": {"matchExpressions": [{"key": "llm", "operator": "Exists"}]}},
        (MUTATING, VALIDATING),
        ("webhooks", 0, "namespaceSelector", "matchExpressions", 1),
        {"key": "llm", "operator": "Exists"},
    ),
    Effect(
        {"userRoles.aggregate": False},
        (("ClusterRole", "fusioninfer-view"),),
        ("metadata", "labels", "rbac.authorization.k8s.io/aggregate-to-view"),
        None,
    ),
    Effect(
        _ISSUED, (("Certificate", "fusioninfer-webhook"),), ("spec", "issuerRef", "kind"), "ClusterIssuer"
    ),
    Effect(_BUNDLE, (MUTATING,), ("webhooks", 0, "clientConfig", "caBundle"), "Q0E="),
    Effect(
        {"networkPolicy.apiServerPorts": [8443]},
        (("NetworkPolicy", "fusioninfer-sync"),),
        ("spec", "egress", 0, "ports"),
        [{"port": 8443}],
    ),
    Effect(
        {"policies.ownership": True},
        (("ValidatingAdmissionPolicy", "ownership.fusioninfer.io"),),
        ("spec", "failurePolicy"),
        "Fail",
    ),
    Effect(
        {"backstop.actions": ["Deny"]},
        (("ValidatingAdmissionPolicyBinding", "backstop.fusioninfer.io"),),
        ("spec", "validationActions"),
        ["Deny"],
    ),
    Effect(
        {**_MONITORED, "monitoring.serviceMonitor.labels": _LABELS},
        (("ServiceMonitor", "fusioninfer"),),
        ("metadata", "labels", "team"),
        "ml",
    ),
    Effect(
        {**_MONITORED, "monitoring.serviceMonitor.interval": "15s"},
        (("ServiceMonitor", "fusioninfer"),),
        ("spec", "endpoints", 0, "interval"),
        "15s",
    ),
    Effect(
        {**_MONITORED, "monitoring.prometheusRule.labels": _LABELS},
        (_RULE,),
        ("metadata", "labels", "team"),
        "ml",
    ),
    Effect(
        {**_MONITORED, "monitoring.prometheusRule.runbooks": "https://wiki/alerts"},
        (_RULE,),
        ("spec", "groups", 0, "rules", 0, "annotations", "runbook_url"),
        "https://wiki/alerts#fusioninferwebhookdown",
    ),
    Effect(
        {**_MONITORED, "monitoring.dashboard.labels": _LABELS},
        (("ConfigMap", "fusioninfer-dashboard"),),
        ("metadata", "labels", "team"),
        "ml",
    ),
)
NO_OBJECT: Final = {
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

    return lambda values: rendered(tuple((path, _json(value)) for path, value in values.items()))


def rendering(helm: Path, values: Values, *how: str) -> subprocess.CompletedProcess[str]:
    """Render the chart with values; by default as `helm template` does."""
    words = [word for path, value in values.items() for word in ("--set-json", f"{path}={_json(value)}")]
    where = (RELEASE, str(MANIFESTS / "chart"), "--namespace", NAMESPACE)
    command = [str(helm), *(how or ("template",)), *where, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _json(value: Any) -> str:
    return json.dumps(value)


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
        assert effect.expected in found if effect.place[-1] == "args" else found == effect.expected


def _at(found: Object, place: tuple[str | int, ...]) -> Any:
    *above, last = place
    parent = at(found, above)
    return parent.get(last) if isinstance(parent, dict) else parent[last]


@pytest.mark.parametrize("path", NO_OBJECT)
def test_without_a_value_its_object_is_not_there(render: Any, path: str) -> None:
    assert NO_OBJECT[path] in render({})
    assert NO_OBJECT[path] not in render({path: False})


def test_an_issuer_of_ones_own_needs_no_ca(render: Any) -> None:
    kinds = [kind for kind, _ in render(_ISSUED)]

    assert (kinds.count("Issuer"), kinds.count("Certificate")) == (0, 1)


def test_with_the_network_of_nodes_the_webhook_has_no_policy(render: Any) -> None:
    policies = {name for kind, name in render(_HOST) if kind == "NetworkPolicy"}

    assert policies == {"fusioninfer-sync"}


ANY_POD: Final = "Any pod of the cluster can slow admission"


@pytest.mark.parametrize(
    ("values", "says", "not_says"),
    [
        ({}, ANY_POD, "hostNetwork"),
        (_HOST, "has no NetworkPolicy", "every InferenceTemplate"),
        (_KNOWN, "is installed", ANY_POD),
        ({"webhook.callerCIDRs": ["10.0.0.0/28"]}, "is installed", ANY_POD),
        ({"networkPolicy.webhookFrom": [_BLOCK]}, "is installed", ANY_POD),
        ({"templates.enabled": True, "templates.anyCaller": True}, "every InferenceTemplate", "hostNetwork"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, dict) else "",
)
def test_the_notes_say_what_any_pod_can_do(helm: Path, values: Values, says: str, not_says: str) -> None:
    notes = rendering(helm, values, "install", "--dry-run=client").stdout.partition("\nNOTES:\n")[2]

    assert says in notes
    assert not_says not in notes


# --- laws over all values -----------------------------------------------------------------------------


AXES: Final[tuple[tuple[Values, Values], ...]] = (
    *(({}, effect.values) for effect in EFFECTS),
    *(({}, {path: False}) for path in NO_OBJECT),
)
"""The choices of a combination: no value, or those of one effect."""
Row = tuple[int, ...]


def combined() -> list[Values]:
    """Return combinations of values in which every two choices of different axes occur together."""
    return [_values(row) for row in pairwise([len(axis) for axis in AXES])]


def pairwise(sizes: list[int]) -> Iterator[Row]:
    """Yield rows of choices that together have every pair: the best of a few random rows each time."""
    rng = random.Random(0)  # noqa: S311 - the same rows each time
    left = {
        ((a, i), (b, j))
        for a, b in combinations(range(len(sizes)), 2)
        for i, j in product(range(sizes[a]), range(sizes[b]))
    }
    while left:
        rows = [_with(rng, sizes, rng.choice(sorted(left)[:50])) for _ in range(8)]
        best = max(rows, key=lambda row: len(left & _pairs(row)))
        left -= _pairs(best)
        yield best


def _with(rng: random.Random, sizes: list[int], pair: tuple[tuple[int, int], tuple[int, int]]) -> Row:
    row = [rng.randrange(size) for size in sizes]
    for axis, choice in pair:
        row[axis] = choice
    return tuple(row)


def _pairs(row: Row) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    return set(combinations(enumerate(row), 2))


def _values(row: Row) -> Values:
    """Merge the values of a row; a value of an earlier axis stays, with the others of its axis."""
    made: dict[str, Any] = {}
    for axis, choice in zip(AXES, row, strict=True):
        values = axis[choice]
        if all(made.get(path, value) == value for path, value in values.items()):
            made |= values
    if made.get("certificates.issuerRef") and made["certificates.mode"] != "cert-manager":
        raise AssertionError(made)
    return made


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


def test_no_combination_selects_the_pod_of_the_test(
    rendered: list[Rendered],
) -> None:
    for _, made in rendered:
        test = made["Pod", "fusioninfer-test"]["metadata"]
        assert HOOK in test["annotations"]
        assert test["labels"]["app.kubernetes.io/component"] == "test"


@pytest.mark.parametrize("parts", [1, None], ids=["objects", "fields"])
def test_values_that_are_null_or_absent_have_their_defaults(render: Any, parts: int | None) -> None:
    """`--reuse-values` takes those of an earlier chart, which lack newer ones."""
    absent = {".".join(value.path.split(".")[:parts]): None for value in VALUES}

    assert render(absent) == render({})


def test_a_rendering_is_the_same_each_time(helm: Path) -> None:
    command = [str(helm), "template", RELEASE, str(MANIFESTS / "chart")]
    first, second = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2))

    assert first == second


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
            "at '/tolerations/0': additional properties 'operater' not allowed",
        ),
        ({"webhook.timeoutSeconds": 31}, "at '/webhook/timeoutSeconds': maximum: got 31, want 30"),
        ({"commonLabels": {"app.kubernetes.io/name": "x"}}, "at '/commonLabels/app.kubernetes.io~1name'"),
        ({"podLabels": {"a": "not a label"}}, "at '/podLabels/a'"),
        ({"webhook.hostNetwork": True}, "webhook.port: 10250 is a port of the kubelet"),
        (
            {"webhook.hostNetwork": True, "webhook.port": 9443, "webhook.metricsPort": 10255},
            "webhook.metricsPort: 10255 is a port of the kubelet",
        ),
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
