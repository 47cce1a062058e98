"""The controller: creates the objects that admission cannot create, and reports status.

The path of a change:

1. `runtime.reflector` lists and watches each kind, `runtime.intake` reads the events, `runtime.cache` holds a
   projection of each object, and `runtime.queue` returns the services to reconcile. `kinds` is the table of
   kinds; `observed` has their projections.
2. `controller` takes one service and builds its snapshot (`runtime.snapshots`).
3. `desired` computes the objects that the service should have (`desired.service`): the gang (`desired.gang`),
   the routes (`desired.routes`), and their manifests (`desired.render`).
4. `writer` applies the differences after a dry run (`runtime.apply_history`, `runtime.owners`); `refusals`
   explains what it did not write, and `changes` what it wrote. `status` computes the status, and
   `runtime.events` records Events. `state` is what is known of a service from earlier reconciles.

Only `runtime`, `controller` and `writer` do I/O.

The defaults of the command's flags are here, since its help shows them without loading the controller.
"""

from typing import Final

WORKERS: Final = 8
"""The number of services of one namespace that are reconciled at once."""
LEASE_DURATION: Final = 15.0
"""Seconds, as the next two (`runtime.lease`)."""
RENEW_DEADLINE: Final = 10.0
RETRY_PERIOD: Final = 2.0
