"""Releases of the systems around us: what of ours works with each, and how that is known.

`fusioninfer check` and docs/versions.md are made from these rows, and the oldest releases that are accepted.
Sources, where no test runs a release: k8s.io/api v0.30.14, v0.36.3, v0.37.2; `config/crd` of
kubernetes-sigs/lws v0.10.0, volcano.sh/volcano v1.15.1, sigs.k8s.io/gateway-api v1.2.0, v1.5.1, v1.6.3, and
sigs.k8s.io/gateway-api-inference-extension v1.0.0, v1.1.0, v1.4.0.
"""

from dataclasses import dataclass
from typing import Final

from catalog.engines import Version


@dataclass(frozen=True, slots=True)
class Release:
    """The releases from one on, up to the next row."""

    since: Version
    works: str
    """What works."""
    tested: str = ""
    """The release that the tests run; empty: it is known by its sources."""

    @property
    def known(self) -> str:
        """How it is known."""
        return f"tested on {self.tested}" if self.tested else "by its sources"


@dataclass(frozen=True, slots=True)
class System:
    """A system, and its releases, the oldest that works first."""

    name: str
    newest: Version
    """The newest minor release that is known."""
    releases: tuple[Release, ...]

    @property
    def oldest(self) -> Version:
        """The oldest release that works."""
        return self.releases[0].since

    def release(self, version: Version) -> Release | None:
        """Return the row of a version; None if it is older than all."""
        return next((row for row in reversed(self.releases) if version >= row.since), None)


KUBERNETES: Final = System(
    "Kubernetes",
    (1, 37),
    (
        Release((1, 30), "all: matchConditions and ValidatingAdmissionPolicy are stable from here on"),
        Release((1, 35), "all", "1.35.4"),
        Release((1, 36), "all; its own gang scheduling, off by default, is not used"),
    ),
)
LWS: Final = System(
    "LeaderWorkerSet",
    (0, 10),
    (
        Release((0, 9, 0), "all", "0.9.0"),
        Release((0, 10), "all, with the fields below; it copies metadata to StatefulSets"),
    ),
)
VOLCANO: Final = System(
    "Volcano",
    (1, 15),
    (
        Release((1, 14, 1), "all; 1.14.0 schedules no gang of several roles", "1.14.1"),
        Release((1, 15), "all: PodGroup has the same fields"),
    ),
)
GATEWAY_API: Final = System(
    "Gateway API",
    (1, 6),
    (
        Release((1, 2), "routes: timeouts of HTTPRoute are in the standard channel from here on"),
        Release((1, 4), "routes", "1.4.1"),
        Release((1, 5), "routes"),
    ),
)
EXTENSION: Final = System(
    "Inference Extension",
    (1, 6),
    (
        Release((1, 0), "routes and priorities; no routes where engines serve several ports"),
        Release((1, 1), "routes and priorities"),
        Release((1, 5), "routes and priorities", "1.5.0"),
        Release(
            (1, 6),
            "routes; without InferenceObjectives no priorities, and gie-1.2 and llm-d-0.4 do not start",
            "1.6.0",
        ),
    ),
)
SYSTEMS: Final = (KUBERNETES, LWS, VOLCANO, GATEWAY_API, EXTENSION)
