"""The HTML page of a plan in headless Chromium: what it shows, and what it asks of the network.

`make soak SOAK=plan` runs it. It needs Debian's package chromium.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from plan.forecast import forecast
from plan.page import as_page
from plan.rows import table
from tests.plan.services import gang, nodes, role
from tests.plan.test_page import Page

FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--no-default-browser-check"),
    *("--disable-extensions", "--disable-domain-reliability", "--window-size=1200,1400"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
NO_ORIGIN: Final = "not an origin"
PLANS: Final = {
    "one service": forecast([gang("pd", role("prefill", 2), role("decode", 4, 2))], nodes("7x8")),
    "two services": forecast(
        [gang("pd", role("prefill", 2), role("decode", 4, 2)), gang("small", role("worker", 2, 3, gpus=4))],
        nodes("2x4@pool=a,10x8"),
    ),
}


def opened(text: str, folder: Path) -> tuple[Page, list[str]]:
    """Open a page; return what the browser made of it, and the addresses that the page asked for."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.fail("chromium is not installed: apt-get install chromium")
    page, log = folder / "plan.html", folder / "net.json"
    page.write_text(text)
    own = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}")
    done = subprocess.run(
        (browser, *FLAGS, *own, "--dump-dom", page.as_uri()),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return Page(done.stdout), asked(json.loads(log.read_text()))


def asked(log: dict[str, Any]) -> list[str]:
    """Return the addresses that a page asked for.

    Requests of the browser itself, for its clock and its components, have no origin; no name is resolved.
    """
    found = [one.get("params", {}) for one in log["events"]]
    return sorted(
        {one["url"] for one in found if "url" in one and one.get("initiator", NO_ORIGIN) != NO_ORIGIN}
    )


@pytest.mark.parametrize("name", PLANS)
def test_the_browser_shows_the_tables(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]

    page, _ = opened(as_page(plan), tmp_path)

    expected = [row for at in range(len(plan.workloads)) for row in table(plan, at)]
    assert [row for row in map(tuple, page.rows) if row in expected] == expected


def test_a_wide_table_scrolls_and_the_page_does_not(tmp_path: Path) -> None:
    """The script is of this test; the policy of the page forbids any."""
    plan = forecast([gang("wide", role("a-long-name-of-a-role-that-does-not-break", 1, 12))], nodes("12x8"))
    script = "<script>document.title=document.documentElement.scrollWidth-innerWidth</script></body>"
    text = as_page(plan).replace("default-src 'none'", "default-src 'unsafe-inline'")

    page, _ = opened(text.replace("</body>", script), tmp_path)

    assert int(page.title) <= 0


def test_no_request_leaves_the_machine(tmp_path: Path) -> None:
    _, addresses = opened(as_page(PLANS["one service"]), tmp_path)

    assert addresses == []
