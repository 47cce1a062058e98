"""A hook of MkDocs: a code leads to what docs/codes.md says of it, and the name of a page to that page."""

import re
from typing import Any, Final

PAGE: Final = "codes.md"
_TOKEN: Final = re.compile(r"<(/?)(\w+)[^>]*>|\bFI\d{3}\b")
_NAME: Final = re.compile(r"(?:<code>)?\bdocs/([a-z-]+)\.md\b(?:</code>)?")
"""A page as messages and remedies name it."""
_LEFT: Final = frozenset({"a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "script", "style"})
"""Elements whose text stays: links, examples and headings."""


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Return the page with links; MkDocs calls this once for each page."""
    above = "../" * page.url.count("/")
    named = _NAME.sub(lambda name: f'<a href="{above}{name[1]}/">{name[1]}</a>', html)
    return named if page.file.src_uri == PAGE else linked(named, f"{above}codes/")


def linked(html: str, codes: str) -> str:
    """Return HTML in which the codes outside of links, examples and headings lead to a page.

    >>> linked("<p>FI307 <code>FI307</code></p>", "codes/")
    '<p><a href="codes/#fi307">FI307</a> <code>FI307</code></p>'
    """
    inside = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal inside
        if found[2] is None:
            return found[0] if inside else f'<a href="{codes}#{found[0].lower()}">{found[0]}</a>'
        if found[2] in _LEFT:
            inside += -1 if found[1] else 1
        return found[0]

    return _TOKEN.sub(replaced, html)
