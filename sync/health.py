"""Why the process should be restarted: a watch that hears nothing, or a reconcile that does not end.

Neither is expected. The client ends a silent watch (`kube.client.SILENCE`) and every request
(`kube.client.TIMEOUT`), so what is found here is a bug, or a proxy that answers for the API server. While the
API server does not answer at all, a restart would not help: then the process is healthy.
"""

from typing import Final

from intent.service.member import ServiceKey
from kube.client import SILENCE
from sync.watch.cache import Caches

DEAF: Final = 4 * SILENCE
"""Seconds without an answer to the list or the watch of one kind, while other requests are answered."""
STUCK: Final = 900.0
"""Seconds of one reconcile: the time of thirty requests that are all answered at their limit."""


def unhealthy(caches: Caches, begun: dict[ServiceKey, float], answered: float, now: float) -> str:
    """Return why the process should be restarted, or nothing.

    `begun` has the times at which the running reconciles began, `answered` is the time of the last answer to
    any request; all times are on one clock.
    """
    deaf = sorted(kind for kind, cache in caches.items() if now - cache.availability.heard > DEAF)
    if deaf and now - answered < SILENCE:
        return f"deaf watch: {', '.join(deaf)}"
    stuck = sorted("/".join(key) for key, since in begun.copy().items() if now - since > STUCK)
    return f"stuck reconcile: {', '.join(stuck)}" if stuck else ""
