"""The HTML page: well-formed, escaped, without anything to load, and the same as the table."""

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from plan.forecast import Forecast, forecast
from plan.page import as_page
from plan.rows import table
from tests.plan.services import GPU, gang, nodes, pod, role

VOID = {"img", "meta"}
DISAGGREGATED = gang("pd", role("prefill", 2), role("decode", 4, 2))


class Page(HTMLParser):
    """Collects tags that are open, cells, and what is drawn on nodes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.drawn: Counter[tuple[str | None, str | None]] = Counter()
        self.free: Counter[str | None] = Counter()
        self.node: str | None = None
        self.title = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.attributes.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
        self.node = found.get("data-node", self.node)
        if "data-group" in found:
            self.drawn[self.node, found["data-group"]] += 1
        self.free[self.node] += int(found.get("data-free") or 0)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "title":
            self.title += data
        if self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data


def page(plan: Forecast) -> Page:
    return Page(as_page(plan))


def test_the_page_has_the_table_of_the_plan() -> None:
    plan = forecast([DISAGGREGATED], nodes("10x8"))

    found = page(plan)

    assert found.open == []
    assert [tuple(row) for row in found.rows] == table(plan, 0)


def test_many_roles_have_a_column_for_each_component_type() -> None:
    many = [role(f"r{at}-{'decode' if at else 'prefill'}", 1) for at in range(128)]

    found = table(forecast([gang("a", *many)], nodes("128x8")), 0)

    assert found[0] == ("nodes", "GPUs", "prefiller", "decoder", "capacity", "status")
    assert [row[2:4] for row in found[1:]] == [
        *[("0 of 1", "0 of 127")] * (len(found) - 2),
        ("1 of 1", "127 of 127"),
    ]


@pytest.mark.parametrize("count", [5, 7, 10])
def test_the_drawing_has_each_pod_of_started_groups_on_one_node(count: int) -> None:
    plan = forecast([DISAGGREGATED], nodes(f"{count}x8"))

    found = page(plan)

    started = {
        plan.workloads[0].label(key): plan.workloads[0].roles[key[0]].size
        for _, key in plan.steps[-1].started
    }
    drawn: Counter[str | None] = Counter()
    for (_, group), pods in found.drawn.items():
        drawn[group] += pods
    assert drawn == started
    assert found.free.total() == plan.idle.accelerators


def test_nothing_is_loaded_and_no_script_runs() -> None:
    found = page(forecast([DISAGGREGATED], nodes("3x8")))

    tags = {tag for tag, _ in found.attributes}
    names = {name for _, attributes in found.attributes for name in attributes}
    assert not tags & {"script", "link", "img", "iframe", "object"}
    assert not names & {"src", "href", "onclick", "onload"}
    policies = [one["content"] for tag, one in found.attributes if one.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_one_group_of_one_gpu_is_no_plural() -> None:
    text = as_page(forecast([gang("a", role("worker", 1, gpus=1))], nodes("1x2")))

    assert "1 groups" not in text
    assert "1 GPUs" not in text


def test_names_are_escaped() -> None:
    hostile = gang('<script>alert("x")</script>', role("<b>", 1))

    text = as_page(forecast([hostile], nodes("1x8@pool=<i>")))

    assert "<script>" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert Page(text).open == []


def test_pods_of_others_are_drawn() -> None:
    used = [replace(one, used={GPU: 3000}) for one in nodes("1x8")]

    found = page(forecast([DISAGGREGATED], used))

    assert [one.get("data-other") for _, one in found.attributes if "data-other" in one] == ["3"]
    assert found.free.total() == 5


def test_what_is_free_is_not_known_where_claims_are_not() -> None:
    claims = gang("x", role("worker", 1, pod=replace(pod(1), unknown=("claim gpus: why",))))

    text = as_page(forecast([claims], nodes("1x8")))

    assert "free<small>not known</small>" in text
    assert "claim gpus: why" in text
    assert "data-free" not in text


def test_more_nodes_than_can_be_looked_at_are_counted() -> None:
    assert "100 more nodes are not drawn" in as_page(forecast([DISAGGREGATED], nodes("600x8")))
