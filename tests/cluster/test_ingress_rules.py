"""Kubernetes accepts and refuses the same Ingresses as our rules."""

import copy
from typing import Final

import pytest

from intent import Object
from tests.builders.ingresses import BROKEN_INGRESSES, GOOD_INGRESSES
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster

STRICT: Final = {"dryRun": "All", "fieldValidation": "Strict"}


def is_refused(cluster: Cluster, spec: Object) -> bool:
    try:
        obj = {"metadata": {"name": "x"}, "spec": copy.deepcopy(spec)}
        create(cluster.api, path("ingresses", "default"), obj, **STRICT)
    except ApiError:
        return True
    return False


@pytest.mark.parametrize("spec", GOOD_INGRESSES.values(), ids=GOOD_INGRESSES)
def test_a_valid_ingress_is_accepted(cluster: Cluster, spec: Object) -> None:
    assert not is_refused(cluster, spec)


@pytest.mark.parametrize("spec", [spec for spec, _ in BROKEN_INGRESSES.values()], ids=BROKEN_INGRESSES)
def test_an_invalid_ingress_is_refused(cluster: Cluster, spec: Object) -> None:
    assert is_refused(cluster, spec)
