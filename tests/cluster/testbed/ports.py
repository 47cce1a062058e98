"""Free ports on loopback."""

import socket
from collections.abc import Iterable
from contextlib import ExitStack


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Return a free TCP port for each name, all different."""
    with ExitStack() as held:
        sockets = {name: held.enter_context(socket.socket()) for name in names}
        for each in sockets.values():
            each.bind(("127.0.0.1", 0))
        return {name: each.getsockname()[1] for name, each in sockets.items()}
