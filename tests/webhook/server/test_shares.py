"""Whoever waits gets an equal part of the time, whether it has a queue or comes back after each turn."""

from itertools import count

import pytest

from webhook.server.callers import Peer
from webhook.server.shares import Shares


def part(turns: float, pause: int, *, one_peer: bool) -> float:
    """Return the part of the time of a caller that comes back `pause` turns after its own, beside a queue."""
    back = Peer(one_peer)
    queued = back if one_peer else Peer()
    shares: Shares[int] = Shares(float("inf"), 0.0, lambda _one: None)
    items = count()
    for _ in range(20):
        shares.add(queued, b"queued", next(items))
    used = {b"back": 0.0, b"queued": 0.0}
    returns = 0
    for at in range(1000):
        if at == returns:
            shares.add(back, b"back", next(items))
        found = shares.pop()
        assert found is not None
        peer, name, _item = found
        if name == b"back":
            returns = at + pause
        else:
            shares.add(queued, name, next(items))
        took = turns if name == b"back" else 1.0
        shares.charge(peer, name, took - 1)
        used[name] += took
    return used[b"back"] / sum(used.values())


@pytest.mark.parametrize("one_peer", [False, True])
@pytest.mark.parametrize(("turns", "pause"), [(1.0, 1), (1.0, 2), (50.0, 1), (50.0, 2)])
def test_who_comes_back_after_a_turn_gets_no_more_time(turns: float, pause: int, *, one_peer: bool) -> None:
    assert 0.4 < part(turns, pause, one_peer=one_peer) < 0.6


def test_nothing_is_remembered_of_who_neither_waits_nor_owes() -> None:
    shares: Shares[int] = Shares(float("inf"), 0.0, lambda _one: None)
    for at in range(100):
        peer = Peer()
        shares.add(peer, b"", at)
        shares.pop()
        shares.charge(peer, b"", 3.0)

    assert len(shares.root.parts) <= 4
