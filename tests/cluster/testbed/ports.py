"""Free ports on loopback, for servers that are started later, and again.

What the kernel hands out may be a client's port the next moment (`ip_local_port_range`, from 32768), and many
tests run at once. So these lie below that range, in blocks: each process takes one that is nobody's.
"""

import socket
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import cycle
from typing import Final

SIZE: Final = 400
BLOCKS: Final = tuple(range(16_000, 32_000, SIZE))


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Return a free TCP port for each name, all different."""
    return {name: next(port for port in _numbers() if _is_free(port)) for name in names}


@cache
def _numbers() -> Iterator[int]:
    """Return the numbers of a block, again and again; so no port comes back soon."""
    first = next(block for block in BLOCKS if _is_ours(block))
    return cycle(range(first, first + SIZE))


def _is_ours(block: int) -> bool:
    """Reserve a block if it is free. Its name (`unix(7)`, abstract) is released when this process ends."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0fusioninfer-ports-{block}")
    except OSError:
        name.close()
        return False
    name.detach()
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
