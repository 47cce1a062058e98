"""What the loop takes in: one tenant's object, a missing right or a deaf connection costs nobody else anything.

The loop of these tests is one of its own, in place of the usual one.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from tests.cluster.testbed.api import path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.control_plane import log_of, start_again, stop_process
from tests.cluster.testbed.loops import (
    DECODE,
    PREFILL,
    SERVICE,
    apply,
    becomes,
    kubeconfig_through,
    loops,
    metric,
    offline,
    pod_group,
)
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import wait_sync
from tests.cluster.testbed.processes import alive
from tests.cluster.testbed.relay import deafen, relay
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.wait import until
