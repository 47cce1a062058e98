"""The launchers: each says what a container runs, so that the pods of a group run one engine.

A launcher is a function of what one template starts and of the group's size. To add one: a module, a row.
"""

from collections.abc import Callable
from typing import Final

from intent.launch import RAY_SYMMETRIC, Launch
from webhook.launchers.container import Container
from webhook.launchers.ray_symmetric import ray_symmetric

Launcher = Callable[[Launch, int], Container]

LAUNCHERS: Final[dict[str, Launcher]] = {RAY_SYMMETRIC: ray_symmetric}
