"""The HTML page of a plan in headless Chromium: what it draws, and what it asks of the network.

`make soak SOAK=plan` runs it. It needs Debian's package chromium.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from plan.forecast import Forecast, forecast
from plan.page import as_page
from plan.rows import table
from tests.plan.services import gang, nodes, role
from tests.plan.test_page import Page

FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--no-default-browser-check"),
    *("--disable-extensions", "--disable-domain-reliability", "--window-size=1200,1400"),
)
LOCAL: Final = ("file:", "data:", "chrome:", "about:")
PLANS: Final = {
    "one service": forecast([gang("pd", role("prefill", 2), role("decode", 4, 2))], nodes("7x8")),
    "two services": forecast(
        [gang("pd", role("prefill", 2), role("decode", 4, 2)), gang("small", role("worker", 2, 3, gpus=4))],
        nodes("2x4@pool=a,10x8"),
    ),
}


def opened(plan: Forecast, folder: Path) -> tuple[Page, list[str]]:
    """Open a page; return what the browser made of it, and the addresses that it asked for."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.fail("chromium is not installed: apt-get install chromium")
    page, log = folder / "plan.html", folder / "net.json"
    page.write_text(as_page(plan))
    own = (
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={log}",
        "--net-log-capture-mode=Everything",
    )
    done = subprocess.run(
        (browser, *FLAGS, *own, "--dump-dom", page.as_uri()),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return Page(done.stdout), asked(json.loads(log.read_text()))


def asked(log: dict[str, Any]) -> list[str]:
    """Return the addresses in a network log that are not on this machine."""
    found = (one.get("params", {}).get("url", "") for one in log["events"])
    return sorted({url for url in found if url and not url.startswith(LOCAL)})


@pytest.mark.parametrize("name", PLANS)
def test_the_browser_shows_the_tables_and_draws_each_pod(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]

    page, _ = opened(plan, tmp_path)

    expected = [row for at in range(len(plan.workloads)) for row in table(plan, at)]
    assert [row for row in map(tuple, page.rows) if row in expected] == expected
    started = {key for key, pods in plan.placed if pods}
    assert started == plan.steps[-1].started
    assert page.drawn.total() == sum(len(pods) for _, pods in plan.placed)
    assert page.free.total() == plan.idle.accelerators


def test_no_request_leaves_the_machine(tmp_path: Path) -> None:
    _, addresses = opened(PLANS["one service"], tmp_path)

    assert addresses == []


def test_a_page_that_would_load_something_is_seen(tmp_path: Path) -> None:
    """The check itself: a page without the policy and with an image asks for it."""
    plan = PLANS["one service"]
    text = as_page(plan).replace("default-src 'none'", "default-src *")
    page = tmp_path / "plan.html"
    page.write_text(text.replace("<h1>", '<img src="http://127.0.0.1:9/x.png"><h1>'))
    log = tmp_path / "net.json"
    subprocess.run(
        (
            "chromium",
            *FLAGS,
            f"--user-data-dir={tmp_path / 'p'}",
            f"--log-net-log={log}",
            "--dump-dom",
            page.as_uri(),
        ),
        capture_output=True,
        check=True,
        timeout=300,
    )

    assert asked(json.loads(log.read_text())) == ["http://127.0.0.1:9/x.png"]
