"""Writes to stored objects that change nothing of their pods, and what admission makes of them."""

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jsonpatch
import orjson

from intent import Object
from intent.tree import canonical
from tests.builders.reviews import review as review_of
from tests.laws.convergence import clients
from tests.laws.convergence.managed import scaled
from tests.laws.convergence.schema import copied, defaulted, lws_defaulted, templates
from tests.laws.convergence.server import is_called
from tests.upgrades.forgeries import EVIL
from tests.upgrades.stored import APPLIED, EDITED, EJECTED, OVERSIZED, STATES, WITHDRAWN, Stored
from webhook import review

Write = Callable[[Object, Object], Object | None]
"""Returns what a client sends of a stored object, given its author's file; None if it sends nothing."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The answer of both webhooks: the object that is stored then, and what is said; or why it is denied."""

    lws: Object
    warnings: tuple[str, ...] = ()
    denied: str = ""


def admitted(live: Object, old: Object) -> Admitted:
    """Return what becomes of an update of a LeaderWorkerSet, with the defaults of API server and LWS."""
    live = lws_defaulted(defaulted(live))
    if not is_called(live, old):
        return Admitted(live)
    response = answer(review.mutate, live, old)
    if "patch" in response:
        live = defaulted(jsonpatch.apply_patch(live, orjson.loads(b64decode(response["patch"]))))
    said = answer(review.validate, live, old)
    warnings = tuple(said.get("warnings", ()))
    return Admitted(live, warnings, "" if said["allowed"] else said["status"]["message"])


def answer(webhook: Callable[..., Any], live: Object, old: Object, **more: Any) -> Any:
    """Return the response of a webhook to an update, in the namespace of its object."""
    sent = review_of(live, old, namespace=live["metadata"]["namespace"], **more)
    return orjson.loads(webhook(orjson.dumps(sent)).body)["response"]


def pods(lws: Object) -> Object:
    """Return what decides about pods, in the form in which LWS compares it."""
    group = lws["spec"]["leaderWorkerTemplate"]
    found: Object = canonical({**dict(templates(lws)), "size": group["size"]})
    return found


# --- writes -----------------------------------------------------------------------------------------


def labelled(lws: Object) -> Object:
    """Return it with a label of somebody else."""
    wanted: Object = copied(lws)
    wanted["metadata"].setdefault("labels", {})["example.com/team"] = "b"
    return wanted


def noted(lws: Object) -> Object:
    """Return it with an annotation of somebody else."""
    wanted: Object = copied(lws)
    wanted["metadata"].setdefault("annotations", {})["example.com/seen"] = "yes"
    return wanted


def with_variable(lws: Object) -> Object:
    """Return it with a variable of its author's for the first container of each template."""
    wanted: Object = copied(lws)
    for _, template in templates(wanted):
        template["spec"]["containers"][0].setdefault("env", []).append({"name": "MORE", "value": "1"})
    return wanted


OF_AUTHORS: Final[dict[str, Write]] = {
    name: lambda lws, file, write=write: write(lws, file)  # type: ignore[misc] # a default that binds
    for name, write in clients.OF_FILES.items()
}
OF_OTHERS: Final[dict[str, Write]] = {
    "scale and label": lambda lws, _: clients.edit(
        more := scaled(lws, lws["spec"]["replicas"] + 1), labelled(more)
    ),
    "label": lambda lws, _: clients.edit(lws, labelled(lws)),
    "annotation": lambda lws, _: clients.put(lws, noted(lws)),
}
WRITES: Final = {**OF_AUTHORS, **OF_OTHERS}
WRITTEN: Final = [
    (state, name) for state in STATES for name in WRITES if state == APPLIED or name != "annotation"
]
"""The states, and the writes that are tried in each."""
NOT_TRIED: Final = frozenset({("replace", EDITED), ("replace", WITHDRAWN), ("client-side apply", OVERSIZED)})
"""Writes of a file that lacks what others wrote, or what stays for a mount after a withdrawal.

They change the pods by themselves; a withdrawn object is not even sent to our webhooks. And a file whose
note in the annotations the API server refuses, since it is too long.
"""


def file_of(one: Stored, lws: Object) -> Object | None:
    """Return what the author of a LeaderWorkerSet wrote; None if it is not in a file, or stays as it is."""
    if one.state == EJECTED:
        return None
    name = lws["metadata"]["name"]
    files = [each for each in one.written if each["kind"] == lws["kind"]]
    return next((each for each in files if each["metadata"]["name"] == name), None)


def sent(name: str, one: Stored, lws: Object) -> Object | None:
    """Return what a client sends; None if it sends nothing, or the write is not for this object."""
    file = file_of(one, lws)
    if name in OF_AUTHORS and (file is None or (name, one.state) in NOT_TRIED):
        return None
    body = WRITES[name](lws, file or {})
    return None if body and _drops_forgery(lws, body) else body


def _drops_forgery(lws: Object, body: Object) -> bool:
    """Return whether a client drops what was forged: a file replaces the list, if it has init containers."""
    before, after = (orjson.dumps(pods(one)).decode() for one in (lws, body))
    return EVIL in before and EVIL not in after
