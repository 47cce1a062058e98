"""Markdown that is made from code: tables, and the blocks of a page."""

import re
from collections.abc import Mapping
from typing import Final

BLOCK: Final = re.compile(r"(<!-- ([a-z0-9-]+): made from[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
"""A block between two comments, of which the first names it and its source."""


def table(rows: list[dict[str, str]]) -> str:
    """Write rows as a table."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def filled(name: str, page: str, blocks: Mapping[str, str]) -> str:
    """Return a page with the blocks written anew; it must have each of them once, and no other one."""
    there = sorted(found[2] for found in BLOCK.finditer(page))
    if there != sorted(blocks):
        raise ValueError(f"{name} has the blocks {', '.join(there)}, not {', '.join(sorted(blocks))}")
    return BLOCK.sub(lambda found: found[1] + blocks[found[2]] + found[4], page)
