"""A simulated API server: defaults, mutating webhooks in order, schema, validating webhook.

`tests/cluster/convergence` compares what it stores with the real API server and LWS, after each step.

Webhooks are called in the order of their configurations' names: LWS's own, another one if its name comes
before `mutate.fusioninfer.io`, ours, and another one if its name comes after. Ours is called again if a later
one changed the object (`reinvocationPolicy: IfNeeded`), and also if it changed nothing: then ours must not
either. Defaults are filled in after each of them.
"""

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jsonpatch
import orjson

from intent import Object
from intent.template import Templates
from tests.builders.reviews import review as review_of
from tests.laws.convergence.laws import MIRROR, difference
from tests.laws.convergence.schema import Refused, check, copied, defaulted, lws_defaulted, templates
from webhook import review
from webhook.review import AdmissionAnswer

PREFIX: Final = "fusioninfer.io/"
Webhook = Callable[..., AdmissionAnswer]
"""Gets the request; /mutate also the templates that it reads."""


class Denied(Exception):  # noqa: N818 - it is an answer of the API server, not a fault
    """Our validating webhook denies a write."""


class Lost(Exception):  # noqa: N818 - it is an answer of ours, not a fault
    """Our mutating webhook takes away what another one wrote into a container."""


class Unstable(Exception):  # noqa: N818 - it is an answer of ours, not a fault
    """Our mutating webhook changes what it has just answered."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Our webhooks. A broken engine differs in one of them."""

    mutate: Webhook = review.mutate
    validate: Webhook = review.validate


def allow(_body: bytes) -> AdmissionAnswer:
    """Answer /validate: everything is allowed."""
    return AdmissionAnswer(orjson.dumps({"response": {"allowed": True}}), "allowed")


def injector(lws: Object) -> Object:
    """Return the object as another webhook leaves it: a label, an annotation, a variable, a volume, a mount.

    It writes into every template that the object has, once. The images of init containers are mirrored.
    """
    whole: Object = copied(lws)
    for _, template in templates(whole):
        metadata = template.setdefault("metadata", {})
        metadata.setdefault("labels", {})["injected.example/by"] = "policy"
        metadata.setdefault("annotations", {})["injected.example/at"] = "admission"
        spec = template.setdefault("spec", {})
        _add(spec, "volumes", {"name": "certificates", "emptyDir": {}})
        for item in (*spec.get("containers", ()), *spec.get("initContainers", ())):
            _add(item, "env", {"name": "REGION", "value": "eu"})
            _add(item, "volumeMounts", {"name": "certificates", "mountPath": "/etc/certificates"})
        for item in spec.get("initContainers", ()):
            item["imagePullPolicy"] = "Always"
            if "image" in item:
                item["image"] = MIRROR + item["image"].removeprefix(MIRROR)
    return whole


def _check_edits(changed: Object, stored: Object) -> None:
    """Check that the init containers of an object have what the injector wrote into them.

    Raises:
        Lost: one has not.
    """
    kept = dict(templates(stored))
    for field, template in templates(changed):
        left = {one["name"]: one for one in kept.get(field, {}).get("spec", {}).get("initContainers", ())}
        for item in template["spec"].get("initContainers", ()):
            if item["name"] in left and left[item["name"]].get("imagePullPolicy") != "Always":
                raise Lost(f"{field}: {item['name']} has lost what another webhook wrote")


def _add(owner: Object, field: str, item: Object) -> None:
    if item not in owner.setdefault(field, []):
        owner[field].append(item)


@dataclass(frozen=True, slots=True)
class Server:
    """An API server. Without an engine, our webhooks are not installed."""

    engine: Engine | None = None
    other: str = ""
    """Where another mutating webhook is called: `before` ours, `after` it, or not at all."""
    templates: Templates | None = None
    """Those that our webhook can read."""

    def admit(self, live: Object, old: Object | None = None) -> Object:
        """Return the object that is stored.

        Raises:
            Refused: it does not match its schema.
            Denied: our validating webhook denies it.
            Lost: our mutating webhook takes away what another one wrote.
            Unstable: our mutating webhook, called again, makes another object of its own answer.
        """
        if not isinstance(live["spec"].get("leaderWorkerTemplate", {}).get("workerTemplate"), dict):
            raise Refused("spec.leaderWorkerTemplate.workerTemplate: Required value")
        live = lws_defaulted(defaulted(live))
        if self.other == "before":
            live = defaulted(injector(live))
        changed = live if self.other else Object()
        live = first = self._mutated(live, old)
        if self.other == "after":
            changed = defaulted(injector(live))
            live = self._mutated(changed, old)
            first = first if changed == first else live  # after a change, it may answer with another object
        check(live)
        if changed:
            _check_edits(changed, live)
        if self.engine and is_called(live, old):
            response = _send(self.engine.validate, live, old)
            if not response["allowed"]:
                raise Denied(response["status"]["message"])
        if first != live:
            raise Unstable("; ".join(list(difference(first, live))[:4]))
        return live

    def _mutated(self, live: Object, old: Object | None) -> Object:
        if not self.engine or not is_called(live, old):
            return live
        response = _send(self._mutating(live, old), live, old)
        if "patch" not in response:
            return live
        return defaulted(
            jsonpatch.apply_patch(copied(live), orjson.loads(b64decode(response["patch"])), in_place=True)
        )

    def _mutating(self, live: Object, old: Object | None) -> Webhook:
        """Return our mutating webhook, with the templates that it reads for a write."""
        assert self.engine
        if not review.wanted(orjson.dumps(review_of(live, old))).names:
            return self.engine.mutate
        return partial(self.engine.mutate, templates=self.templates)


def is_called(live: Object, old: Object | None) -> bool:
    """Return whether the match conditions hold (manifests/base/webhooks.yaml)."""
    annotations = live["metadata"].get("annotations") or {}
    before = ((old or {}).get("metadata") or {}).get("annotations") or {}
    ours = any(key.startswith(PREFIX) for key in (*annotations, *before))
    return ours and annotations.get(PREFIX + "inject") != "disabled"


def _send(webhook: Webhook, live: Object, old: Object | None) -> Any:
    return orjson.loads(webhook(orjson.dumps(review_of(live, old))).body)["response"]
