"""The thin loop: the only code that talks to the API server.

What becomes of a change, and where:

1. `reflector` lists and watches, `cache` keeps a row of each object. `kinds` says which objects, and what is
   kept of them by `rows`, `stored`, `pod_group`, `requested`; `places`, where those meet that share no label.
2. `queue` hands out services, `loop` takes one; `observe` puts together all that is seen of it, a `look`.
3. `wanted` decides what it should have: `plan` the gang, `routes` the routes; `render` writes the objects.
4. `writer` applies what differs; `owners` reads who owns an object before one is adopted or deleted; `report`
   and `status` say how things are, `events` what stands in the way.

Beside these: `client`, `request`, `wire`, the door to the API server; `lease`, `clock`, `backoff`, `pause`,
who may write and when; `server`, `metrics`, what others ask of the process; `names`, `volcano`; `preview`,
step 3 on files.
"""
