"""The pages of which blocks are generated."""

from collections.abc import Callable, Mapping
from typing import Final

from hack.manifests.objects import DOCS
from hack.markdown import filled
from hack.pages import gitops, inferenceservice, operations, reference, shown, states, versions

PAGES: Final[Mapping[str, Callable[[], Mapping[str, str]]]] = {
    "README.md": reference.readme,
    "docs/annotations.md": reference.annotations,
    "docs/examples.md": shown.examples,
    "docs/gitops.md": gitops.blocks,
    "docs/inferenceservice.md": inferenceservice.blocks,
    "docs/launchers.md": reference.launchers,
    "docs/operations.md": operations.operations,
    "docs/performance.md": shown.performance,
    "docs/routing.md": reference.routing,
    "docs/security.md": operations.security,
    "docs/status.md": states.status,
    "docs/stories.md": shown.stories,
    "docs/troubleshooting.md": states.troubleshooting,
    "docs/versions.md": versions.blocks,
    "docs/webhook.md": reference.webhook,
}


def texts(page: str) -> Mapping[str, str]:
    """Return a page."""
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    return {page: filled(page, text, PAGES[page]())}
