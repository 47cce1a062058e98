"""Checks of the webhook: its configurations, its certificate, its endpoints, and whether it answers."""

from ipaddress import ip_address, ip_network
from typing import Final

from fusioninfer.cluster.check import certificates
from fusioninfer.cluster.check.facts import (
    MUTATING,
    VALIDATING,
    Facts,
    available,
    flags,
    image_version,
    our_webhooks,
    parsed,
    service_of,
    webhooks,
)
from fusioninfer.cluster.check.row import BEFORE, INSTALLED, Check, Judgement, fails, holds, unknown
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


def _mutating(facts: Facts) -> Judgement:
    return _present(facts.named("mutating", MUTATING), (MUTATING,))


def _validating(facts: Facts) -> Judgement:
    wanted = tuple(name for name in CONDITIONS if name != MUTATING)
    return _present(facts.named("validating", VALIDATING), wanted)


def _present(configuration: Object, wanted: tuple[str, ...]) -> Judgement:
    if not configuration:
        return fails("it does not exist")
    missing = set(wanted) - {text(one.get("name")) for one in webhooks(configuration)}
    return fails(f"it lacks the webhook {', '.join(sorted(missing))}") if missing else holds()


def _left_over(facts: Facts) -> Judgement:
    found = [
        f"{kind} {name}"
        for kind, reading, name in (
            ("MutatingWebhookConfiguration", "mutating", MUTATING),
            ("ValidatingWebhookConfiguration", "validating", VALIDATING),
        )
        if facts.named(reading, name)
    ]
    return fails(", ".join(found)) if found else holds()


def _fails_closed(facts: Facts) -> Judgement:
    ignored = [
        text(one.get("name")) for one in our_webhooks(facts) if one.get("failurePolicy", "Fail") != "Fail"
    ]
    return fails(f"failurePolicy is Ignore: {', '.join(ignored)}") if ignored else holds()


def _match_conditions(facts: Facts) -> Judgement:
    wrong = [
        text(one.get("name"))
        for one in our_webhooks(facts)
        if _conditions(one) != CONDITIONS.get(text(one.get("name")), ())
    ]
    return fails(f"those of {', '.join(wrong)} differ from this release's") if wrong else holds()


def _conditions(webhook: Object) -> tuple[str, ...]:
    return tuple(text(mapping(one).get("name")) for one in listed(webhook.get("matchConditions")))


# --- endpoints --------------------------------------------------------------------------------------


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


def _answers(facts: Facts) -> Judgement:
    trial = facts.trial
    if trial.unknown:
        return unknown(trial.unknown)
    if trial.stored is None:
        return fails(trial.problem)
    is_expanded = EXPANSION in annotations(trial.stored)
    return holds() if is_expanded else fails("the dry run was stored without an expansion")


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
    left = certificates.days_left(chain.leaf, facts.now)
    return holds(f"{left:.0f} days left") if left > 0 else fails(f"it expired {-left:.0f} days ago")


def _renewed(facts: Facts) -> Judgement | None:
    left = certificates.days_left(certificates.chain_of(facts.answer("secret").first).leaf, facts.now)
    return holds() if left > SOON else fails(f"it expires in {left:.1f} days")


def _bundles(facts: Facts) -> Judgement:
    for webhook in our_webhooks(facts):
        if problem := certificates.bundle_of(webhook).problem:
            return fails(f"{text(webhook.get('name'))}: {problem}")
    return holds()


def _trusted(facts: Facts) -> Judgement | None:
    chain = certificates.chain_of(facts.answer("secret").first)
    for webhook in our_webhooks(facts):
        if not certificates.is_trusted(chain, certificates.bundle_of(webhook)):
            return fails(f"caBundle of {text(webhook.get('name'))} does not trust the serving certificate")
    return holds()


def _authority(facts: Facts) -> Judgement:
    left = [
        certificates.days_left(one, facts.now)
        for webhook in our_webhooks(facts)
        for one in certificates.bundle_of(webhook).certificates
    ]
    best = max(left)
    if best <= 0:
        return fails("every certificate in caBundle has expired")
    return holds(f"{best:.0f} days left") if best > CA_SOON else fails(f"it expires in {best:.0f} days")


def _service(facts: Facts) -> tuple[str, str] | None:
    return next((found for one in our_webhooks(facts) if (found := service_of(one))), None)


# --- Deployment, policy -----------------------------------------------------------------------------


def _available(facts: Facts) -> Judgement | None:
    deployment = facts.named("deployments", "fusioninfer-webhook")
    if not deployment:
        return None if _service(facts) is None else fails("Deployment fusioninfer-webhook does not exist")
    count = available(deployment)
    return holds(f"{count} available") if count else fails("no pod of it is available")


def _release(facts: Facts) -> Judgement | None:
    deployment = facts.named("deployments", "fusioninfer-webhook")
    release = image_version(deployment, "webhook")
    if not deployment or not parsed(release) or not parsed(facts.release):
        return None
    is_same = parsed(release) == parsed(facts.release)
    return holds(release) if is_same else fails(f"the webhook is {release}, this command {facts.release}")


def _fallback(facts: Facts) -> Judgement:
    policy, binding = facts.answer("policy").first, facts.answer("policy-binding").first
    if policy and binding:
        actions = ", ".join(map(str, listed(mapping(binding.get("spec")).get("validationActions"))))
        return holds(actions)
    missing = "ValidatingAdmissionPolicy" if not policy else "ValidatingAdmissionPolicyBinding"
    return fails(f"{missing} backstop.fusioninfer.io does not exist")


CONFIGURED: Final = ("mutating-configuration", "validating-configuration")
CHECKS: Final = (
    Check(
        "no-remains",
        "Webhook",
        "no webhook configuration of an earlier installation is there",
        _left_over,
        "if this is no upgrade, delete them: without a webhook they reject every annotated object",
        "warning",
        BEFORE,
        needs=("mutating", "validating"),
    ),
    Check(
        "mutating-configuration",
        "Webhook",
        "MutatingWebhookConfiguration mutate.fusioninfer.io is there",
        _mutating,
        "apply the manifests, or run helm upgrade: annotated objects are stored unexpanded",
        when=INSTALLED,
        needs=("mutating",),
    ),
    Check(
        "validating-configuration",
        "Webhook",
        "ValidatingWebhookConfiguration validate.fusioninfer.io is there",
        _validating,
        "apply the manifests, or run helm upgrade: objects are not checked",
        when=INSTALLED,
        needs=("validating",),
    ),
    Check(
        "failure-policy",
        "Webhook",
        "writes fail while the webhook does not answer",
        _fails_closed,
        "set failurePolicy to Fail: otherwise annotated objects are stored unexpanded during an outage",
        "warning",
        INSTALLED,
        after=CONFIGURED,
    ),
    Check(
        "match-conditions",
        "Webhook",
        "the match conditions are those of this release",
        _match_conditions,
        "apply the manifests of this release, or use the command of the installed release",
        "warning",
        INSTALLED,
        after=CONFIGURED,
    ),
    Check(
        "webhook-deployment",
        "Webhook",
        "Deployment fusioninfer-webhook is available",
        _available,
        "run `kubectl describe` for its pods; /readyz on port 8080 of a pod says why it is not ready",
        when=INSTALLED,
        needs=("deployments",),
        after=("mutating-configuration",),
    ),
    Check(
        "webhook-endpoints",
        "Webhook",
        "the webhook's Service has ready endpoints",
        _endpoints,
        "check the pods of Deployment fusioninfer-webhook, and the selector of the Service",
        when=INSTALLED,
        needs=("slices",),
        after=("mutating-configuration",),
    ),
    Check(
        "serving-certificate",
        "Webhook",
        "the serving certificate is valid",
        _certificate,
        "check the Certificate fusioninfer-webhook, or the log of the controller (docs/certificates.md)",
        when=INSTALLED,
        needs=("secret",),
        after=("mutating-configuration",),
    ),
    Check(
        "certificate-renewal",
        "Webhook",
        "the serving certificate has more than 7 days left",
        _renewed,
        "renew it: `cmctl renew fusioninfer-webhook`, or check that the controller may write the Secret",
        "warning",
        INSTALLED,
        needs=("secret",),
        after=("serving-certificate",),
    ),
    Check(
        "ca-bundle",
        "Webhook",
        "every webhook has a CA bundle",
        _bundles,
        "check cert-manager's cainjector, or that the controller runs with --manage-certificates",
        when=INSTALLED,
        after=CONFIGURED,
    ),
    Check(
        "ca-bundle-trusts",
        "Webhook",
        "the CA bundles trust the serving certificate",
        _trusted,
        "restart cert-manager's cainjector, or the controller; both write caBundle (docs/certificates.md)",
        when=INSTALLED,
        needs=("secret",),
        after=("ca-bundle", "serving-certificate"),
    ),
    Check(
        "ca-expiry",
        "Webhook",
        "the CA has more than 30 days left",
        _authority,
        "renew the CA (docs/certificates.md)",
        "warning",
        INSTALLED,
        after=("ca-bundle",),
    ),
    Check(
        "webhook-answers",
        "Webhook",
        "a dry run of an annotated LeaderWorkerSet is expanded",
        _answers,
        "if endpoints and certificate are right, something before port 10250 of the pods drops the calls",
        when=INSTALLED,
        after=("mutating-configuration",),
    ),
    Check(
        "webhook-callers",
        "Webhook",
        "the webhook knows its callers, or its port is closed to others",
        _callers,
        "set webhook.clientCA with webhook.clientNames, webhook.callerCIDRs, or networkPolicy.webhookFrom "
        "(docs/install.md, Who may call the webhook)",
        "warning",
        INSTALLED,
        needs=("deployments", "network-policy"),
    ),
    Check(
        "release",
        "Webhook",
        "the webhook has the release of this command",
        _release,
        "use the command of the installed release: rules and defaults may differ",
        "warning",
        INSTALLED,
        needs=("deployments",),
    ),
    Check(
        "fallback-policy",
        "Webhook",
        "the fallback policy backstop.fusioninfer.io is there",
        _fallback,
        "apply the manifests: without it an object that is stored unexpanded causes no warning",
        "warning",
        INSTALLED,
        needs=("policy", "policy-binding"),
    ),
)
