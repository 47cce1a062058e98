"""`make site` builds the site of docs/: its own checks of links, anchors and the navigation are strict.

`tests/docs/test_links.py` checks the same links in a second, by the rules of GitHub. The tools are kept
outside the tree, as the components of the testbed are.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tools = shared / "fusioninfer" / f"site-{sys.implementation.cache_tag}"

    words = (f"SITE={tmp_path}", f"SITE_TOOLS={tools}", f"PYTHON={sys.executable}")
    done = subprocess.run(["make", "site", *words], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "quickstart" / "index.html").exists()
    assert '<a href="../codes/#fi311">FI311</a>' in (tmp_path / "launchers" / "index.html").read_text()
    assert '<a href="../model/">model</a>' in (tmp_path / "annotations" / "index.html").read_text()
