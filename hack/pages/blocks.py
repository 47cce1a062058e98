"""The pages of which blocks are generated: those that are kept in the tree, and those that the site fills."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hack.manifests.objects import DOCS
from hack.markdown import filled
from hack.pages import codes, gitops, inferenceservice, operations, reference, shown, states, versions

Pages = Mapping[str, Callable[[], Mapping[str, str]]]
WRITTEN: Final[Pages] = {
    "README.md": reference.readme,
    "docs/annotations.md": reference.annotations,
    "docs/examples.md": shown.examples,
    "docs/gitops.md": gitops.blocks,
    "docs/launchers.md": reference.launchers,
    "docs/routing.md": reference.routing,
    "docs/versions.md": versions.blocks,
    "docs/webhook.md": reference.webhook,
}
"""Short tables that readers of the repository need: `make generate` writes them."""
BUILT: Final[Pages] = {
    "docs/codes.md": codes.blocks,
    "docs/engines.md": reference.engines,
    "docs/fields.md": inferenceservice.blocks,
    "docs/metrics.md": operations.metrics,
    "docs/performance.md": shown.performance,
    "docs/security.md": operations.security,
    "docs/status.md": states.status,
    "docs/troubleshooting.md": states.troubleshooting,
}
"""Long tables: they are made when the site is built, and are in no commit."""


def texts(page: str) -> Mapping[str, str]:
    """Return a page of the tree with its blocks."""
    return {page: _filled(page, WRITTEN)}


def write_built(folder: Path) -> None:
    """Write the pages that the site fills into a folder, from which its build takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in BUILT:
        (folder / Path(page).name).write_text(_filled(page, BUILT), encoding="utf-8")


def _filled(page: str, pages: Pages) -> str:
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    return filled(page, text, pages[page]())
