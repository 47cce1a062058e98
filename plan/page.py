"""A plan as one HTML page: the tables, and a drawing of groups on nodes.

It loads nothing, and runs no script. Every mark is a word or a label, so the page is readable without colour.
"""

import html
from collections.abc import Iterable, Iterator
from typing import Final

from intent.errors import printable
from plan.amounts import accelerators
from plan.forecast import Forecast
from plan.rows import overview, table
from plan.sentences import counted, further, idle, short, size, waiting
from plan.simulation import WorkloadGroup
from plan.supply import Supply
from plan.words import PENDING, SCHEDULED, UNCERTAIN

MOST_DRAWN: Final = 500
"""The most nodes that are drawn."""
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
.nodes { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .75rem; }
.node { border: 2px solid #55555f; border-radius: 6px; padding: .4rem; }
.node h3 { font-size: .85rem; margin: 0 0 .3rem; font-weight: 600; overflow-wrap: anywhere; }
.node h3 span { font-weight: 400; color: #55555f; }
.slots { display: flex; flex-wrap: wrap; gap: 3px; }
.slot { flex: 1 1 6rem; border: 1px solid #1b1b1f; border-radius: 4px; padding: .15rem .35rem;
  font-size: .8rem; overflow-wrap: anywhere; }
.slot.free { border-style: dashed; color: #55555f; background: repeating-linear-gradient(45deg, #fff 0 6px,
  #f1f1f5 6px 8px); }
.slot.other { background: #e4e4ea; } .slot small { display: block; color: #33333b; }
"""
TINTS: Final = ("#dfeaff", "#dff3e4", "#fff0d1", "#fbe1ee", "#e6e0fb", "#d9f2f2")


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
    yield "<h2>Groups on nodes</h2>"
    yield from _drawing(plan)
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


# --- the drawing ------------------------------------------------------------------------------------


def _drawing(plan: Forecast) -> Iterator[str]:
    """Yield a box for each node, with the pods on it and what is free."""
    on_node: dict[int, list[tuple[WorkloadGroup, int]]] = {}
    for key, pods in plan.placed:
        for pod, node in pods.items():
            on_node.setdefault(node, []).append((key, pod))
    yield '<div class="nodes">'
    for at, one in enumerate(plan.nodes[:MOST_DRAWN]):
        yield from _node(plan, one, on_node.get(at, []))
    yield "</div>"
    if (more := len(plan.nodes) - MOST_DRAWN) > 0:
        yield f"<p>{more} more nodes are not drawn.</p>"


def _node(plan: Forecast, node: Supply, pods: list[tuple[WorkloadGroup, int]]) -> Iterator[str]:
    whole, used = accelerators(node.allocatable), accelerators(node.used)
    marks = "".join(f" {key}={value}" for key, value in sorted(node.labels.items()) if node.partial)
    yield f'<div class="node" data-node="{escape(node.name)}">'
    yield f"<h3>{escape(node.name)} <span>{counted(whole, 'GPU')}{escape(marks)}</span></h3>"
    yield '<div class="slots">'
    for key, pod in sorted(pods):
        one = plan.workloads[key[0]]
        role = one.roles[key[1][0]]
        gpus = accelerators(dict(one.demand(key[1], pod).requests))
        used += gpus
        label = role.label(key[1][1])
        place = "leader" if pod == 0 else f"worker {pod}"
        tint = TINTS[key[0] % len(TINTS)]
        service = f"{short(plan, key[0])} " if len(plan.workloads) > 1 else ""
        yield (
            f'<div class="slot" style="background:{tint};flex-grow:{max(1, gpus)}" '
            f'data-service="{escape(one.title)}" data-group="{escape(label)}" data-pod="{pod}">'
            f"{escape(service + label)}<small>{place}, {counted(gpus, 'GPU')}</small></div>"
        )
    if other := accelerators(node.used):
        others = counted(other, "GPU")
        yield f'<div class="slot other" data-other="{other}">other pods<small>{others}</small></div>'
    if plan.unknown:
        yield '<div class="slot free">free<small>not known</small></div>'
    elif (free := whole - used) > 0:
        yield f'<div class="slot free" data-free="{free}">free<small>{counted(free, "GPU")}</small></div>'
    yield "</div></div>"
