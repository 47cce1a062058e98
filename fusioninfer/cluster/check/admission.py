"""Checks of the webhook: its configurations, its certificates, whether it answers, and who may call it."""

from typing import Final

from fusioninfer.cluster.check import certificates
from fusioninfer.cluster.check.certificates import days_left
from fusioninfer.cluster.check.components import parsed
from fusioninfer.cluster.check.facts import Facts, flags, image_tag, our_webhooks, service_of
from fusioninfer.cluster.check.row import OK, Judgement, check
from fusioninfer.cluster.text import name_of
from intent.annotations import EXPANSION
from intent.shapes import annotations, listed, mapping, text

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
    "serving-certificate",
    f"the serving certificate is valid, and has more than {SOON} days left",
    "check the Certificate fusioninfer-webhook (`cmctl renew fusioninfer-webhook`), or the log of the "
    "controller, which writes the Secret (docs/certificates.md)",
    needs=("secret",),
    after=CONFIGURED,
)
def _certificate(facts: Facts) -> Judgement | None:
    """Judge the serving certificate by itself; a webhook that is called by URL may have none in a Secret."""
    secret = facts.answer("secret").first
    service = next((called for one in our_webhooks(facts) if (called := service_of(one))), None)
    if not secret:
        return Judgement("error", "the Secret of the certificate does not exist") if service else None
    chain = certificates.read(text(mapping(secret.get("data")).get("tls.crt")))
    if not chain:
        return Judgement("error", f"Secret {name_of(secret)}: tls.crt is no PEM certificate")
    name = f"{service[1]}.{service[0]}.svc" if service else ""
    if name and not certificates.has_name(chain[0], name):
        return Judgement("error", f"it is not valid for {name}")
    return _left(days_left(chain[0], facts.now), SOON)


def _left(days: float, soon: int) -> Judgement:
    if days <= 0:
        return Judgement("error", f"it expired {-days:.0f} days ago")
    if days <= soon:
        return Judgement("warning", f"it expires in {days:.1f} days")
    return Judgement("ok", f"{days:.0f} days left")


@check(
    "ca-bundle",
    f"the CA bundles trust the serving certificate, and have more than {CA_SOON} days left",
    "restart cert-manager's cainjector, or the controller with --manage-certificates; both write caBundle. "
    "Renew the CA (docs/certificates.md)",
    needs=("secret",),
    after=CONFIGURED,
)
def _authority(facts: Facts) -> Judgement:
    chain = certificates.read(text(mapping(facts.answer("secret").first.get("data")).get("tls.crt")))
    left = []
    for webhook in our_webhooks(facts):
        roots = certificates.read(text(mapping(webhook.get("clientConfig")).get("caBundle")))
        about = f"caBundle of {text(webhook.get('name'))}"
        if not roots:
            return Judgement("error", f"{about} is no PEM certificate")
        if chain and not certificates.is_trusted(chain, roots):
            return Judgement("error", f"{about} does not trust the serving certificate")
        left += [days_left(one, facts.now) for one in roots]
    return _left(max(left), CA_SOON)


# --- calls ------------------------------------------------------------------------------------------


@check(
    "webhook-answers",
    "a dry run of an annotated LeaderWorkerSet is expanded",
    "run `kubectl describe` for the pods of Deployment fusioninfer-webhook; /readyz on port 8080 of a pod "
    "says why it is not ready. If the pods and the certificate are right, something before their port 10250 "
    "drops the calls",
    after=CONFIGURED,
)
def _answers(facts: Facts) -> Judgement:
    trial = facts.trial
    if trial.unknown:
        return Judgement("unknown", trial.unknown)
    if trial.stored is None:
        return Judgement("error", trial.problem)
    is_expanded = EXPANSION in annotations(trial.stored)
    return OK if is_expanded else Judgement("error", "the dry run was stored without an expansion")


@check(
    "webhook-callers",
    "the webhook knows its callers, or its port is closed to others",
    "set webhook.clientCA with webhook.clientNames, webhook.callerCIDRs, or networkPolicy.webhookFrom "
    "(docs/install.md, Who may call the webhook)",
    needs=("deployments", "network-policy"),
)
def _callers(facts: Facts) -> Judgement | None:
    """Judge whether callers are known, or the port is closed to others; say from where a dry run came."""
    deployment, peers = facts.named("deployments", DEPLOYMENT), facts.trial.peers
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
    release = image_tag(facts.named("deployments", DEPLOYMENT))
    if not parsed(release):
        return None
    if parsed(release) == parsed(facts.release):
        return Judgement("ok", release)
    return Judgement("warning", f"the webhook is {release}, this command {facts.release}")


CHECKS: Final = (_present, _certificate, _authority, _answers, _callers, _release)
