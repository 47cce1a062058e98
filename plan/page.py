"""A plan as one HTML page: the tables, and the sentences below them. It loads nothing, and runs no script."""

import html
from collections.abc import Iterator
from typing import Final

from intent.errors import printable
from plan.forecast import Forecast
from plan.rows import lines, tables

HEAD: Final = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #b9b9c3; padding: .2rem .4rem; text-align: left; }
</style>
<title>Capacity</title></head><body>
"""


def as_page(plan: Forecast) -> str:
    """Render a plan."""
    return "".join((HEAD, *(f"{line}\n" for line in _lines(plan)), "</body></html>\n"))


def _lines(plan: Forecast) -> Iterator[str]:
    for title, (header, *rows) in tables(plan):
        yield f"<h2>{_escaped(title)}</h2><div class='wide'><table>"
        yield _row("th", header)
        yield from (_row("td", row) for row in rows)
        yield "</table></div>"
    yield from (f"<p>{_escaped(line)}</p>" for line in lines(plan))


def _row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_escaped(cell)}</{tag}>' for cell in cells)}</tr>"


def _escaped(text: str) -> str:
    return html.escape(printable(text))
