"""A hook of MkDocs: pages with long tables come from build/pages, which `python -m hack pages` fills."""

from pathlib import Path
from typing import Any, Final

FILLED: Final = Path(__file__).parents[2] / "build" / "pages"


def on_page_read_source(page: Any, **_: Any) -> str | None:
    """Return the text of a page that was filled; MkDocs reads all others itself."""
    file = FILLED / page.file.src_uri
    return file.read_text(encoding="utf-8") if file.is_file() else None
