"""Tables, and the HTML page: well-formed, escaped, and without anything to load."""

from xml.etree import ElementTree as ET

from plan.forecast import Forecast, forecast
from plan.show import as_page, as_text, tables
from tests.plan.workloads import gang, nodes, role

DISAGGREGATED = gang("pd", role("prefill", 2), role("decode", 4, 2))


def page(plan: Forecast) -> ET.Element:
    """Return the page of a plan, which is XML too."""
    return ET.fromstring(as_page(plan))  # noqa: S314 - it is ours


def test_the_page_has_the_text_of_the_plan() -> None:
    plan = forecast([DISAGGREGATED], nodes("10x8"))

    (text,) = page(plan).iter("pre")
    assert text.text == f"\n{as_text(plan)}"


def test_many_groups_have_a_column_for_each_role() -> None:
    many = gang("a", role("prefill"), role("decode", 1, 12, required=12))

    ((_, (header, *rows)),) = tables(forecast([many], nodes("13x8")))

    assert header == ("nodes", "GPUs", "prefill", "decode", "capacity", "status")
    assert [row[2:4] for row in rows[-2:]] == [("0 of 1", "0 of 12"), ("1 of 1", "12 of 12")]


def test_nothing_is_loaded_and_no_script_runs() -> None:
    found = [*page(forecast([DISAGGREGATED], nodes("3x8"))).iter()]

    policies = [one.attrib["content"] for one in found if one.attrib.get("http-equiv")]
    assert not {one.tag for one in found} & {"script", "link", "img", "iframe", "object"}
    assert not {name for one in found for name in one.attrib} & {"src", "href", "onclick", "onload"}
    assert policies == ["default-src 'none'"]


def test_names_are_escaped() -> None:
    hostile = gang('<script>alert("x")</script>', role("<b>", 1, 2))

    found = page(forecast([hostile], nodes("1x8@pool=<i>")))

    assert not {one.tag for one in found.iter()} & {"script", "b", "i"}
    assert '<script>alert("x")</script>: 2 groups' in "".join(found.itertext())
