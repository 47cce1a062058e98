"""The command of a next release, whose launcher writes other args and one more port."""

from dataclasses import replace

from fusioninfer.cli import main
from intent.launch import RAY_SYMMETRIC, Launch
from webhook.launchers import LAUNCHERS
from webhook.launchers.container import Container
from webhook.launchers.ray_symmetric import ray_symmetric


def altered(launch: Launch, size: int) -> Container:
    """Launch as this release does, and a little more."""
    container = ray_symmetric(launch, size)
    return replace(
        container,
        args=(*(container.args or ()), "--disable-log-stats"),
        ports=(*container.ports, 8265),
    )


if __name__ == "__main__":
    LAUNCHERS[RAY_SYMMETRIC] = replace(LAUNCHERS[RAY_SYMMETRIC], write=altered)
    main()
