"""Tables, and the HTML page: well-formed, escaped, and without anything to load."""

from html.parser import HTMLParser

from plan.forecast import Forecast, forecast
from plan.page import as_page
from plan.rows import table
from tests.plan.services import gang, nodes, role

DISAGGREGATED = gang("pd", role("prefill", 2), role("decode", 4, 2))


class Page(HTMLParser):
    """Collects tags that are open, and cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data


def page(plan: Forecast) -> Page:
    return Page(as_page(plan))


def test_the_page_has_the_table_of_the_plan() -> None:
    plan = forecast([DISAGGREGATED], nodes("10x8"))

    found = page(plan)

    assert found.open == []
    assert [tuple(row) for row in found.rows] == table(plan, 0)


def test_many_groups_have_a_column_for_each_role() -> None:
    many = gang("a", role("prefill"), role("decode", 1, 12, required=12))

    header, *rows = table(forecast([many], nodes("13x8")), 0)

    assert header == ("nodes", "GPUs", "prefill", "decode", "capacity", "status")
    assert [row[2:4] for row in rows[-2:]] == [("0 of 1", "0 of 12"), ("1 of 1", "12 of 12")]


def test_nothing_is_loaded_and_no_script_runs() -> None:
    found = page(forecast([DISAGGREGATED], nodes("3x8")))

    tags = {tag for tag, _ in found.attributes}
    names = {name for _, attributes in found.attributes for name in attributes}
    assert not tags & {"script", "link", "img", "iframe", "object"}
    assert not names & {"src", "href", "onclick", "onload"}
    policies = [one["content"] for tag, one in found.attributes if one.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_names_are_escaped() -> None:
    hostile = gang('<script>alert("x")</script>', role("<b>", 1, 2))

    text = as_page(forecast([hostile], nodes("1x8@pool=<i>")))

    assert "<script>" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert Page(text).open == []
