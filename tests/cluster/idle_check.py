"""An idle controller writes nothing, and API servers send bookmarks more often than a watch may be silent.

The wait is a real one: all other intervals of the controller are shorter, or have nothing to write.
`make soak SOAK=idle` runs it.
"""

import time
from functools import partial
from typing import Final

from kube.client import SILENCE
from tests.cluster.testbed.audit import come_to_rest, words, writes
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import log_of
from tests.cluster.testbed.controllers import DECODE, MONOLITHIC, PREFILL, SERVICE, apply, pod_group, told
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

SECONDS: Final = SILENCE + 20
WAITING: Final = named(read(PREFILL), "waiting-prefill", service="waiting")


def test_for_longer_than_a_watch_may_be_silent_nothing_is_written_and_no_watch_is_given_up(
    fusioninfer: Cluster,
) -> None:
    with new_namespace(fusioninfer) as namespace:
        apply(fusioninfer, namespace, PREFILL, DECODE, MONOLITHIC, WAITING)
        for service in (SERVICE, "deepseek-r1-inference"):
            until(partial(pod_group, fusioninfer, namespace, service), f"the PodGroup of {service}")
        until(lambda: told(fusioninfer, namespace), "an Event reports the one that waits")
        come_to_rest(fusioninfer)
        log = log_of(fusioninfer, "sync")
        written, said = len(writes(fusioninfer)), len(log.read_text())

        time.sleep(SECONDS)

        given_up = [
            line
            for line in log.read_text()[said:].splitlines()
            if "list or watch failed" in line and "Timeout" in line
        ]
        assert ([words(each) for each in writes(fusioninfer)[written:]], given_up) == ([], [])
