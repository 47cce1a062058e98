"""The controller: creates the objects that admission cannot create, and reports status.

The path of a change:

1. `runtime` lists and watches (`reflector`), keeps a projection of each object (`cache`), and hands out the
   services to reconcile (`queue`). `kinds` names the kinds and their projections, which are in `observed`.
2. `controller` takes one service and builds a snapshot of it (`runtime.observe`).
3. `desired` computes the objects that the service should have: the gang (`plan`), the routes, the manifests
   (`render`).
4. `writer` applies the differences; `owners` decides who owns an object; `status` computes
   the status; `runtime.events` writes Events.

Only `runtime`, `controller`, `writer` and `owners` do I/O.
"""
