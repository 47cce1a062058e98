"""The rights of a controller for gangs alone: what the chart leaves out with `sync.gangsOnly`."""

from typing import Final

import yaml

from hack.manifests.objects import MANIFESTS
from intent.settings import Settings
from sync.kinds import ROUTE_KINDS, watched

START: Final = "{{- if not .Values.sync.gangsOnly }}\n"
END: Final = "{{- end }}\n"
ROUTED: Final = {kind.resource.plural for kind in ROUTE_KINDS}


def resources(text: str) -> set[str]:
    """Return the resources of rules."""
    return {resource for rule in yaml.safe_load(text) for resource in rule["resources"]}


def test_only_the_kinds_of_routes_are_left_out() -> None:
    text = (MANIFESTS / "chart" / "templates" / "rbac.yaml").read_text()
    _, _, rest = text.partition(START)
    left_out, _, kept = rest.partition(END)
    rules, _, _ = kept.partition("\n{{-")

    assert resources(left_out) == ROUTED | {"clusterroles"}
    assert not resources(rules) & ROUTED


def test_what_is_watched_without_them_needs_no_right_on_them() -> None:
    gangs = watched(Settings(routes=False, api_services=False))

    assert not {kind.resource.plural for kind in gangs} & ROUTED
