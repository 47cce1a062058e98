"""A plan as one HTML page: the tables, and the sentences below them.

It loads nothing, and runs no script. Every mark is a word or a label, so the page is readable without colour.
"""

import html
from collections.abc import Iterable, Iterator
from typing import Final

from intent.errors import printable
from plan.forecast import Forecast
from plan.rows import overview, table
from plan.sentences import counted, further, idle, size, waiting
from plan.words import PENDING, SCHEDULED, UNCERTAIN

MOST_TABLES: Final = 50
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
STYLE: Final = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
  color: #1b1b1f; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  font-size: .85rem; }
th, td { border: 1px solid #b9b9c3; padding: .2rem .4rem; text-align: left; }
th:last-child { min-width: 10rem; }
th { background: #f1f1f5; } td.number { text-align: right; white-space: nowrap; }
td.scheduled { background: #dff3e4; font-weight: 600; } td.pending { color: #55555f; font-style: italic; }
td.uncertain { border-style: dashed; }
"""


def escape(text: str) -> str:
    """Return a text that a page shows as it is."""
    return html.escape(printable(text))


def as_page(plan: Forecast) -> str:
    """Render a plan."""
    return "".join(f"{line}\n" for line in _lines(plan))


def _lines(plan: Forecast) -> Iterator[str]:
    title = _title(plan)
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
    yield f"<h1>{escape(title)}</h1>"
    if len(plan.workloads) > 1:
        yield "<h2>All services</h2>"
        yield from _table("overview", overview(plan))
    for at, one in enumerate(plan.workloads[:MOST_TABLES]):
        yield f"<h2>{escape(size(plan, at))}</h2>"
        yield from _table(one.title, table(plan, at))
    yield from _list("Waiting", waiting(plan))
    yield from _list("Further nodes", further(plan))
    yield f"<p>{escape(idle(plan))}</p>"
    yield from _list("Notes", plan.notes)
    yield "</body></html>"


def _title(plan: Forecast) -> str:
    names = [one.title for one in plan.workloads[:3]]
    more = f" and {len(plan.workloads) - 3} more" if len(plan.workloads) > 3 else ""
    last = plan.steps[-1]
    nodes, gpus = counted(last.nodes, "node"), counted(last.accelerators, "GPU")
    return f"{', '.join(names)}{more} on {nodes} with {gpus}"


# --- tables -----------------------------------------------------------------------------------------


def _table(name: str, rows: list[tuple[str, ...]]) -> Iterator[str]:
    header, *others = rows
    yield f'<div class="wide"><table data-table="{escape(name)}"><thead><tr>'
    yield "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    yield "</tr></thead><tbody>"
    for row in others:
        yield f"<tr>{''.join(_cell(at, cell) for at, cell in enumerate(row))}</tr>"
    yield "</tbody></table></div>"


def _cell(at: int, cell: str) -> str:
    known = cell if cell in {SCHEDULED, PENDING, UNCERTAIN} else "number" if at < 2 else ""
    return f'<td class="{known}">{escape(cell)}</td>' if known else f"<td>{escape(cell)}</td>"


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = [f"<li>{escape(line)}</li>" for line in lines]
    if found:
        yield f"<h2>{escape(title)}</h2>"
        yield f"<ul>{''.join(found)}</ul>"
