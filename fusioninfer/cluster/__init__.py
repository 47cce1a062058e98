"""The commands that read a cluster and judge it: `check`, `why` and `diff`.

`reader` performs all requests and returns `Answer` values; the judgements are pure functions over these.
"""
