"""What to add: one concern a module, one tuple that names them all.

A mutator sees the Intent and gives an overlay. It knows nothing of its neighbours, of the object, or of
what it put on last time; `webhook.expand` sees to that. To leave a concern out, take it from the tuple.
"""

from collections.abc import Callable
from typing import Final

from intent.lws import Intent
from intent.settings import Settings
from webhook.mutate.dns import dns
from webhook.mutate.env import env
from webhook.mutate.gang import gang
from webhook.mutate.labels import labels
from webhook.mutate.launch import launch
from webhook.mutate.probes import probes
from webhook.mutate.shm import shm
from webhook.mutate.sidecar import sidecar
from webhook.mutate.split import split
from webhook.overlay.overlay import Overlay

Mutator = Callable[[Intent, Settings], Overlay]

MUTATORS: Final[tuple[Mutator, ...]] = (labels, gang, split, launch, env, shm, probes, dns, sidecar)
