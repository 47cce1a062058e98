"""Why the process should be restarted: a watch that hears nothing.

None is expected, as the client ends a silent watch (`kube.client.SILENCE`): what is found here is a bug, or a
proxy that answers for the API server. While the API server does not answer at all, a restart would not help:
then the process is healthy.
"""

from typing import Final

from kube.client import SILENCE
from sync.watch.cache import Caches

DEAF: Final = 4 * SILENCE
"""Seconds without an answer to the list or the watch of one kind, while other requests are answered."""


def unhealthy(caches: Caches, answered: float, now: float) -> str:
    """Return why the process should be restarted, or nothing.

    `answered` is the time of the last answer to any request; all times are on one clock.
    """
    deaf = sorted(kind for kind, cache in caches.items() if now - cache.availability.heard > DEAF)
    return f"deaf watch: {', '.join(deaf)}" if deaf and now - answered < SILENCE else ""
