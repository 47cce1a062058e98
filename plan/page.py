"""A plan as one HTML page: the tables, and the sentences below them. It loads nothing, and runs no script."""

import html
from collections.abc import Iterator
from typing import Final

from intent.errors import counted, printable
from plan.forecast import Forecast
from plan.rows import tables
from plan.sentences import lists

MOST_TABLES: Final = 50
HEAD: Final = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #b9b9c3; padding: .2rem .4rem; text-align: left; }
</style>
"""


def escape(text: str) -> str:
    """Return a text that a page shows as it is."""
    return html.escape(printable(text))


def as_page(plan: Forecast) -> str:
    """Render a plan."""
    title = escape(_title(plan))
    body = "".join(f"{line}\n" for line in _lines(plan))
    return f"{HEAD}<title>{title}</title></head><body>\n<h1>{title}</h1>\n{body}</body></html>\n"


def _title(plan: Forecast) -> str:
    names = [one.title for one in plan.workloads[:3]]
    more = f" and {len(plan.workloads) - 3} more" if len(plan.workloads) > 3 else ""
    last = plan.steps[-1]
    nodes, gpus = counted(last.nodes, "node"), counted(last.accelerators, "GPU")
    return f"{', '.join(names)}{more} on {nodes} with {gpus}"


def _lines(plan: Forecast) -> Iterator[str]:
    for title, (header, *rows) in tables(plan, MOST_TABLES):
        yield f"<h2>{escape(title or 'All services')}</h2><div class='wide'><table>"
        yield _row("th", header)
        yield from (_row("td", row) for row in rows)
        yield "</table></div>"
    for title, lines in lists(plan).items():
        if lines:
            yield f"<h2>{title}</h2><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
