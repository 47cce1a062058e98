"""Launchers, the images that they are for, and the releases of Ray in those."""

from typing import Final, NamedTuple

from tests.tiers import WHOLE


class Run(NamedTuple):
    """A launcher, an image that it is for, a release of Ray as the image has it, and words that it adds."""

    launcher: str
    image: str
    ray: str
    behind: tuple[str, ...] = ()


EXECUTOR: Final = ("--distributed-executor-backend", "ray")
SYMMETRIC: Final = Run("ray-symmetric", "vllm/vllm-openai:v0.17.1", "2.54.0", EXECUTOR)
"""The first release whose `ray symmetric-run` works over several nodes."""
START: Final = Run("ray-start", "vllm/vllm-openai:v0.11.0", "2.49.2")
"""The last release without `ray symmetric-run`."""
NEWEST: Final = Run("ray-symmetric", "vllm/vllm-openai:v0.17.1", "2.60.0", EXECUTOR)
BROKEN: Final = Run("ray-symmetric", "vllm/vllm-openai:v0.15.0", "2.53.0", EXECUTOR)
"""The last release whose workers never find the head (ray-project/ray#59795)."""
INSTEAD: Final = Run("ray-start", BROKEN.image, BROKEN.ray, EXECUTOR)
"""What the warning says would work."""
ALL: Final = WHOLE
"""Whether each launch is tried in each way (`make soak SOAK=ray`); `make e2e` tries one of each launcher."""
