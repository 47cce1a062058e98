"""`make site` builds the site of docs/: its own checks of links, anchors and the navigation are strict.

`tests/docs/test_links.py` checks the same links in a second, by the rules of GitHub. The tools are kept
outside the tree, as the components of the testbed are.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from catalog.release import VERSION

ROOT: Final = Path(__file__).parents[2]


def make(*words: str, root: Path = ROOT) -> None:
    """Run make with the tools of the site, and show what it printed if it fails."""
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tools = shared / "fusioninfer" / f"site-{sys.implementation.cache_tag}"
    command = ["make", *words, f"SITE_TOOLS={tools}", f"PYTHON={sys.executable}"]

    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    make("site", f"SITE={tmp_path}")

    assert (tmp_path / "quickstart" / "index.html").exists()
    assert '<a href="../codes/#fi311">FI311</a>' in (tmp_path / "launchers" / "index.html").read_text()
    assert '<a href="../model/">model</a>' in (tmp_path / "annotations" / "index.html").read_text()


def test_the_site_of_a_version_stays_beside_the_next_one(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".*cache", ".venv", "build"))
    git = ("git", "-C", str(tree))
    settings = ("name=test", "email=test@example.com")
    for words in (
        ["init", "--quiet"],
        *(["config", *f"user.{setting}".split("=")] for setting in settings),
        ["commit", "--quiet", "--allow-empty", "--message", "The tree"],
    ):
        subprocess.run([*git, *words], check=True)

    for version in (VERSION, "7.8.9"):
        make("site-version", f"VERSION={version}", f"VENV={ROOT / '.venv'}", root=tree)

    minor = VERSION.rpartition(".")[0]
    shown = subprocess.run([*git, "show", "gh-pages:versions.json"], check=True, capture_output=True)
    versions = {row["version"]: row["aliases"] for row in json.loads(shown.stdout)}
    assert versions == {minor: [], "7.8": ["latest"]}
    for page in ("index.html", f"{minor}/codes/index.html", "7.8/codes/index.html", "latest"):
        subprocess.run([*git, "cat-file", "-e", f"gh-pages:{page}"], check=True)
