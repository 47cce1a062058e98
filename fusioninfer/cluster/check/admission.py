"""Checks of the webhook: its configurations, its certificate, its endpoints, and whether it answers."""

from ipaddress import ip_address, ip_network
from typing import Final

from fusioninfer.cluster.check import certificates
from fusioninfer.cluster.check.certificates import Chain, days_left
from fusioninfer.cluster.check.facts import (
    MUTATING,
    VALIDATING,
    Facts,
    flags,
    image_version,
    our_webhooks,
    parsed,
    service_of,
)
from fusioninfer.cluster.check.row import BEFORE, Judgement, check, fails, holds, unknown
from fusioninfer.cluster.text import name_of
from intent import Object
from intent.annotations import EXPANSION
from intent.shapes import annotations, listed, mapping, text

CONDITIONS: Final = {
    "mutate.fusioninfer.io": (
        *("has-our-annotations", "not-bypassed"),
        *("not-being-deleted", "not-the-garbage-collector"),
    ),
    "validate.fusioninfer.io": (
        *("has-our-annotations", "not-bypassed"),
        *("not-being-deleted", "not-the-garbage-collector"),
    ),
    "inferenceservices.validate.fusioninfer.io": (
        *("not-bypassed", "not-being-deleted", "not-the-garbage-collector"),
    ),
    "inferencetemplates.validate.fusioninfer.io": (
        *("not-bypassed", "not-being-deleted", "not-the-garbage-collector"),
    ),
}
"""The webhooks, and the names of their match conditions (`manifests/base/webhooks.yaml`)."""
CIDR: Final = "--caller-cidr="
SOON: Final = 7
"""Days: a certificate that expires earlier should have been renewed."""
CA_SOON: Final = 30


CONFIGURATIONS: Final = {"mutating": MUTATING, "validating": VALIDATING}
"""The names of our webhook configurations, by reading."""


@check(
    "no-remains",
    "no webhook configuration of an earlier installation is there",
    "if this is no upgrade, delete them: without a webhook they reject every annotated object",
    severity="warning",
    when=BEFORE,
    needs=tuple(CONFIGURATIONS),
)
def _left_over(facts: Facts) -> Judgement:
    found = [name for reading, name in CONFIGURATIONS.items() if facts.named(reading, name)]
    return fails(f"webhook configuration {', '.join(found)}") if found else holds()


@check(
    "webhook-configurations",
    "the webhook configurations of FusionInfer are there",
    "apply the manifests, or run helm upgrade: annotated objects are stored unexpanded, or not checked",
    needs=tuple(CONFIGURATIONS),
)
def _present(facts: Facts) -> Judgement:
    missing = CONDITIONS.keys() - {text(one.get("name")) for one in our_webhooks(facts)}
    return fails(f"there is no webhook {', '.join(sorted(missing))}") if missing else holds()


CONFIGURED: Final = ("webhook-configurations",)


@check(
    "failure-policy",
    "writes fail while the webhook does not answer",
    "set failurePolicy to Fail: otherwise annotated objects are stored unexpanded during an outage",
    severity="warning",
    after=CONFIGURED,
)
def _fails_closed(facts: Facts) -> Judgement:
    own = our_webhooks(facts)
    ignored = [text(one.get("name")) for one in own if one.get("failurePolicy", "Fail") != "Fail"]
    return fails(f"failurePolicy is Ignore: {', '.join(ignored)}") if ignored else holds()


@check(
    "match-conditions",
    "the match conditions are those of this release",
    "apply the manifests of this release, or use the command of the installed release",
    severity="warning",
    after=CONFIGURED,
)
def _match_conditions(facts: Facts) -> Judgement:
    found = {text(one.get("name")): _conditions(one) for one in our_webhooks(facts)}
    wrong = [name for name, conditions in found.items() if conditions != CONDITIONS.get(name, ())]
    return fails(f"those of {', '.join(wrong)} differ from this release's") if wrong else holds()


def _conditions(webhook: Object) -> tuple[str, ...]:
    return tuple(text(mapping(one).get("name")) for one in listed(webhook.get("matchConditions")))


# --- endpoints --------------------------------------------------------------------------------------


def _service(facts: Facts) -> tuple[str, str] | None:
    return next((found for one in our_webhooks(facts) if (found := service_of(one))), None)


@check(
    "webhook-endpoints",
    "the webhook's Service has ready endpoints",
    "run `kubectl describe` for the pods of Deployment fusioninfer-webhook, and check the selector of the "
    "Service; /readyz on port 8080 of a pod says why it is not ready",
    needs=("slices",),
    after=CONFIGURED,
)
def _endpoints(facts: Facts) -> Judgement | None:
    """Count the ready endpoints of the Service; nothing if the webhook is called by URL."""
    service = _service(facts)
    if service is None:
        return None
    ready = sum(
        mapping(mapping(endpoint).get("conditions")).get("ready") is not False
        for one in facts.answer("slices").objects
        for endpoint in listed(one.get("endpoints"))
    )
    where = "/".join(service)
    return holds(f"{ready} of Service {where}") if ready else fails(f"Service {where} has no ready endpoint")


@check(
    "webhook-answers",
    "a dry run of an annotated LeaderWorkerSet is expanded",
    "if endpoints and certificate are right, something before port 10250 of the pods drops the calls",
    after=CONFIGURED,
)
def _answers(facts: Facts) -> Judgement:
    trial = facts.trial
    if trial.unknown:
        return unknown(trial.unknown)
    if trial.stored is None:
        return fails(trial.problem)
    is_expanded = EXPANSION in annotations(trial.stored)
    return holds() if is_expanded else fails("the dry run was stored without an expansion")


@check(
    "webhook-callers",
    "the webhook knows its callers, or its port is closed to others",
    "set webhook.clientCA with webhook.clientNames, webhook.callerCIDRs, or networkPolicy.webhookFrom "
    "(docs/install.md, Who may call the webhook)",
    severity="warning",
    needs=("deployments", "network-policy"),
)
def _callers(facts: Facts) -> Judgement | None:
    """Judge whether callers are known, or the port is closed to others; say from where a dry run came."""
    deployment, peers = facts.named("deployments", "fusioninfer-webhook"), facts.trial.peers
    if not deployment:
        return None
    came = f"a dry run came from {', '.join(peers)}" if peers else ""
    try:
        known = [ip_network(word[len(CIDR) :]) for word in flags(deployment) if word.startswith(CIDR)]
    except ValueError as error:
        return fails(f"{CIDR}: {error}")
    others = [peer for peer in peers if not any(ip_address(peer) in one for one in known)]
    if any(word.startswith("--client-ca=") for word in flags(deployment)):
        return holds(came)
    if known:
        return fails(f"a dry run came from elsewhere: {', '.join(others)}") if others else holds(came)
    rules = listed(mapping(facts.answer("network-policy").first.get("spec")).get("ingress"))
    ports = [mapping(rule) for rule in rules if {"port": "https"} in listed(mapping(rule).get("ports"))]
    if ports and all(rule.get("from") for rule in ports):
        return holds(came)
    return fails("; ".join(filter(None, ("any pod of the cluster can slow admission", came))))


# --- certificates -----------------------------------------------------------------------------------


@check(
    "serving-certificate",
    f"the serving certificate is valid, and has more than {SOON} days left",
    "check the Certificate fusioninfer-webhook (`cmctl renew fusioninfer-webhook`), or the log of the "
    "controller, which writes the Secret (docs/certificates.md)",
    needs=("secret",),
    after=CONFIGURED,
)
def _certificate(facts: Facts) -> Judgement | None:
    """Check the serving certificate by itself; a webhook that is called by URL may have none in a Secret."""
    secret, service = facts.answer("secret").first, _service(facts)
    if not secret:
        return fails("the Secret of the certificate does not exist") if service else None
    chain = certificates.chain_of(secret)
    if chain.problem:
        return fails(f"Secret {name_of(secret)}: {chain.problem}")
    name = f"{service[1]}.{service[0]}.svc" if service else ""
    if name and not certificates.has_name(chain.leaf, name):
        return fails(f"it is not valid for {name}")
    return _left(days_left(chain.leaf, facts.now), SOON)


def _left(days: float, soon: int) -> Judgement:
    if days <= 0:
        return fails(f"it expired {-days:.0f} days ago")
    return (
        holds(f"{days:.0f} days left") if days > soon else fails(f"it expires in {days:.1f} days", "warning")
    )


@check(
    "ca-bundle",
    f"the CA bundles trust the serving certificate, and have more than {CA_SOON} days left",
    "restart cert-manager's cainjector, or the controller with --manage-certificates; both write caBundle. "
    "Renew the CA (docs/certificates.md)",
    needs=("secret",),
    after=CONFIGURED,
)
def _authority(facts: Facts) -> Judgement:
    secret = facts.answer("secret").first
    chain = certificates.chain_of(secret) if secret else Chain(problem="none")
    left = []
    for webhook in our_webhooks(facts):
        name, bundle = text(webhook.get("name")), certificates.bundle_of(webhook)
        if bundle.problem:
            return fails(f"{name}: {bundle.problem}")
        if not chain.problem and not certificates.is_trusted(chain, bundle):
            return fails(f"caBundle of {name} does not trust the serving certificate")
        left += [days_left(one, facts.now) for one in bundle.certificates]
    return _left(max(left), CA_SOON)


# --- release, policy --------------------------------------------------------------------------------


@check(
    "release",
    "the webhook has the release of this command",
    "use the command of the installed release: rules and defaults may differ",
    severity="warning",
    needs=("deployments",),
)
def _release(facts: Facts) -> Judgement | None:
    deployment = facts.named("deployments", "fusioninfer-webhook")
    release = image_version(deployment, "webhook")
    if not deployment or not parsed(release) or not parsed(facts.release):
        return None
    is_same = parsed(release) == parsed(facts.release)
    return holds(release) if is_same else fails(f"the webhook is {release}, this command {facts.release}")


@check(
    "fallback-policy",
    "the fallback policy backstop.fusioninfer.io is there",
    "apply the manifests: without it an object that is stored unexpanded causes no warning",
    severity="warning",
    needs=("policy", "policy-binding"),
)
def _fallback(facts: Facts) -> Judgement:
    policy, binding = facts.answer("policy").first, facts.answer("policy-binding").first
    if policy and binding:
        actions = ", ".join(map(str, listed(mapping(binding.get("spec")).get("validationActions"))))
        return holds(actions)
    missing = "ValidatingAdmissionPolicy" if not policy else "ValidatingAdmissionPolicyBinding"
    return fails(f"{missing} backstop.fusioninfer.io does not exist")


CHECKS: Final = (
    _left_over,
    _present,
    _fails_closed,
    _match_conditions,
    _endpoints,
    _certificate,
    _authority,
    _answers,
    _callers,
    _release,
    _fallback,
)
