"""Checks of an installation: of the webhook, its certificates and its callers, and of the controller."""

import binascii
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final

from cryptography import x509

from catalog.release import VERSION
from fusioninfer.cluster.check.components import NEEDED, parsed, served
from fusioninfer.cluster.check.facts import OK, Check, Facts, Judgement, check, flags, image_tag, our_webhooks
from intent import Object
from intent.annotations import EXPANSION
from intent.names import api_path
from intent.shapes import annotations, listed, mapping, number, text

WEBHOOKS: Final = frozenset(
    {
        "mutate.fusioninfer.io",
        "validate.fusioninfer.io",
        "inferenceservices.validate.fusioninfer.io",
        "inferencetemplates.validate.fusioninfer.io",
    }
)
"""The webhooks of `manifests/base/webhooks.yaml`."""
DEPLOYMENT: Final = "fusioninfer-webhook"
KNOWN_CALLERS: Final = ("--client-ca=", "--caller-cidr=")
"""The flags by which the webhook knows its callers."""
SOON: Final = 7
"""Days: a certificate that expires earlier should have been renewed."""
CA_SOON: Final = 30
SEVERITIES: Final = ("ok", "warning", "error")
CONFIGURED: Final = "webhook-configurations"


@check(
    CONFIGURED,
    "the webhook configurations of FusionInfer are there, with failurePolicy Fail",
    "apply the manifests, or run helm upgrade: annotated objects are stored unexpanded, or not checked",
    needs=("mutating", "validating"),
)
def _present(facts: Facts) -> Judgement:
    own = our_webhooks(facts)
    if missing := WEBHOOKS - {text(one.get("name")) for one in own}:
        return Judgement("error", f"there is no webhook {', '.join(sorted(missing))}")
    ignored = [text(one.get("name")) for one in own if one.get("failurePolicy", "Fail") != "Fail"]
    return Judgement("warning", f"failurePolicy is Ignore: {', '.join(ignored)}") if ignored else OK


# --- certificates -----------------------------------------------------------------------------------


@check(
    "certificates",
    f"the serving certificate has more than {SOON} days left, the CA bundles more than {CA_SOON}",
    "check the Certificate fusioninfer-webhook (`cmctl renew fusioninfer-webhook`) and cert-manager's "
    "cainjector, or the log of the controller, which writes them with --manage-certificates "
    "(docs/certificates.md)",
    needs=("secret",),
    after=CONFIGURED,
)
def _certificates(facts: Facts) -> Judgement:
    """Judge how long certificates are valid; whether a caller trusts them, a dry run tells."""
    serving = text(mapping(facts.answer("secret").first.get("data")).get("tls.crt"))
    verdicts = [_lasts("the serving certificate", _read(serving)[:1], facts.now, SOON)]
    for webhook in our_webhooks(facts):
        bundle = _read(text(mapping(webhook.get("clientConfig")).get("caBundle")))
        verdicts.append(_lasts(f"caBundle of {text(webhook.get('name'))}", bundle, facts.now, CA_SOON))
    return max(verdicts, key=lambda one: SEVERITIES.index(one.state))


def _read(encoded: str) -> list[x509.Certificate]:
    """Read certificates as `caBundle` and Secrets have them; none if they cannot be read."""
    try:
        return x509.load_pem_x509_certificates(b64decode(encoded))
    except (ValueError, binascii.Error):
        return []


def _lasts(about: str, certificates: list[x509.Certificate], now: datetime, soon: int) -> Judgement:
    """Judge the certificate that is valid longest: a CA bundle keeps the earlier one while it is renewed."""
    if not certificates:
        return Judgement("error", f"{about} is not there, or no PEM certificate")
    days = max((one.not_valid_after_utc - now).total_seconds() / 86400 for one in certificates)
    if days <= 0:
        return Judgement("error", f"{about} expired {-days:.0f} days ago")
    if days <= soon:
        return Judgement("warning", f"{about} expires in {days:.1f} days")
    return Judgement("ok", f"{about} has {days:.0f} days left")


# --- calls ------------------------------------------------------------------------------------------


@check(
    "webhook-answers",
    "a dry run of an annotated LeaderWorkerSet is expanded",
    "run `kubectl describe` for the pods of Deployment fusioninfer-webhook; /readyz on port 8080 of a pod "
    "says why it is not ready. After an x509 error, restart what writes caBundle (docs/certificates.md). If "
    "pods and certificates are right, something before port 10250 drops the calls",
    needs=("trial",),
    after=CONFIGURED,
)
def _answers(facts: Facts) -> Judgement:
    is_expanded = EXPANSION in annotations(facts.answer("trial").first)
    problem = facts.problem or "the dry run was stored without an expansion"
    return OK if is_expanded else Judgement("error", problem)


@check(
    "webhook-callers",
    "the webhook knows its callers, or its port is closed to others",
    "set webhook.clientCA with webhook.clientNames, webhook.callerCIDRs, or networkPolicy.webhookFrom "
    "(docs/install.md, Who may call the webhook)",
    needs=("deployments", "network-policy"),
)
def _callers(facts: Facts) -> Judgement | None:
    """Judge whether callers are known, or the port is closed to others; say from where a dry run came."""
    deployment, peers = facts.answer("deployments").named(DEPLOYMENT), facts.peers
    if not deployment:
        return None
    came = f"a dry run came from {', '.join(peers)}" if peers else ""
    rules = listed(mapping(facts.answer("network-policy").first.get("spec")).get("ingress"))
    ports = [mapping(rule) for rule in rules if {"port": "https"} in listed(mapping(rule).get("ports"))]
    is_closed = bool(ports) and all(rule.get("from") for rule in ports)
    if is_closed or any(word.startswith(KNOWN_CALLERS) for word in flags(deployment)):
        return Judgement("ok", came)
    return Judgement("warning", "; ".join(filter(None, ("any pod of the cluster can slow admission", came))))


@check(
    "release",
    "the webhook has the release of this command",
    "use the command of the installed release: rules and defaults may differ",
    needs=("deployments",),
)
def _release(facts: Facts) -> Judgement | None:
    release = image_tag(facts.answer("deployments").named(DEPLOYMENT))
    if not parsed(release):
        return None
    if parsed(release) == parsed(VERSION):
        return Judgement("ok", release)
    return Judgement("warning", f"the webhook is {release}, this command {VERSION}")


# --- the controller ---------------------------------------------------------------------------------


_served: Final = check(
    "inferenceservice-served",
    "InferenceService v1alpha1 is served",
    "apply the manifests, or run helm upgrade: they contain the definition",
    needs=("inferenceservices",),
)(partial(served, reading="inferenceservices"))


@check(
    "lease",
    "the controller runs: it renews its Lease",
    "run `kubectl describe` for the pods of Deployment fusioninfer-sync, and read their logs: without the "
    "controller new gangs wait",
    needs=("lease",),
)
def _lease(facts: Facts) -> Judgement:
    lease = facts.answer("lease").first
    if problem := lease_problem(lease, facts.now):
        return Judgement("error", problem)
    return Judgement("ok", f"held by {text(mapping(lease.get('spec')).get('holderIdentity'))}")


def lease_path(namespace: str) -> str:
    """Return the path of the controller's Lease."""
    return api_path("/apis/coordination.k8s.io/v1/namespaces", namespace, "leases", "fusioninfer-sync")


def lease_problem(lease: Object, now: datetime) -> str:
    """Return why no controller renews a Lease; empty if one does. `lease`: empty if there is none."""
    spec = mapping(lease.get("spec"))
    holder, renewed = text(spec.get("holderIdentity")), text(spec.get("renewTime"))
    if not (holder and renewed):
        return "nobody holds the Lease fusioninfer-sync"
    age = (now - datetime.fromisoformat(renewed)).total_seconds()
    is_old = age > number(spec.get("leaseDurationSeconds"))
    return f"{holder} renewed the Lease fusioninfer-sync {age:.0f} s ago" if is_old else ""


CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    **NEEDED,
    "Webhook": (_present, _certificates, _answers, _callers, _release),
    "Controller": (_served, _lease),
}
"""All checks, by the part of the cluster that they are about."""
