"""An object that cannot be filled, as /mutate leaves it, so that its author reads why.

The API server checks schema and labels before it calls /validate, which has the reason.
"""

from collections.abc import Iterable

from intent import Object
from intent.annotations import NOT_EXPANDED, SERVICE, UNANSWERED
from intent.errors import FieldError
from intent.shapes import labels
from intent.tree import merge
from webhook.overlay.overlay import LEADER, WORKER, group_of, pod_of, template_of, with_group


def with_containers(live: Object) -> Object:
    """Return the object with an empty list in place of each `containers: null`.

    LWS's own webhook writes the null into a template without containers (Go marshals the empty PodSpec), and
    the schema denies it before /validate could say what is wrong.
    """
    group = group_of(live)
    emptied = {
        field: {**group[field], "spec": {**group[field]["spec"], "containers": []}}
        for field in (LEADER, WORKER)
        if pod_of(template_of(live, field)).get("containers", ()) is None
    }
    return with_group(live, {**group, **emptied}) if emptied else live


def with_reason(live: Object, errors: Iterable[FieldError]) -> Object:
    """Return the object with the reason in the label that says that admission did not answer (ADR 13).

    The API server denies that label too, and shows it. So the object of the controller is not stored
    unexpanded even where /validate is not asked.
    """
    reason = next((f"{one.code}: {one.message}" for one in errors), "")
    if not reason or labels(live).get(SERVICE) != UNANSWERED:
        return live
    return merge(live, {"metadata": {"labels": {SERVICE: f"{NOT_EXPANDED}{reason}"}}})
