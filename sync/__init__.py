"""The controller: creates the objects that admission cannot create, and reports status.

The path of a change:

1. `watch.reflector` lists and watches each kind, `watch.intake` reads the events, `watch.cache` holds a
   projection of each object, and `queue` returns the services to reconcile. `kinds` is the table of kinds;
   `observed` has their projections.
2. `controller` takes one service and builds its snapshot (`observe`).
3. `parts.service` computes the objects that the service should have, part by part.
4. `write` applies the differences as `decide` says, after a dry run, and after `live` has read the owners.
   `status` computes the status. `changes` says what was written, and `events` records it, and findings, as
   Events. `state` is what is known of a service from earlier reconciles.

The defaults of the command's flags are here, since its help shows them without loading the controller.
"""

from typing import Final

WORKERS: Final = 8
"""The number of services of one namespace that are reconciled at once."""
LEASE_DURATION: Final = 15.0
"""Seconds, as the next two (`lease`)."""
RENEW_DEADLINE: Final = 10.0
RETRY_PERIOD: Final = 2.0
