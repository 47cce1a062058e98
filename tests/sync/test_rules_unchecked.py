"""Each rule of admission, violated where no admission is asked: what the controller makes of it.

The webhooks skip an object with `fusioninfer.io/inject: disabled`, and a configuration of webhooks can be
deleted. What the controller copies, the API server or the admission of the LeaderWorkerSet checks: the seal
(ADR 13) has the API server refuse one that admission did not answer for.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest

from catalog.codes.inferenceservice import ROWS
from catalog.pickers.workload import CONFIG_DIR
from fusioninfer.cluster.service import snapshot_of
from fusioninfer.lint.checked import checked
from fusioninfer.lint.documents import Document
from intent import Object
from intent.annotations import KEYS, ROLES, SERVICE, Key
from intent.settings import Settings
from sync.kinds import ROUTES
from sync.observed.configuration import reference
from sync.parts.service import desired_state
from tests.sync.running.test_hostile_names import HOSTILE, WORKER, live, members
from tests.sync.samples import inference_service, lws, role, router
from tests.sync.served import HOME, LISTENER
from webhook import inferenceservice

SETTINGS: Final = Settings(gateways=False, ingresses=False)
PLAIN: Final = (WORKER, router())
Objects = dict[tuple[str, str], Object]


def desired(*stored: Object, settings: Settings = SETTINGS) -> Objects:
    """Return what the controller would write for the service, by kind and name."""
    snapshot = snapshot_of(live(*stored), (HOME, "r1"))
    assert not (ref := reference(snapshot.value)) or "/" not in ref.name
    return {(one["kind"], one["metadata"]["name"]): one for one in desired_state(snapshot, settings).objects}


def of_service(*roles: Object, **metadata: Any) -> Object:
    return inference_service(*(roles or PLAIN), **metadata)


def is_nothing(found: Objects, _usual: Objects) -> bool:
    """Nothing is written: the InferenceService cannot be read as a whole."""
    return not found


def is_ignored(found: Objects, usual: Objects) -> bool:
    """What violates the rule is not read."""
    return found == usual


def has_no_routes(found: Objects, _usual: Objects) -> bool:
    """Existing routes stay, and none are written."""
    return not {kind for kind, _ in found} & (ROUTES - {"Service"})


def has_no_picker(found: Objects, usual: Objects) -> bool:
    """No endpoint picker is written, and nothing of another name."""
    return found.keys() <= usual.keys() and ("Deployment", "r1-epp") not in found


def is_copied(found: Objects, usual: Objects) -> bool:
    """Only contents differ: they are the API server's, or the admission's of a LeaderWorkerSet, to check."""
    return found.keys() == usual.keys() and found != usual


def has_more(*made: tuple[str, str]) -> Callable[[Objects, Objects], bool]:
    """What is written besides has the service's own name."""
    return lambda found, usual: found.keys() - usual.keys() == set(made)


def has_its_rights(found: Objects, usual: Objects) -> bool:
    """The endpoint picker keeps the account, the labels and the configuration that its rights depend on."""
    pods, known = (one["Deployment", "r1-epp"]["spec"]["template"] for one in (found, usual))
    ours, theirs = (one["spec"]["containers"][0] for one in (known, pods))
    labels = pods["metadata"]["labels"]
    return (
        pods["spec"]["serviceAccountName"] == "r1-epp"
        and labels | known["metadata"]["labels"] == labels
        and not any(key.startswith("fusioninfer.io/") for key in labels)
        and known["spec"]["volumes"][0] in pods["spec"]["volumes"]
        and theirs["args"][-2:] != ["--pool-name=x", "--config-file=x"]
        and [one for one in theirs["volumeMounts"] if one["mountPath"] == CONFIG_DIR] == ours["volumeMounts"]
    )


def with_role(**fields: Any) -> Object:
    """Return a service whose worker has these fields."""
    return of_service(role("inference", **fields), router())


def with_router(**fields: Any) -> Object:
    """Return a service whose router has these fields."""
    return of_service(WORKER, router(**fields))


def with_picker(**spec: Any) -> Object:
    """Return a service with changes of its endpoint picker's pods."""
    return with_router(template={"metadata": {"labels": {SERVICE: "r1"}}, "spec": {"containers": [], **spec}})


AUTOSCALED: Final = has_more(("HorizontalPodAutoscaler", "r1-inference"))
LONG: Final = {"spec": {"containers": [{"name": "vllm", "args": ["x" * 2**20]}]}}
GATEWAY: Final = {"gatewayClassName": "a", "listeners": [LISTENER]}
DISABLED: Final = {"fusioninfer.io/inject": "disabled"}
OWN: Final = of_service(annotations=DISABLED)
SERVICES: Final[tuple[tuple[str, Object, Callable[[Objects, Objects], bool]], ...]] = (
    ("FI701", with_role(replicas="2"), is_nothing),
    ("FI702", with_role(replica=2), is_nothing),
    ("FI703", of_service(WORKER, role("p", "prefiller"), router()), has_more(("LeaderWorkerSet", "r1-p"))),
    ("FI703", of_service(WORKER, router(), router(name="other", strategy="queue-size")), is_ignored),
    ("FI821", of_service(WORKER, role("epp"), router()), has_more(("LeaderWorkerSet", "r1-epp"))),
    ("FI706", with_role(httproute={"parentRefs": [{"name": "x"}]}), is_ignored),
    ("FI706", with_router(replicas=3), is_ignored),
    ("FI801", with_router(strategy="pd-disaggregation"), has_no_routes),
    ("FI732", with_role(roleReplicas=3), is_ignored),
    ("FI709", of_service(annotations={"fusioninfer.io/gateway": "x/y"}), is_ignored),
    ("FI921", with_router(httproute={"parentRefs": [{"name": "x"}], "hostnames": ["A"]}), is_copied),
    ("FI921", with_router(ingress={"tls": [{"hosts": "x"}]}), is_ignored),
    ("FI732", with_role(scaling={"maxReplicas": 3}), AUTOSCALED),
    ("FI921", with_role(scaling={"minReplicas": 1}, replicas=None), AUTOSCALED),
    ("FI921", with_role(rolloutStrategy={"type": "X"}), is_copied),
    ("FI706", with_role(worker=WORKER["template"]), is_copied),
    ("FI732", with_router(configRef={"name": "x", "key": "y"}, endpointPickerConfig="z"), has_no_routes),
    ("FI733", with_picker(serviceAccountName="admin", serviceAccount="admin"), has_its_rights),
    ("FI733", with_picker(volumes=[{"name": "config", "configMap": {"name": "x"}}]), has_its_rights),
    (
        "FI733",
        with_picker(containers=[{"name": "epp", "args": ["--pool-name=x", "--config-file=x"]}]),
        has_its_rights,
    ),
    ("FI921", with_router(configRef={"name": "../../b/configmaps/x", "key": "y"}), has_no_routes),
    ("FI921", with_router(configRef={"name": "x", "key": "../y"}), has_no_routes),
    ("FI734", with_router(pool={"ref": {"name": "r1-pool"}}), has_no_picker),
    (
        "FI104",
        of_service(
            role("p", "prefiller"),
            role("d", "decoder", sidecar={"secretName": "../x"}),
            router(strategy="pd-disaggregation"),
        ),
        has_no_routes,
    ),
    ("FI833", with_router(gateway=GATEWAY), has_no_routes),
    ("FI833", with_router(ingress={}), is_ignored),
    ("FI904", with_role(template=LONG), is_nothing),
)
"""The code of a rule, of admission or of the schema; a service that violates it; and what it may lead to."""


@pytest.mark.parametrize(
    ("code", "service", "holds"), SERVICES, ids=[f"{at}-{one[0]}" for at, one in enumerate(SERVICES)]
)
def test_a_rule_of_an_inferenceservice_holds_without_admission(
    code: str, service: Object, holds: Callable[[Objects, Objects], bool]
) -> None:
    errors = (
        *inferenceservice.check(service, None, SETTINGS),
        *checked(Document("", 1, service), SETTINGS).errors,
    )
    assert code in {one.code for one in errors}
    service["metadata"]["annotations"] = service["metadata"].get("annotations", {}) | DISABLED
    usual, found = desired(OWN, *members("r1")), desired(service, *members("r1"))

    assert holds(found, usual)
    assert {name.removeprefix("r1")[:1] for _, name in found} <= {"", "-"}


def test_each_error_about_an_inferenceservice_has_a_row() -> None:
    assert {code for code, row in ROWS.items() if row.severity == "error"} <= {row[0] for row in SERVICES}


# --- LeaderWorkerSets ---------------------------------------------------------------------------------

ROUTED: Final = {"fusioninfer.io/strategy": "queue-size", "fusioninfer.io/gateway": "infra/shared"}


def annotated(**fields: str) -> Object:
    """Return a member with a record that its author forged, and routes."""
    one = lws("r1-w", "worker")
    one["metadata"]["annotations"] |= ROUTED | fields
    return one


@pytest.mark.parametrize("row", KEYS.values(), ids=list(KEYS))
def test_an_annotation_that_admission_refuses_counts_as_absent(row: Key) -> None:
    absent = annotated()
    absent["metadata"]["annotations"].pop(row.key, None)
    usual = desired(absent)
    for value in HOSTILE:
        if list(row.violations(value)):
            found = desired(annotated(**{row.key: value}))
            if row.key == ROLES:  # a role that cannot exist is waited for
                found |= {at: one for at, one in usual.items() if at[0] == "PodGroup"}
            assert found == usual, value
