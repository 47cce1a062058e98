"""docs/install.md and docs/operations.md with kustomize: the commands as they stand there, on a new cluster.

The webhook and the controller are processes beside it; the testbed reports that their pods are ready.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.manifests.objects import DOCS
from intent import Object
from tests.cluster.testbed.admissions import trust, trusted
from tests.cluster.testbed.api import create, items, path, refusal
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.console import Console, console, must, run
from tests.cluster.testbed.containers import report
from tests.cluster.testbed.control_plane import kill_process, restart_component
from tests.cluster.testbed.controllers import pod_group
from tests.cluster.testbed.inventory import inventory
from tests.cluster.testbed.lives import GANG, OWN, SERVED, lives, reconciled_throughout, start_services
from tests.cluster.testbed.namespaces import empty_namespace
from tests.cluster.testbed.ours import install_manifests, start_sync, start_webhook, wait_admission
from tests.cluster.testbed.rollouts import generation
from tests.cluster.testbed.wait import kept_doing, until
from tests.cluster.testbed.written import WHOLE, named, read, unannotated
from tests.manifests.pages import commands, files

INSTALL: Final = DOCS / "install.md"
OPERATIONS: Final = DOCS / "operations.md"
CHAPTER: Final = "Install FusionInfer"
NAMESPACE: Final = "fusioninfer-system"
(APPLY,) = [each for each in commands(INSTALL)[CHAPTER] if " -k " in each]
SEE_ROLLOUT, SEE_LEASE, SEE_RECORD = commands(INSTALL)["See that it works"]
BYPASS, *TAKE_AWAY = commands(OPERATIONS)["The webhook is down"]
UNINSTALL: Final = tuple(each for each in commands(OPERATIONS)["Uninstall"] if each.startswith("kubectl"))
(REMOVE,) = [each for each in UNINSTALL if "manifests/uninstall.yaml" in each]
AFTERWARDS: Final = tuple(
    each for each in UNINSTALL if "delete clusterrole" in each or "customresource" in each
)
(SEE_FIELDS,) = [
    one for each in commands(OPERATIONS).values() for one in each if "fusioninfer validate" in one
]
RUN: Final = (APPLY, SEE_ROLLOUT, SEE_LEASE, SEE_RECORD, SEE_FIELDS, BYPASS, *TAKE_AWAY, REMOVE, *AFTERWARDS)


@dataclass(frozen=True, slots=True)
class Installed:
    """A shell in the folder of the overlay, and what was in the cluster before."""

    cluster: Cluster
    console: Console
    before: frozenset[str]


@pytest.fixture(scope="module")
def installed(bare: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Write the overlay of the page, and apply it as the page says."""
    folder = tmp_path_factory.mktemp("overlay")
    overlay = files(INSTALL, CHAPTER)[0]
    (folder / "kustomization.yaml").write_text(overlay)
    before, there = inventory(bare), console(bare, folder, Path(sys.executable).parent / "fusioninfer")
    must(there, APPLY)
    return Installed(bare, there, before)


def generations(cluster: Cluster) -> dict[str, int]:
    """Count the specifications of our Deployments, policies and configurations."""
    kinds = "deployments,networkpolicies,poddisruptionbudgets,mutatingwebhookconfigurations"
    more = "validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"
    found = kubectl(cluster, "get", f"{kinds},{more}", "--all-namespaces", "--output=json")
    return {
        f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["generation"]
        for each in json.loads(found)["items"]
        if "fusioninfer" in each["metadata"]["name"]
    }


def test_the_image_is_the_one_that_the_overlay_names(installed: Installed) -> None:
    image = yaml.safe_load(files(INSTALL, CHAPTER)[0])["images"][0]["newName"]

    stored = items(installed.cluster.api, path("deployments", NAMESPACE))
    assert {
        each["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[0] for each in stored
    } == {image}


def test_another_apply_changes_nothing_and_leaves_an_injected_bundle(installed: Installed) -> None:
    """cert-manager has injected its bundle meanwhile."""
    trust(installed.cluster, installed.cluster.authority_pem)
    first = generations(installed.cluster)

    shown = run(installed.console, "kubectl diff --server-side -k .")
    must(installed.console, APPLY)

    assert shown.stdout + shown.stderr == ""
    assert generations(installed.cluster) == first
    assert trusted(installed.cluster) == {installed.cluster.authority_pem}


@pytest.fixture(scope="module")
def working(installed: Installed) -> Installed:
    """Run webhook and controller; the API server calls the webhook on loopback; pods are reported ready."""
    cluster = installed.cluster
    install_manifests(cluster)
    restart_component(cluster, "kube-controller-manager")
    start_webhook(cluster)
    start_sync(cluster)
    wait_admission(cluster)
    for number, pod in enumerate(until(lambda: ours(cluster), "pods of ours")):
        report(cluster, pod, f"10.99.1.{number + 1}")
    start_services(cluster)
    return installed


def ours(cluster: Cluster) -> list[Object]:
    found = items(cluster.api, path("pods", NAMESPACE))
    return found if len(found) == 4 else []


def test_the_rollout_comes_to_its_end(working: Installed) -> None:
    assert "successfully rolled out" in must(working.console, SEE_ROLLOUT)


def test_the_lease_has_a_holder(working: Installed) -> None:
    """Name, holder and age: without a holder there are two words."""
    words = until(lambda: held(working.console), "the Lease has a holder")

    assert words[0] == "fusioninfer-sync"


def held(there: Console) -> list[str]:
    *_, line = run(there, SEE_LEASE).stdout.splitlines() or [""]
    return line.split() if len(line.split()) == 3 else []


def test_a_dry_run_of_the_example_prints_a_record(working: Installed) -> None:
    assert "fusioninfer.io/expansion: '{" in must(working.console, SEE_RECORD)


def test_all_inferenceservices_can_be_validated_before_an_upgrade(working: Installed) -> None:
    assert "0 errors" in must(working.console, SEE_FIELDS)


# --- the webhook is down ----------------------------------------------------------------------------


def test_the_bypass_admits_one_object_while_the_webhook_is_down_and_changes_none(working: Installed) -> None:
    cluster, there = working.cluster, working.console
    before = generation(cluster, "default", OWN)

    kill_process(cluster, "webhook")
    down = labelled(there, "1")
    must(there, BYPASS.replace("NAME", OWN))
    bypassed = labelled(there, "2")
    start_webhook(cluster)
    wait_admission(cluster)
    must(there, f"kubectl annotate lws {OWN} fusioninfer.io/inject-")

    assert (down, bypassed, labelled(there, "3")) == (False, True, True)
    assert generation(cluster, "default", OWN) == before


def labelled(there: Console, text: str) -> bool:
    return run(there, f"kubectl label --overwrite lws {OWN} trial={text}").returncode == 0


def test_without_the_webhooks_the_policy_warns_of_what_is_not_expanded(working: Installed) -> None:
    """Their configurations are deleted as the page says while the webhook is down; all is applied again."""
    cluster, there = working.cluster, working.console
    kill_process(cluster, "webhook")
    for command in TAKE_AWAY:
        must(there, command)

    said = until(lambda: written(cluster, named(read(WHOLE), "new")), "no webhook is called")
    must(there, APPLY)
    install_manifests(cluster)
    start_webhook(cluster)
    wait_admission(cluster)

    assert "leaderworkerset.leaderworkerset.x-k8s.io/new created" in said
    assert "not expanded: the mutating webhook did not run" in said


def written(cluster: Cluster, lws: Object) -> str:
    """Return what kubectl prints about a dry run, if it is accepted."""
    done = run_kubectl(cluster, "apply", "--dry-run=server", "--filename=-", stdin=json.dumps(lws))
    return done.stdout + done.stderr if done.returncode == 0 else ""


ADDRESS: Final = "IPAddress/"
"""The API server frees the address of a deleted Service later."""


def plain_write(cluster: Cluster) -> str:
    """Send a dry run of a LeaderWorkerSet without annotations; return why it was refused, or nothing."""
    where, plain = path("leaderworkersets", "default"), named(unannotated(SERVED), "plain")
    return refusal(lambda: create(cluster.api, where, plain, dryRun="All"))


def test_uninstalling_restarts_nothing_refuses_nothing_and_leaves_nothing(working: Installed) -> None:
    """The controller goes on until it is deleted, and its services are changed meanwhile."""
    cluster, before, said = working.cluster, lives(working.cluster), list[str]()

    with reconciled_throughout(cluster), kept_doing(lambda: said.append(plain_write(cluster))):
        deleted = re.findall(r'"([^"]+)"', must(working.console, REMOVE))
    after, gang = lives(cluster), pod_group(cluster, "default", GANG) is not None
    kill_process(cluster, "sync")
    kill_process(cluster, "webhook")
    accepted = bool(written(cluster, unannotated(SERVED))), bool(written(cluster, named(SERVED, "new")))
    empty_namespace(cluster, "default")
    for command in AFTERWARDS:
        must(working.console, command)

    assert deleted[0] == "fusioninfer-sync"
    assert deleted.index("mutate.fusioninfer.io") < deleted.index("fusioninfer-system")
    assert (after, gang, {*said}, accepted) == (before, True, {""}, (True, True))
    left = {name for name in inventory(cluster) - working.before if "/default/" not in name}
    assert {name for name in left if not name.startswith(ADDRESS)} == set()
